//! Every field that logic speaks of is declared outside of it too.

use quorate_meta::Cause;

use crate::structural::limits::Told;
use crate::structural::place::Place;
use crate::structural::source::Source;

/// Checks the logic of a schema against the schema itself; only that of the root is compared, which declares everything.
pub(in crate::structural) fn check(root: Source<'_>, place: &Place<'_>, told: &mut Told) {
    logic(root, Some(root), (place, place), told);
}

type Places<'a> = (&'a Place<'a>, &'a Place<'a>);

fn logic(of: Source<'_>, declared: Option<Source<'_>>, (at, named): Places<'_>, told: &mut Told) {
    if let Some(inner) = of.schema("not") {
        branch(inner, declared, (at, &named.child("not")), told);
    }
    for word in ["allOf", "anyOf", "oneOf"] {
        let named = named.child(word);
        for (index, inner) in of.each(word) {
            branch(inner, declared, (at, &named.index(index)), told);
        }
    }
}

fn branch(of: Source<'_>, declared: Option<Source<'_>>, (at, named): Places<'_>, told: &mut Told) {
    let Some(declared) = declared else {
        return told.push(|| {
            Cause::required(at.text(), &format!("because it is defined in {}", named.text()))
        });
    };
    logic(of, Some(declared), (at, named), told);
    if let Some(inner) = of.items() {
        branch(inner, declared.items(), (&at.child("items"), &named.child("items")), told);
    }
    let (at, named) = (at.child("properties"), named.child("properties"));
    for (name, inner) in of.properties() {
        branch(inner, declared.property(name), (&at.key(name), &named.key(name)), told);
    }
}
