//! The paths of the `scale` subresource.

use quorate_meta::Cause;

use super::columns::not_simple;
use crate::crd::field::Field;

/// Checks the subresources of a version, or of all.
pub(super) fn check(subresources: &Field<'_>, causes: &mut Vec<Cause>) {
    let scale = subresources.get("scale");
    if !scale.is_set() {
        return;
    }
    let scale = scale.moved(subresources.path().child("scale"));
    for (field, above) in [("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")] {
        let path = scale.get(field);
        if path.text().is_empty() {
            causes.push(path.required(""));
        } else {
            let why = format!("should be a json path under {above}");
            below(&path, &[above], &why, causes);
        }
    }
    let selector = scale.get("labelSelectorPath");
    if !selector.text().is_empty() {
        let why = "should be a json path under either .spec or .status";
        below(&selector, &[".spec", ".status"], why, causes);
    }
}

fn below(path: &Field<'_>, above: &[&str], why: &str, causes: &mut Vec<Cause>) {
    let is_below =
        |above: &&str| path.text().strip_prefix(above).is_some_and(|rest| rest.starts_with('.'));
    match not_simple(path) {
        Some(cause) => causes.push(cause),
        None if !above.iter().any(is_below) => causes.push(path.invalid(why)),
        None => {}
    }
}
