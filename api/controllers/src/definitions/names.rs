//! The names that a definition gets, and the condition `NamesAccepted`.
//!
//! Invariants: a name that another definition of the group got first stays with it; each name that
//! is free is accepted, whatever becomes of the others; the last conflict gives the reason.
//!
//! Not here: which definitions there are.

use std::collections::BTreeSet;

use quorate_extensions::crd::definition::DefinitionNames;
use quorate_meta::{Map, Value, quoted};

use super::joined;
use crate::conditions::Condition;

/// The type of the condition.
pub(super) const NAMES_ACCEPTED: &str = "NamesAccepted";

/// The names that the other definitions of a group got.
#[derive(Debug, Default)]
pub(super) struct Taken<'n> {
    resources: BTreeSet<&'n str>,
    kinds: BTreeSet<&'n str>,
}

impl<'n> Taken<'n> {
    /// Adds the names that one definition got.
    pub(super) fn add(&mut self, names: &'n DefinitionNames) {
        let short = names.short_names.iter().map(String::as_str);
        let resources = [names.plural.as_str(), names.singular.as_str()];
        self.resources.extend(resources.into_iter().chain(short).filter(|name| !name.is_empty()));
        let kinds = [names.kind.as_str(), names.list_kind.as_str()];
        self.kinds.extend(kinds.into_iter().filter(|name| !name.is_empty()));
    }
}

/// The names that a definition has from now on, and the condition about them.
#[derive(Debug, PartialEq)]
pub(super) struct Verdict {
    pub(super) names: DefinitionNames,
    pub(super) condition: Condition,
}

/// Decides about a definition that asks for some names and got others before.
pub(super) fn decide(
    asked: &DefinitionNames,
    before: &DefinitionNames,
    taken: &Taken<'_>,
) -> Verdict {
    let mut names = before.clone();
    let (resources, kinds) = (&taken.resources, &taken.kinds);
    let conflicts = [
        settle(&asked.plural, &mut names.plural, resources, "PluralConflict"),
        settle(&asked.singular, &mut names.singular, resources, "SingularConflict"),
        settle_short(&asked.short_names, &mut names.short_names, resources),
        settle(&asked.kind, &mut names.kind, kinds, "KindConflict"),
        settle(&asked.list_kind, &mut names.list_kind, kinds, "ListKindConflict"),
    ];
    names.categories.clone_from(&asked.categories);
    let condition = match conflicts.into_iter().flatten().last() {
        Some((reason, message)) => (NAMES_ACCEPTED, false, reason, message),
        None => (NAMES_ACCEPTED, true, "NoConflicts", "no conflicts found".to_owned()),
    };
    Verdict { names, condition }
}

