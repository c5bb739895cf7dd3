//! Ratcheting: what an update may leave wrong because the stored definition has the same kind of
//! fault, from a release that did not refuse it.
//!
//! Invariant: a new definition is allowed nothing but a bundle of certificates that is none, which
//! keeps it from being served.

use std::sync::Arc;

use quorate_meta::{Cause, CauseReason, Value};
use quorate_schema::Graph;

use super::{conversion, schema};
use crate::crd::field::Field;

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
pub(super) struct Tolerance {
    /// Versions without a schema.
    pub(super) missing_schemas: bool,
    /// Versions of ConversionReview none of which the server knows.
    pub(super) unknown_reviews: bool,
    /// A bundle of certificates that is none.
    pub(super) bad_bundle: bool,
    faults: Vec<Fault>,
}

impl Default for Tolerance {
    /// That of a new definition.
    fn default() -> Self {
        Self {
            missing_schemas: false,
            unknown_reviews: false,
            bad_bundle: true,
            faults: Vec::new(),
        }
    }
}

impl Tolerance {
    /// That of a definition which replaces `old`.
    pub(super) fn of(base: &Arc<Graph>, old: &Value) -> Self {
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
        }
    }

    /// Whether a fault of a schema may stay.
    pub(super) fn allows(&self, cause: &Cause) -> bool {
        Fault::of(cause).is_some_and(|fault| self.faults.contains(&fault))
    }
}

/// Whether the resource of a definition was served.
pub(super) fn is_established(definition: &Value) -> bool {
    let conditions = definition.at(&["status", "conditions"]).and_then(Value::as_list);
    conditions.unwrap_or_default().iter().any(|condition| {
        condition.str_at(&["type"]) == Some("Established")
            && condition.str_at(&["status"]) == Some("True")
    })
}
