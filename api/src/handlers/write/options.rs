//! The query parameters of writes: dry run, field validation, field manager, force.

use quorate_meta::{Cause, GroupKind, Names, Status};

use crate::handlers::Request;
use quorate_registry::error::Error;
use quorate_registry::write::{GivenOptions, MAX_MANAGER_BYTES, WriteOptions, check_manager};

/// The options of every patch.
const PATCH: &str = "PatchOptions";
/// The field manager of a request that names none.
const UNKNOWN_MANAGER: &str = "unknown";

/// What happens to fields that are unknown or given twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::handlers) enum FieldValidation {
    /// They are dropped.
    Ignore,
    /// They are dropped with a warning each.
    Warn,
    /// The write is refused.
    Strict,
}

/// The parameters of a create, an update or a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::handlers) struct Parameters {
    pub(in crate::handlers) dry_run: bool,
    pub(in crate::handlers) manager: String,
    pub(in crate::handlers) validation: FieldValidation,
    /// `fieldManager` and `fieldValidation` as they are given.
    given: [String; 2],
    /// Conflicts of an apply are won; nothing else can be forced.
    pub(in crate::handlers) force: bool,
}

impl Parameters {
    /// Reads and checks the parameters; `kind` names the options in a refusal (`CreateOptions`,
    /// ...).
    pub(in crate::handlers) fn parse(
        names: &Names,
        request: &Request<'_>,
        kind: &str,
    ) -> Result<Self, Error> {
        let mut causes = Vec::new();
        if kind == PATCH && request.info.query.get("force").is_some() {
            causes.push(Cause::forbidden("force", "may not be specified for non-apply patch"));
        }
        Self::read(names, request, kind, causes)
    }

    /// Reads and checks the parameters of a server-side apply.
    pub(in crate::handlers) fn parse_apply(
        names: &Names,
        request: &Request<'_>,
    ) -> Result<Self, Error> {
        let mut causes = Vec::new();
        if request.info.query.text("fieldManager").is_empty() {
            causes.push(Cause::required("fieldManager", "is required for apply patch"));
        }
        Self::read(names, request, PATCH, causes)
    }

    fn read(
        names: &Names,
        request: &Request<'_>,
        kind: &str,
        mut causes: Vec<Cause>,
    ) -> Result<Self, Error> {
        let query = &request.info.query;
        let asked = query.text("fieldManager");
        check_manager(&"fieldManager".into(), asked, &mut causes);
        let dry_run = check_dry_run(query.all("dryRun"), &mut causes);
        let validation = match query.text("fieldValidation") {
            "" | "Warn" => FieldValidation::Warn,
            "Ignore" => FieldValidation::Ignore,
            "Strict" => FieldValidation::Strict,
            other => {
                causes.push(Cause::not_supported(
                    "fieldValidation",
                    other,
                    &["", "Ignore", "Strict", "Warn"],
                ));
                FieldValidation::Strict
            }
        };
        refuse(names, kind, causes)?;
        let manager = if asked.is_empty() { from_user_agent(request) } else { asked.to_owned() };
        let force = query.flag("force") == Some(true);
        let given = [asked, query.text("fieldValidation")].map(str::to_owned);
        Ok(Self { dry_run, manager, validation, given, force })
    }

    pub(in crate::handlers) fn write(&self) -> WriteOptions<'_> {
        let [field_manager, field_validation] = &self.given;
        let given = GivenOptions { field_manager, field_validation };
        WriteOptions { dry_run: self.dry_run, manager: &self.manager, given }
    }
}

/// 422 for options with something wrong.
pub(in crate::handlers) fn refuse(
    names: &Names,
    kind: &str,
    causes: Vec<Cause>,
) -> Result<(), Error> {
    if causes.is_empty() {
        return Ok(());
    }
    Err(Status::invalid(&GroupKind::new(names.group_meta, kind), "", causes).into())
}

/// Whether a dry run is asked for. An empty value asks for none.
pub(in crate::handlers) fn check_dry_run<'a>(
    values: impl Iterator<Item = &'a str>,
    causes: &mut Vec<Cause>,
) -> bool {
    let values: Vec<&str> = values.filter(|value| !value.is_empty()).collect();
    if values.iter().any(|value| *value != "All") {
        causes.push(Cause::not_supported("dryRun", values.clone(), &["All"]));
    }
    !values.is_empty()
}

/// The program's name: what stands before the first slash of the User-Agent header.
fn from_user_agent(request: &Request<'_>) -> String {
    let agent = request.header("user-agent").unwrap_or_default();
    let name = agent.split('/').next().unwrap_or_default();
    let name: String = name.chars().filter(|c| !c.is_control()).take(MAX_MANAGER_BYTES).collect();
    if name.is_empty() { UNKNOWN_MANAGER.to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dry_run() {
        let check = |values: &[&str], expect: (bool, usize)| {
            let mut causes = Vec::new();
            assert_eq!(
                (check_dry_run(values.iter().copied(), &mut causes), causes.len()),
                expect,
                "{values:?}"
            );
        };
        check(&[], (false, 0));
        check(&[""], (false, 0));
        check(&["All"], (true, 0));
        check(&["All", "All"], (true, 0));
        check(&["all"], (true, 1));
        check(&["All", "Some"], (true, 1));
    }
}
