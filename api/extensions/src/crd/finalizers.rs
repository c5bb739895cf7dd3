//! The warnings about the finalizers of custom objects, which need no domain as those of built-in
//! kinds do.

use quorate_meta::{Names, Value, well_known};

/// Warns of each new finalizer that could be another writer's as well.
pub(super) fn warnings(names: &Names, old: Option<&Value>, new: &Value) -> Vec<String> {
    let standard = [
        names.finalizer_namespace,
        names.finalizer_custom_resources,
        well_known::FINALIZER_ORPHAN,
        well_known::FINALIZER_FOREGROUND,
    ];
    let before = old.map(finalizers).unwrap_or_default();
    let new = finalizers(new).into_iter().filter(|finalizer| {
        !finalizer.contains('/') && !standard.contains(finalizer) && !before.contains(finalizer)
    });
    new.map(|finalizer| {
        format!(
            "metadata.finalizers: {finalizer:?}: prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers"
        )
    })
    .collect()
}

fn finalizers(object: &Value) -> Vec<&str> {
    let list = object.at(&["metadata", "finalizers"]).and_then(Value::as_list);
    list.unwrap_or_default().iter().filter_map(Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    use quorate_meta::Naming;
    use serde_json::json;

    use super::*;

    #[test]
    fn only_new_ones_without_a_domain_are_told() {
        let check = |old: &[&str], new: &[&str], expect: usize| {
            let object = |all: &[&str]| Value::from(json!({"metadata": {"finalizers": all}}));
            let found = warnings(Naming::Svc.names(), Some(&object(old)), &object(new));
            assert_eq!(found.len(), expect, "{found:?}");
        };
        check(&[], &["plain", "x.example/y", "orphan"], 1);
        check(&["plain"], &["plain"], 0);
    }
}
