//! The contract test's model: what the collection holds and held, as the answers to writes have
//! said, and what a watch has to make of it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// Namespace and name.
pub(super) type Key = (String, String);
/// Objects, in the order of lists.
pub(super) type Objects = BTreeMap<Key, Value>;

/// A committed change of one object.
#[derive(Debug, Clone)]
pub(super) struct Change {
    pub(super) revision: u64,
    pub(super) key: Key,
    pub(super) before: Option<Value>,
    pub(super) after: Option<Value>,
}

/// The collection now and every change to it, as the answers to writes have said.
#[derive(Debug, Default)]
pub(super) struct Model {
    changes: Vec<Change>,
    pub(super) objects: Objects,
}

/// Which pods a client wants: where it asks, with what selectors, and what that means.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wish {
    pub(super) path: &'static str,
    pub(super) selectors: &'static str,
    wants: fn(&Value) -> bool,
}

/// Everything that clients ask for.
pub(super) const WISHES: &[Wish] = &[
    Wish { path: "/api/v1/pods", selectors: "", wants: |_| true },
    Wish { path: "/api/v1/namespaces/a/pods", selectors: "", wants: |pod| namespace(pod) == "a" },
    Wish {
        path: "/api/v1/pods",
        selectors: "labelSelector=x%3D1",
        wants: |pod| label(pod, "x") == Some("1"),
    },
    Wish {
        path: "/api/v1/namespaces/b/pods",
        selectors: "labelSelector=x+in+(1,2),!y",
        wants: |pod| {
            namespace(pod) == "b" && label(pod, "x").is_some() && label(pod, "y").is_none()
        },
    },
    Wish {
        path: "/api/v1/pods",
        selectors: "fieldSelector=status.phase%3DRunning",
        wants: |pod| pod["status"]["phase"] == "Running",
    },
    Wish {
        path: "/api/v1/pods",
        selectors: "fieldSelector=metadata.namespace%3Da,metadata.name!%3Dm1&labelSelector=y",
        wants: |pod| {
            namespace(pod) == "a" && pod["metadata"]["name"] != "m1" && label(pod, "y").is_some()
        },
    },
    Wish {
        path: "/api/v1/namespaces/a/pods",
        selectors: "fieldSelector=metadata.name%3Dm2",
        wants: |pod| namespace(pod) == "a" && pod["metadata"]["name"] == "m2",
    },
];

impl Wish {
    pub(super) fn select(&self, objects: &Objects) -> Objects {
        let wanted = objects.iter().filter(|(_, pod)| (self.wants)(pod));
        wanted.map(|(key, pod)| (key.clone(), pod.clone())).collect()
    }

    /// The event that a change is to this client.
    fn event(&self, change: &Change) -> Option<Value> {
        let wanted = |state: &Option<Value>| state.clone().filter(|pod| (self.wants)(pod));
        match (wanted(&change.before), wanted(&change.after)) {
            (None, Some(pod)) => Some(json!({ "type": "ADDED", "object": pod })),
            (Some(_), Some(pod)) => Some(json!({ "type": "MODIFIED", "object": pod })),
            (Some(mut pod), None) => {
                pod["metadata"]["resourceVersion"] = json!(change.revision.to_string());
                Some(json!({ "type": "DELETED", "object": pod }))
            }
            (None, None) => None,
        }
    }
}

impl Model {
    /// Notes that an object is like this now, or gone.
    pub(super) fn commit(&mut self, revision: u64, key: Key, after: Option<Value>) {
        let before = match &after {
            Some(pod) => self.objects.insert(key.clone(), pod.clone()),
            None => self.objects.remove(&key),
        };
        assert!(
            self.changes.last().is_none_or(|last| last.revision <= revision),
            "revision {revision} of {key:?}"
        );
        self.changes.push(Change { revision, key, before, after });
    }

    /// The events that a client must get after a revision, with their revisions.
    pub(super) fn events(&self, wish: &Wish, after: u64) -> Vec<(u64, Value)> {
        let later = self.changes.iter().filter(|change| change.revision > after);
        later.filter_map(|change| Some((change.revision, wish.event(change)?))).collect()
    }

    /// The objects at a revision.
    pub(super) fn objects_at(&self, revision: u64) -> Objects {
        let mut objects = Objects::new();
        for change in self.changes.iter().take_while(|change| change.revision <= revision) {
            match &change.after {
                Some(pod) => objects.insert(change.key.clone(), pod.clone()),
                None => objects.remove(&change.key),
            };
        }
        objects
    }
}

pub(super) fn key(pod: &Value) -> Key {
    (namespace(pod).to_owned(), pod["metadata"]["name"].as_str().unwrap().to_owned())
}

fn namespace(pod: &Value) -> &str {
    pod["metadata"]["namespace"].as_str().unwrap()
}

fn label<'a>(pod: &'a Value, name: &str) -> Option<&'a str> {
    pod["metadata"]["labels"][name].as_str()
}
