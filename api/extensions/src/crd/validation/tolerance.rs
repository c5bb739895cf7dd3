//! Ratcheting: what an update may leave wrong because the stored definition has the same kind of
//! fault, from a release that did not refuse it.
//!
//! Invariant: a new definition is allowed nothing but a bundle of certificates that is none, which
//! keeps it from being served.

use std::collections::HashSet;
use std::sync::Arc;

use quorate_meta::{Cause, CauseReason, Names, Value};
use quorate_schema::Graph;

use super::{conversion, schema};
use crate::crd::field::Field;
use crate::crd::rules::written::Stored;
use crate::crd::warnings::each_below;

/// Faults of schemas that an update may leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// A type that does not exist.
    Type,
    /// A default with fields that would be pruned.
    Unpruned,
    /// A set of elements that are not compared as a whole.
    Set,
    /// `null` as an element or a key, or a key that may be absent.
    Keys,
}

impl Fault {
    fn of(cause: &Cause) -> Option<Self> {
        let has = |text: &str| cause.message.contains(text);
        if cause.reason == CauseReason::FieldValueNotSupported {
            return cause.field.ends_with(".type").then_some(Self::Type);
        }
        if has(": must not have unknown fields") {
            return Some(Self::Unpruned);
        }
        if has("must be atomic as item of a list with") {
            return Some(Self::Set);
        }
        let is_of_keys =
            has("cannot be nullable") || has("must have a default or be a required property");
        is_of_keys.then_some(Self::Keys)
    }
}

/// What an update may leave wrong.
#[derive(Debug)]
pub(super) struct Tolerance<'v> {
    /// Versions without a schema.
    pub(super) missing_schemas: bool,
    /// Versions of ConversionReview none of which the server knows.
    pub(super) unknown_reviews: bool,
    /// A bundle of certificates that is none.
    pub(super) bad_bundle: bool,
    faults: Vec<Fault>,
    /// The expressions in CEL.
    expressions: HashSet<&'v str>,
    /// The schemas by version.
    schemas: Vec<(&'v str, &'v Value)>,
}

impl Default for Tolerance<'_> {
    /// That of a new definition.
    fn default() -> Self {
        Self {
            missing_schemas: false,
            unknown_reviews: false,
            bad_bundle: true,
            faults: Vec::new(),
            expressions: HashSet::new(),
            schemas: Vec::new(),
        }
    }
}

impl<'v> Tolerance<'v> {
    /// That of a definition which replaces `old`.
    pub(super) fn of(base: &Arc<Graph>, old: &'v Value) -> Self {
        let spec = Field::root(old).get("spec");
        let versions = spec.get("versions");
        let schemas = || versions.items().map(|version| version.get("schema"));
        let missing_schemas = schemas().any(|schema| !schema.get("openAPIV3Schema").is_set());
        let conversion = spec.get("conversion");
        let reviews = conversion.get("webhook").get("conversionReviewVersions");
        let bundle = conversion.get("webhook").get("clientConfig").get("caBundle");
        let mut faults: Vec<Fault> = schemas()
            .flat_map(|schema| schema::problems(base, &schema, false))
            .filter_map(|cause| Fault::of(&cause))
            .collect();
        faults.dedup();
        Self {
            missing_schemas,
            unknown_reviews: !reviews.is_empty() && !conversion::has_known_review(&reviews),
            bad_bundle: !is_established(old)
                || (!bundle.is_empty() && conversion::bundle_problem(bundle.text()).is_some()),
            faults,
            expressions: expressions(base.names(), &spec),
            schemas: versions
                .items()
                .map(|version| (version.get("name").text(), version.get("schema").value()))
                .collect(),
        }
    }

    /// Whether a version had this schema.
    pub(super) fn had_schema(&self, version: &Field<'_>) -> bool {
        let name = version.get("name").text();
        let old = self.schemas.iter().find(|(old, _)| *old == name);
        old.is_some_and(|(_, schema)| *schema == version.get("schema").value())
    }

    /// What is known for the rules of a schema.
    pub(super) fn rules(&self, is_same_schema: bool) -> Stored<'_> {
        Stored { expressions: &self.expressions, is_same_schema }
    }

    /// Whether a fault of a schema may stay.
    pub(super) fn allows(&self, cause: &Cause) -> bool {
        Fault::of(cause).is_some_and(|fault| self.faults.contains(&fault))
    }
}

/// The expressions in the rules of all versions.
fn expressions<'v>(names: &Names, spec: &Field<'v>) -> HashSet<&'v str> {
    let validations = names.extension("validations");
    let mut found = HashSet::new();
    let versions = spec.get("versions");
    let mut open: Vec<&Value> = versions
        .items()
        .map(|version| version.get("schema").get("openAPIV3Schema").value())
        .collect();
    while let Some(schema) = open.pop() {
        let rules = schema.get(&validations).and_then(Value::as_list).unwrap_or_default();
        for rule in rules {
            found.extend(rule.str_at(&["rule"]));
            found.extend(rule.str_at(&["messageExpression"]));
        }
        each_below(schema, &mut open);
    }
    found
}

/// Whether the resource of a definition was served.
pub(super) fn is_established(definition: &Value) -> bool {
    let conditions = definition.at(&["status", "conditions"]).and_then(Value::as_list);
    conditions.unwrap_or_default().iter().any(|condition| {
        condition.str_at(&["type"]) == Some("Established")
            && condition.str_at(&["status"]) == Some("True")
    })
}
