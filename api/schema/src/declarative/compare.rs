//! The comparison of the rules with what else is known to be wrong with an object.
//!
//! Invariant: two failures are the same when they are about one field and of one kind; their words
//! may differ.

use std::collections::BTreeSet;

use quorate_meta::{Cause, CauseReason};

use crate::graph::{DeclaredRule, Field, Graph, Shape, TypeDef, TypeId};

/// What the comparison of two results has found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleComparison {
    /// What only the other checks have found, about fields with rules for it.
    pub unmatched: Vec<Cause>,
    /// What only the rules have found.
    pub extra: Vec<Cause>,
    /// What the other checks have found and no rule is about.
    pub uncovered: Vec<Cause>,
}

impl RuleComparison {
    /// How many failures one side has found and the other has not.
    #[must_use]
    pub fn mismatches(&self) -> usize {
        self.unmatched.len() + self.extra.len()
    }
}

/// Compares what the rules of a type have found with what other checks have.
#[must_use]
pub fn compare(graph: &Graph, ty: TypeId, rules: &[Cause], others: &[Cause]) -> RuleComparison {
    let place = |cause: &Cause| (cause.field.clone(), cause.reason.as_str().to_owned());
    let own: BTreeSet<_> = rules.iter().map(place).collect();
    let mut matched = BTreeSet::new();
    let mut found = RuleComparison::default();
    for cause in others {
        if own.contains(&place(cause)) {
            matched.insert(place(cause));
        } else if !is_covered(graph, graph.ty(ty), &cause.field, &cause.reason) {
            found.uncovered.push(cause.clone());
        } else if !found.unmatched.contains(cause) {
            found.unmatched.push(cause.clone());
        }
    }
    let extra = rules.iter().filter(|cause| !matched.contains(&place(cause)));
    found.extra = extra.cloned().collect();
    found
}

/// Whether a rule of the field at a path could report such a failure.
fn is_covered(graph: &Graph, ty: &TypeDef, path: &str, reason: &CauseReason) -> bool {
    let Some((name, rest)) = first_step(path) else {
        return reason == &CauseReason::FieldValueInvalid && has_union(ty);
    };
    let Some(field) = ty.properties.iter().find(|field| field.name == name) else {
        return false;
    };
    let (index, rest) = after_index(rest);
    let below = message(&field.shape, index).map(|id| graph.ty(id));
    if rest.is_empty() {
        // What is wrong with the key of a map's entry is told at the same path as its union.
        let has_key = index && matches!(field.shape, Shape::Map(_));
        let of_union =
            !has_key && reason == &CauseReason::FieldValueInvalid && below.is_some_and(has_union);
        return of_union || reports(field, index, reason);
    }
    let of_subfield = field.rules.iter().any(|rule| match rule {
        DeclaredRule::Subfield(name, rule) => *name == rest && rule.reasons().contains(reason),
        _ => false,
    });
    of_subfield || below.is_some_and(|below| is_covered(graph, below, rest, reason))
}

/// Whether a rule of a field reports such a failure: at an item for doubles, else at the field.
fn reports(field: &Field, at_item: bool, reason: &CauseReason) -> bool {
    field.rules.iter().any(|rule| {
        matches!(rule, DeclaredRule::Unique(_)) == at_item && rule.reasons().contains(reason)
    })
}

fn has_union(ty: &TypeDef) -> bool {
    ty.properties.iter().any(|field| field.rules.contains(&DeclaredRule::UnionMember))
}

/// The name at the beginning of a path, and what follows.
fn first_step(path: &str) -> Option<(&str, &str)> {
    let path = path.strip_prefix('.').unwrap_or(path);
    let end = path.find(['.', '[']).unwrap_or(path.len());
    (end > 0).then(|| path.split_at(end))
}

/// Whether a path goes on with `[...]`, and what follows.
fn after_index(path: &str) -> (bool, &str) {
    let inner = path.strip_prefix('[').and_then(|inner| inner.split_once(']'));
    match inner {
        Some((_, rest)) => (true, rest.strip_prefix('.').unwrap_or(rest)),
        None => (false, path.strip_prefix('.').unwrap_or(path)),
    }
}

fn message(shape: &Shape, at_item: bool) -> Option<TypeId> {
    match shape {
        Shape::Message(id) if !at_item => Some(*id),
        Shape::List(inner) | Shape::Map(inner) if at_item => inner.message(),
        _ => None,
    }
}
