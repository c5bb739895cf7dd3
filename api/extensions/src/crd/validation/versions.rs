//! Versions: each by itself, all together, and what they have in common.

use std::collections::HashSet;
use std::sync::Arc;

use quorate_meta::{Cause, CauseReason, Value, name, quoted};
use quorate_schema::Graph;

use super::tolerance::Tolerance;
use super::{columns, scale, schema, selectable};
use crate::crd::field::Field;

/// Bytes of a deprecation warning, at most.
const MAX_WARNING: usize = 256;

/// The fields of versions that can be common to all.
const SCHEMA: &str = "schema";
const SUBRESOURCES: &str = "subresources";
const COLUMNS: &str = "additionalPrinterColumns";
const SELECTABLE: &str = "selectableFields";

/// Which fields are the same in all versions.
#[derive(Debug)]
pub(super) struct Common {
    fields: Vec<&'static str>,
}

impl Common {
    pub(super) fn of(spec: &Field<'_>) -> Self {
        let versions = spec.get("versions");
        let versions = versions.value().as_list().unwrap_or_default();
        let is_same = |field: &&str| {
            let mut values = versions.iter().map(|version| version.get(field));
            let first = values.next().flatten();
            let is_given = first.is_some_and(|first| match *field {
                SCHEMA | SUBRESOURCES => !first.is_null(),
                _ => !first.is_empty(),
            });
            is_given && values.all(|value| value == first)
        };
        let mut fields = vec![SCHEMA, SUBRESOURCES, COLUMNS, SELECTABLE];
        fields.retain(is_same);
        // Selectable fields are those of a schema.
        if !fields.contains(&SCHEMA) {
            fields.retain(|field| *field != SELECTABLE);
        }
        Self { fields }
    }

    fn has(&self, field: &str) -> bool {
        self.fields.contains(&field)
    }
}

/// Every version has a schema.
pub(super) fn schemas(spec: &Field<'_>, tolerance: &Tolerance<'_>, causes: &mut Vec<Cause>) {
    if tolerance.missing_schemas && spec.get("preserveUnknownFields").is_true() {
        return;
    }
    for version in spec.get("versions").items() {
        let schema = version.get(SCHEMA).get("openAPIV3Schema");
        let may_lack = tolerance.missing_schemas && !version.get("served").is_true();
        if !schema.is_set() && !may_lack {
            let why = match tolerance.missing_schemas {
                true => "because otherwise all fields are pruned",
                false => "",
            };
            causes.push(schema.required(why));
        }
    }
}

/// Checks each version, less what all have in common.
pub(super) fn check(
    base: &Arc<Graph>,
    spec: &Field<'_>,
    common: &Common,
    tolerance: &Tolerance<'_>,
    causes: &mut Vec<Cause>,
) {
    for version in spec.get("versions").items() {
        let name = version.get("name");
        let wrong = name::dns_1035_label(name.text());
        if !wrong.is_empty() {
            causes.push(Cause::invalid(name.path(), name.text(), &wrong.join(",")));
        }
        deprecation_warning(&version, causes);
        if !common.has(SCHEMA) {
            let is_unchanged = tolerance.had_schema(&version);
            let (schema, has_status) = (version.get(SCHEMA), has_status(&version));
            schema::check(base, &schema, has_status, is_unchanged, tolerance, causes);
        }
        if !common.has(SUBRESOURCES) {
            scale::check(&version.get(SUBRESOURCES), causes);
        }
        if !common.has(COLUMNS) {
            columns::check(&version.get(COLUMNS), causes);
        }
        if !common.has(SELECTABLE) {
            selectable::check(&version.get(SELECTABLE), version.get(SCHEMA).value(), causes);
        }
    }
}

fn has_status(version: &Field<'_>) -> bool {
    version.get(SUBRESOURCES).get("status").is_set()
}

