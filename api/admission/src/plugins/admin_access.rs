//! Admin access to devices (DRA, KEP-5018): the check of ResourceClaims that request it.
//!
//! Invariants: a claim requests admin access, and is allocated it, only in a namespace that has the
//! label for it. The requests of a claim never change, so they are checked when it is created; its
//! allocation is checked when a write sets it in the status.
//!
//! Not here: the allocation of devices, which is the scheduler's.

use quorate_meta::{Cause, Path, Status, Value};

use crate::plugin::Plugin;
use crate::snapshot_view::SnapshotView;
use quorate_registry::error::Error;
use quorate_registry::{Attributes, NAMESPACES, Part, Terms, stored_codec};

/// Plural name of ResourceClaimTemplates.
const TEMPLATES: &str = "resourceclaimtemplates";

/// The check of ResourceClaims that request admin access.
pub(super) struct AdminAccess;

impl Plugin for AdminAccess {
    fn validate(
        &self,
        view: &SnapshotView<'_>,
        attributes: &Attributes<'_>,
        new: &Value,
        _: &mut Terms,
    ) -> Result<(), Error> {
        let asks = match attributes.part {
            Some(Part::Status) => given(attributes.old, new),
            _ if attributes.target.resource.plural == TEMPLATES => {
                asked(attributes.old, new, &["spec", "spec"])
            }
            _ => asked(attributes.old, new, &["spec"]),
        };
        let (Some(field), Some(namespace)) = (asks, attributes.target.namespace) else {
            return Ok(());
        };
        let label = format!("resource.{}", view.names.domain_key("admin-access"));
        if has_label(view, namespace, &label)? {
            return Ok(());
        }
        let why = format!(
            "admin access to devices requires the `{label}: true` label on the containing namespace"
        );
        let causes = vec![Cause::forbidden(field, &why)];
        Err(Status::invalid(
            &attributes.target.resource.group_kind(),
            attributes.target.name,
            causes,
        )
        .into())
    }
}

/// The request of a new claim or claim template that requests admin access.
fn asked(old: Option<&Value>, new: &Value, below: &[&str]) -> Option<Path> {
    let requests = new.at(below)?.at(&["devices", "requests"])?.as_list()?;
    let is_asked = |request: &Value| is_true(request, &["exactly", "adminAccess"]);
    let index = requests.iter().position(is_asked).filter(|_| old.is_none())?;
    // Clients know the path that the field had in older versions, of claims and of templates.
    Some(Path::new("spec.devices.requests").index(index).child("adminAccess"))
}

/// The device that is allocated with admin access by this write and was not before.
fn given(old: Option<&Value>, new: &Value) -> Option<Path> {
    let first = |claim: &Value| {
        let results = claim.at(&["status", "allocation", "devices", "results"])?.as_list()?;
        results.iter().position(|result| is_true(result, &["adminAccess"]))
    };
    let index = first(new).filter(|_| old.and_then(first).is_none())?;
    Some(Path::new("status.allocation.devices.results").index(index).child("adminAccess"))
}

fn is_true(value: &Value, path: &[&str]) -> bool {
    value.at(path).and_then(Value::as_bool) == Some(true)
}

fn has_label(view: &SnapshotView<'_>, namespace: &str, label: &str) -> Result<bool, Error> {
    let Some(namespaces) = view.resource("", "v1", NAMESPACES) else {
        return Ok(false);
    };
    let Some(entry) = view.entry(namespaces, None, namespace) else {
        return Ok(false);
    };
    Ok(stored_codec::header(namespaces, &entry.value)?.labels().any(|pair| pair == (label, "true")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value as Json, json};

    #[test]
    fn who_asks() {
        let check = |old: Option<Json>, access: Json, expect: Option<&str>| {
            let plain = json!({"exactly": {"deviceClassName": "c"}});
            let devices =
                json!({"devices": {"requests": [plain, {"exactly": {"adminAccess": access}}]}});
            let old = old.map(Value::from);
            let of_claim = asked(old.as_ref(), &json!({"spec": devices}).into(), &["spec"]);
            let of_template =
                asked(old.as_ref(), &json!({"spec": {"spec": devices}}).into(), &["spec", "spec"]);
            assert_eq!(of_claim.as_ref().map(Path::as_str), expect);
            assert_eq!(of_template, of_claim);
        };
        check(None, json!(true), Some("spec.devices.requests[1].adminAccess"));
        check(None, json!(false), None);
        check(None, json!(null), None);
        check(Some(json!({})), json!(true), None);
    }

    #[test]
    fn who_is_given_it() {
        let check = |old: Json, new: Json, expect: Option<&str>| {
            let claim = |access: Json| -> Value {
                json!({"status": {"allocation": {"devices": {"results": [{"adminAccess": access}]}}}}).into()
            };
            assert_eq!(given(Some(&claim(old)), &claim(new)).as_ref().map(Path::as_str), expect);
        };
        check(json!(null), json!(true), Some("status.allocation.devices.results[0].adminAccess"));
        check(json!(true), json!(true), None);
        check(json!(null), json!(false), None);
    }
}