/// Reason and message of a conflict.
type Conflict = (&'static str, String);

/// Gives a definition a name that it has already or that is free.
fn settle(
    asked: &str,
    name: &mut String,
    taken: &BTreeSet<&str>,
    reason: &'static str,
) -> Option<Conflict> {
    if asked != name.as_str() && taken.contains(asked) {
        return Some((reason, in_use(asked)));
    }
    asked.clone_into(name);
    None
}

/// Gives a definition all of its short names or none.
fn settle_short(
    asked: &[String],
    names: &mut Vec<String>,
    taken: &BTreeSet<&str>,
) -> Option<Conflict> {
    let is_refused = |name: &&String| !names.contains(name) && taken.contains(name.as_str());
    let refused: Vec<String> = asked.iter().filter(is_refused).map(|name| in_use(name)).collect();
    if refused.is_empty() {
        *names = asked.to_vec();
        return None;
    }
    Some(("ShortNamesConflict", joined(refused)))
}

/// Whether both may want the same name.
pub(super) fn overlap(one: &DefinitionNames, other: &DefinitionNames) -> bool {
    let all = |names: &DefinitionNames| -> BTreeSet<String> {
        let own = [&names.plural, &names.singular, &names.kind, &names.list_kind];
        own.into_iter().chain(&names.short_names).filter(|name| !name.is_empty()).cloned().collect()
    };
    !all(one).is_disjoint(&all(other))
}

/// The names as `status.acceptedNames` has them.
pub(super) fn to_value(names: &DefinitionNames) -> Value {
    let mut map = Map::from([("plural", names.plural.as_str()), ("kind", names.kind.as_str())]);
    for (field, text) in [("singular", &names.singular), ("listKind", &names.list_kind)] {
        if !text.is_empty() {
            map.insert(field, text.as_str());
        }
    }
    for (field, list) in [("shortNames", &names.short_names), ("categories", &names.categories)] {
        if !list.is_empty() {
            let list = list.iter().map(|text| Value::from(text.as_str())).collect();
            map.insert(field, Value::List(list));
        }
    }
    Value::Map(map)
}

fn in_use(name: &str) -> String {
    format!("{} is already in use", quoted(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `PLURAL SINGULAR KIND LISTKIND SHORT,SHORT`; `-` is an empty name.
    fn names(text: &str) -> DefinitionNames {
        let word = |at: usize| {
            text.split(' ').nth(at).filter(|word| *word != "-").unwrap_or_default().to_owned()
        };
        let short = word(4);
        DefinitionNames {
            plural: word(0),
            singular: word(1),
            kind: word(2),
            list_kind: word(3),
            short_names: short.split(',').filter(|s| !s.is_empty()).map(Into::into).collect(),
            categories: Vec::new(),
        }
    }

    fn check(asked: &str, before: &str, others: &[&str], expect: &str, reason: &str, why: &str) {
        let others: Vec<_> = others.iter().map(|text| names(text)).collect();
        let mut taken = Taken::default();
        others.iter().for_each(|other| taken.add(other));
        let verdict = decide(&names(asked), &names(before), &taken);
        assert_eq!(verdict.names, names(expect), "{asked}");
        let is_accepted = reason == "NoConflicts";
        let condition = (NAMES_ACCEPTED, is_accepted, verdict.condition.2, why.to_owned());
        assert_eq!((verdict.condition, condition.2), (condition, reason), "{asked}");
    }

    #[test]
    fn free_names_are_accepted() {
        let (all, fine) = ("as a A AList x,y", "no conflicts found");
        check(all, "- - - -", &[], all, "NoConflicts", fine);
        check(all, "- - - -", &["bs b B BList z"], all, "NoConflicts", fine);
        check(all, all, &[all], all, "NoConflicts", fine);
        // Names of resources and of kinds do not meet.
        check(all, "- - - -", &["A AList as a"], all, "NoConflicts", fine);
        check("as a C AList", all, &[], "as a C AList", "NoConflicts", fine);
    }

    #[test]
    fn a_name_stays_with_the_definition_that_got_it() {
        let none = "- - - -";
        let told = |name: &str| format!("{name:?} is already in use");
        check("as a A AL", none, &["b as B BL"], "- a A AL", "PluralConflict", &told("as"));
        check("as a A AL", none, &["b c B BL a"], "as - A AL", "SingularConflict", &told("a"));
        check("as a A AL", none, &["b c AL BL"], "as a A -", "ListKindConflict", &told("AL"));
        check("as a A AL", none, &["b c B A"], "as a - AL", "KindConflict", &told("A"));
        check("as a A AL x", none, &["x c B BL"], "as a A AL", "ShortNamesConflict", &told("x"));
        check("as a B AL", "as a A AL", &["b c B BL"], "as a A AL", "KindConflict", &told("B"));
        let both = "[\"x\" is already in use, \"y\" is already in use]";
        let mine = "as a A AL z";
        check("as a A AL x,y,z", mine, &["x y B BL"], mine, "ShortNamesConflict", both);
        // The last conflict gives the reason.
        check("as a A AL", none, &["as a A BL"], "- - - AL", "KindConflict", &told("A"));
        check("as a A AL a", none, &["b a B BL"], "as - A AL", "ShortNamesConflict", &told("a"));
    }

    #[test]
    fn names_overlap_where_one_is_wanted_twice() {
        let check = |other: &str, expect: bool| {
            assert_eq!(overlap(&names("as a A AL x"), &names(other)), expect, "{other}");
        };
        check("- - - -", false);
        check("bs b B BL y", false);
        check("bs b B BL x", true);
        check("bs b AL BL", true);
    }

    #[test]
    fn kind_and_plural_are_never_left_out() {
        let check = |text: &str, expect: serde_json::Value| {
            assert_eq!(to_value(&names(text)), expect.into(), "{text}");
        };
        check("- - - -", serde_json::json!({"plural": "", "kind": ""}));
        let whole = serde_json::json!({"plural": "as", "singular": "a", "kind": "A", "listKind": "AL", "shortNames": ["x"]});
        check("as a A AL x", whole);
    }
}