fn deprecation_warning(version: &Field<'_>, causes: &mut Vec<Cause>) {
    let warning = version.get("deprecationWarning");
    if !warning.is_set() {
        return;
    }
    if !version.get("deprecated").is_true() {
        causes.push(warning.invalid("can only be set for deprecated versions"));
        return;
    }
    let text = warning.text();
    if text.len() > MAX_WARNING {
        causes.push(warning.invalid(&format!("must be <= {MAX_WARNING} characters long")));
    }
    if text.is_empty() {
        causes.push(warning.invalid("must not be an empty string"));
    }
    let is_hidden = |char: char| {
        char.is_control() || (char.is_whitespace() && char != ' ') || char == '\u{feff}'
    };
    if let Some((at, _)) = text.char_indices().find(|(_, char)| is_hidden(*char)) {
        causes.push(warning.invalid(&format!(
            "must only contain printable UTF-8 characters; non-printable character found at index {at}"
        )));
    }
}

/// What holds for all versions together.
pub(super) fn together(spec: &Field<'_>, common: &Common, causes: &mut Vec<Cause>) {
    let versions = spec.get("versions");
    let mut seen = HashSet::new();
    let is_unique = versions.items().all(|version| seen.insert(version.get("name").text()));
    let mut invalid = |why: &str| {
        let message = format!("Invalid value: {}: {why}", shown(&versions, common));
        causes.push(Cause::new(CauseReason::FieldValueInvalid, versions.path(), message));
    };
    if !is_unique {
        invalid("must contain unique version names");
    }
    let stored = versions.items().filter(|version| version.get("storage").is_true()).count();
    if stored != 1 {
        invalid("must have exactly one version marked as storage version");
    }
    let first = versions.items().next().map(|version| version.get("name").text());
    if let Some(first) = first.filter(|first| !first.is_empty()) {
        let wrong = name::dns_1035_label(first);
        if !wrong.is_empty() {
            causes.push(Cause::invalid(spec.path().child("version"), first, &wrong.join(",")));
        }
    }
}

/// The versions as messages show them, less what all have in common.
fn shown(versions: &Field<'_>, common: &Common) -> String {
    if !versions.is_set() {
        return "null".to_owned();
    }
    let json = |value: &Value| serde_json::to_string(value).unwrap_or_default();
    let version = |version: Field<'_>| {
        let flag = |field: &str| version.get(field).is_true();
        let own = |field: &str| match common.has(field) {
            true => "null".to_owned(),
            false => json(version.get(field).value()),
        };
        format!(
            r#"{{"Name":{},"Served":{},"Storage":{},"Deprecated":{},"DeprecationWarning":{},"Schema":{},"Subresources":{},"AdditionalPrinterColumns":{},"SelectableFields":{}}}"#,
            quoted(version.get("name").text()),
            flag("served"),
            flag("storage"),
            flag("deprecated"),
            json(version.get("deprecationWarning").value()),
            own(SCHEMA),
            own(SUBRESOURCES),
            own(COLUMNS),
            own(SELECTABLE),
        )
    };
    format!("[{}]", versions.items().map(version).collect::<Vec<_>>().join(","))
}

/// Checks what all versions have in common, which field errors place below `spec`.
pub(super) fn common(
    base: &Arc<Graph>,
    spec: &Field<'_>,
    common: &Common,
    tolerance: &Tolerance<'_>,
    causes: &mut Vec<Cause>,
) {
    let versions = spec.get("versions");
    let Some(first) = versions.items().next() else {
        return;
    };
    let moved = |field: &str, shown: &str| first.get(field).moved(spec.path().child(shown));
    if common.has(SCHEMA) {
        let has_status = versions.items().any(|version| has_status(&version));
        let is_unchanged = versions.items().all(|version| tolerance.had_schema(&version));
        let schema = moved(SCHEMA, "validation");
        schema::check(base, &schema, has_status, is_unchanged, tolerance, causes);
    }
    if common.has(SUBRESOURCES) {
        scale::check(&moved(SUBRESOURCES, SUBRESOURCES), causes);
    }
    if common.has(COLUMNS) {
        columns::check(&moved(COLUMNS, COLUMNS), causes);
    }
    if common.has(SELECTABLE) {
        selectable::check(&moved(SELECTABLE, SELECTABLE), first.get(SCHEMA).value(), causes);
    }
}
