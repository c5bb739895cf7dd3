//! Whom objects that come back belong to.
//!
//! Invariant: an object never comes back with an owner by a uid that is not there: the garbage collector would delete it again.

use std::collections::BTreeMap;

use quorate_meta::Value;

use crate::command::past::session::Session;

/// What is known of owners: the uids that they have now.
#[derive(Debug, Default)]
pub(super) struct Owners {
    /// From the uids of objects that came back, or that are there under the same name.
    uids: BTreeMap<String, String>,
    /// The uids of what was looked up, by its path.
    found: BTreeMap<String, Option<String>>,
}

impl Owners {
    /// An object came back, or is there under another uid.
    pub(super) fn add(&mut self, old: &str, new: &str) {
        self.uids.insert(old.to_owned(), new.to_owned());
    }

    /// Points the references of an object to what is there; gives a note for each that is dropped.
    pub(super) async fn settle(
        &mut self,
        session: &mut Session,
        object: &mut Value,
        namespace: Option<&str>,
    ) -> Vec<String> {
        self.follow_labels(object);
        let references = object.at(&["metadata", "ownerReferences"]).and_then(Value::as_list);
        let mut kept = Vec::new();
        let mut notes = Vec::new();
        let Some(references) = references.map(<[Value]>::to_vec) else { return notes };
        for mut reference in references {
            let text = |field: &str| reference.str_at(&[field]).unwrap_or_default().to_owned();
            let (version, kind, name) = (text("apiVersion"), text("kind"), text("name"));
            let uid = match self.uids.get(&text("uid")) {
                Some(uid) => Some(uid.clone()),
                None => self.look_up(session, &version, &kind, &name, namespace).await,
            };
            match uid {
                Some(uid) => {
                    reference.set_at(&["uid"], uid);
                    kept.push(reference);
                }
                None => notes.push(format!("its owner {kind} {name} is gone and was dropped")),
            }
        }
        if kept.is_empty() {
            object.remove_at(&["metadata", "ownerReferences"]);
        } else {
            object.set_at(&["metadata", "ownerReferences"], kept);
        }
        notes
    }

    /// Labels by which controllers find what is theirs hold uids too.
    fn follow_labels(&self, object: &mut Value) {
        let Some(labels) = object.at_mut(&["metadata", "labels"]).and_then(Value::as_map_mut)
        else {
            return;
        };
        labels.retain(|_, value| {
            if let Some(uid) = value.as_str().and_then(|label| self.uids.get(label)) {
                *value = uid.as_str().into();
            }
            true
        });
    }

    /// The uid of an owner of this name; `None` also where the user may not look: what is not known to be there counts as
    /// gone.
    async fn look_up(
        &mut self,
        session: &mut Session,
        version: &str,
        kind: &str,
        name: &str,
        namespace: Option<&str>,
    ) -> Option<String> {
        let path = session.resources.of_kind(version, kind)?.object(namespace, name);
        if let Some(known) = self.found.get(&path) {
            return known.clone();
        }
        let owner = session.client.find(&path).await.ok().flatten();
        let uid = owner.and_then(|owner| owner.str_at(&["metadata", "uid"]).map(str::to_owned));
        self.found.insert(path, uid.clone());
        uid
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn labels_follow_uids() {
        let mut owners = Owners::default();
        owners.add("old", "new");
        let mut object: Value =
            json!({"metadata": {"labels": {"batch/controller-uid": "old", "x": "other"}}}).into();
        owners.follow_labels(&mut object);
        let expect = json!({"metadata": {"labels": {"batch/controller-uid": "new", "x": "other"}}});
        assert_eq!(object, expect.into());
    }
}
