//! Names: that of the definition, its group, and those of the resource.

use quorate_meta::{Cause, name};

use crate::crd::field::Field;

/// The name of a definition says which resource it defines.
pub(super) fn own(definition: &Field<'_>, causes: &mut Vec<Cause>) {
    let (name, spec) = (definition.get("metadata").get("name"), definition.get("spec"));
    let plural = spec.get("names").get("plural");
    if name.text() != format!("{}.{}", plural.text(), spec.get("group").text()) {
        let why = "must be spec.names.plural+\".\"+spec.group";
        causes.push(Cause::invalid(name.path(), name.text(), why));
    }
}

/// A group is a domain.
pub(super) fn group(group: &Field<'_>, causes: &mut Vec<Cause>) {
    let wrong = name::dns_subdomain(group.text());
    if group.text().is_empty() {
        causes.push(group.required(""));
    } else if !wrong.is_empty() {
        causes.push(group.invalid(&wrong.join(",")));
    } else if !group.text().contains('.') {
        causes.push(group.invalid("should be a domain with at least one dot"));
    }
}

/// Names that a definition must have.
pub(super) fn required(names: &Field<'_>, causes: &mut Vec<Cause>) {
    for name in ["plural", "singular", "kind", "listKind"] {
        let field = names.get(name);
        if field.text().is_empty() {
            causes.push(field.required(""));
        }
    }
}

/// Names that are given, those of a spec or of a status.
pub(super) fn check(names: &Field<'_>, causes: &mut Vec<Cause>) {
    for name in ["plural", "singular"] {
        label(&names.get(name), "", causes);
    }
    for name in ["kind", "listKind"] {
        label(&names.get(name), "may have mixed case, but should otherwise match: ", causes);
    }
    for short in names.get("shortNames").items() {
        item(&short, causes);
    }
    let (kind, list) = (names.get("kind"), names.get("listKind"));
    if !kind.text().is_empty() && kind.text() == list.text() {
        causes.push(list.invalid("kind and listKind may not be the same"));
    }
    for category in names.get("categories").items() {
        item(&category, causes);
    }
}

/// A label, when it is given; those that may have mixed case have a beginning of the message.
fn label(field: &Field<'_>, beginning: &str, causes: &mut Vec<Cause>) {
    let text = match beginning {
        "" => field.text().to_owned(),
        _ => field.text().to_lowercase(),
    };
    let wrong = name::dns_1035_label(&text);
    if !text.is_empty() && !wrong.is_empty() {
        causes.push(field.invalid(&format!("{beginning}{}", wrong.join(","))));
    }
}

fn item(field: &Field<'_>, causes: &mut Vec<Cause>) {
    let wrong = name::dns_1035_label(field.text());
    if !wrong.is_empty() {
        causes.push(field.invalid(&wrong.join(",")));
    }
}
