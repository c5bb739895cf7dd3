//! Default StorageClass: a new PersistentVolumeClaim that names no class gets the default one.
//!
//! Invariant: a claim that sets its class, also to none (an empty name), keeps it.

use quorate_meta::{Names, Value};

use crate::plugin::Plugin;
use crate::snapshot_view::SnapshotView;
use quorate_registry::error::Error;
use quorate_registry::{Attributes, Resource, stored_codec};

/// The plugin that sets the class of claims.
pub(super) struct DefaultStorageClass;

impl Plugin for DefaultStorageClass {
    fn mutate(
        &self,
        view: &SnapshotView<'_>,
        _: &Attributes<'_>,
        object: &mut Value,
    ) -> Result<(), Error> {
        if class_of(view.names, object).is_some() {
            return Ok(());
        }
        let Some(classes) = view.resource("storage", "v1", "storageclasses") else {
            return Ok(());
        };
        let mark = view.names.domain_key("is-default-class");
        let marks = [format!("storageclass.{mark}"), format!("storageclass.beta.{mark}")];
        if let Some(class) = default_of(view, classes, &marks) {
            object.set_at(&["spec", "storageClassName"], class);
        }
        Ok(())
    }
}

/// The class that a claim names, in the deprecated annotation or, without that, in its field;
/// `None` when both are absent.
pub(super) fn class_of<'v>(names: &Names, claim: &'v Value) -> Option<&'v str> {
    let key = format!("volume.beta.{}", names.domain_key("storage-class"));
    claim
        .str_at(&["metadata", "annotations", &key])
        .or_else(|| claim.str_at(&["spec", "storageClassName"]))
}

/// The name of the class that a default annotation marks: the newest of several. A class that
/// cannot be read is skipped.
pub(super) fn default_of<'a>(
    view: &SnapshotView<'a>,
    classes: &'a Resource,
    marks: &[String],
) -> Option<String> {
    let entries = view.list(classes, None);
    newest(entries.filter_map(|(_, entry)| stored_codec::decode(classes, entry).ok()), marks)
}

/// The newest marked class; of several of the same second the first by name.
fn newest(classes: impl Iterator<Item = Value>, marks: &[String]) -> Option<String> {
    let is_marked = |class: &Value| {
        marks.iter().any(|mark| class.str_at(&["metadata", "annotations", mark]) == Some("true"))
    };
    let marked = classes.filter(is_marked);
    let newest =
        marked.reduce(|newest, other| if made(&other) > made(&newest) { other } else { newest })?;
    newest.str_at(&["metadata", "name"]).map(str::to_owned)
}

/// The creation time of an object: as text, since all such texts have the same form.
fn made(object: &Value) -> &str {
    object.str_at(&["metadata", "creationTimestamp"]).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Naming;
    use serde_json::json;

    #[test]
    fn the_class_of_a_claim() {
        let check = |claim: serde_json::Value, expect: Option<&str>| {
            assert_eq!(class_of(Naming::Svc.names(), &claim.into()), expect);
        };
        let annotations = json!({"volume.beta.svc.io/storage-class": "old"});
        check(json!({"spec": {}}), None);
        check(json!({"spec": {"storageClassName": null}}), None);
        check(json!({"spec": {"storageClassName": ""}}), Some(""));
        check(json!({"spec": {"storageClassName": "new"}}), Some("new"));
        check(
            json!({"metadata": {"annotations": annotations}, "spec": {"storageClassName": "new"}}),
            Some("old"),
        );
    }

    #[test]
    fn the_newest_default_wins() {
        let class = |name: &str, second: u32, mark: &str, says: &str| {
            let time = format!("2030-01-01T00:00:{second:02}Z");
            Value::from(
                json!({"metadata": {"name": name, "creationTimestamp": time, "annotations": {mark: says}}}),
            )
        };
        let check = |classes: Vec<Value>, expect: Option<&str>| {
            let marks = ["mark".to_owned(), "old".to_owned()];
            assert_eq!(newest(classes.into_iter(), &marks).as_deref(), expect);
        };
        check(vec![], None);
        check(vec![class("a", 1, "mark", "false"), class("b", 1, "other", "true")], None);
        check(vec![class("a", 1, "mark", "true"), class("b", 1, "old", "true")], Some("a"));
        check(
            vec![
                class("a", 1, "mark", "true"),
                class("b", 2, "old", "true"),
                class("c", 2, "mark", "true"),
            ],
            Some("b"),
        );
    }
}
