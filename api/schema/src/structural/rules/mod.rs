//! What a schema must fulfil to be served: the rules of structural schemas (KEP-2332 and the API conventions).
//!
//! Order, as release-1.35 servers have it: first every schema by itself ([`words`]); then, sorted by text, whether the schema is
//! structural ([`structure`], [`completeness`]); and if it is, its defaults. Expressions in CEL are checked elsewhere.

pub(super) mod completeness;
pub(super) mod defaults;
pub(super) mod list_types;
pub(super) mod structure;
pub(super) mod validations;
pub(super) mod words;

use quorate_meta::Cause;

use super::limits::Told;
use super::patterns::Patterns;
use super::place::Place;
use super::source::Source;

/// What is not structural, sorted by text.
pub(super) fn structural(
    root: Source<'_>,
    place: &Place<'_>,
    patterns: &mut Patterns<'_>,
) -> Vec<Cause> {
    let mut told = Told::default();
    structure::check(root, place, patterns, &mut told);
    completeness::check(root, place, &mut told);
    let mut causes = told.into_causes();
    causes.sort_by_cached_key(Cause::text);
    causes
}

/// The first word that no structural schema can hold and that no other rule refuses, in words.
pub(super) fn unsupported(root: Source<'_>) -> Option<&'static str> {
    const UNSUPPORTED: [(&str, &str); 7] = [
        ("id", "id"),
        ("$schema", "schema"),
        ("$ref", "$ref"),
        ("patternProperties", "patternProperties"),
        ("dependencies", "dependencies"),
        ("additionalItems", "additionalItems"),
        ("definitions", "definitions"),
    ];
    let mut open = vec![root];
    while let Some(schema) = open.pop() {
        let found = |word: &str| schema.get(word).is_some_and(|value| !value.is_empty());
        if let Some((_, name)) = UNSUPPORTED.iter().find(|(word, _)| found(word)) {
            return Some(name);
        }
        if !schema.list("items").is_empty()
            || schema
                .get(&schema.words.preserve_unknown_fields)
                .is_some_and(|v| v.as_bool() == Some(false))
        {
            return Some("items or unknown fields");
        }
        schema.each_child(|child| open.push(child));
    }
    None
}
