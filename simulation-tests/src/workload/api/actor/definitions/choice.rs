//! What an actor tries next: requests about definitions and about custom objects, whether or not
//! there is a definition of them just now.

use rand::Rng;
use serde_json::{Value, json};

use crate::api::{ApiRequest, At, ResourceKind, STAMP, Verb, version};
use crate::workload::api::{Actor, LASTING, ObjectId, is_held};
use crate::workload::definitions::VERSIONS;

/// Names that all actors share, by kind.
const SHARED_NAMES: u64 = 4;

/// The next request of an actor.
pub(crate) fn choose(actor: &mut Actor) -> ApiRequest {
    let kind = actor.custom_kind();
    if actor.definition_of(kind).is_none() && actor.rng.random_ratio(1, 2) {
        return if actor.rng.random() { actor.define(kind) } else { actor.get_definition(kind) };
    }
    let mut ask = match actor.rng.random_range(0..100) {
        0..4 => return actor.get_definition(kind),
        4..12 => return actor.redefine(kind),
        12..15 => return actor.undefine(kind),
        15..18 => {
            let namespace = actor.passing();
            return actor.create_namespace(namespace);
        }
        18..20 => return actor.delete_namespace(),
        20..41 => actor.create_custom(kind),
        41..49 => actor.update_custom(kind),
        49..56 => actor.patch_custom(kind),
        56..64 => {
            let id = actor.some_custom(kind);
            actor.delete_of(id)
        }
        64..73 => actor.release_custom(kind),
        73..80 => {
            let (kind, namespace, name) = actor.some_custom(kind);
            ApiRequest::new(Verb::Get, kind, &namespace, &name)
        }
        80..93 => actor.list_custom(kind),
        _ => ApiRequest::new(Verb::Discover, kind, "", ""),
    };
    if actor.rng.random_ratio(1, 3) {
        ask.version = VERSIONS[1];
    }
    if let Some(body) =
        ask.body.as_mut().filter(|_| matches!(ask.verb, Verb::Create | Verb::Update))
    {
        body["apiVersion"] = format!("{}/{}", kind.group(), ask.version).into();
    }
    ask
}

impl Actor {
    fn custom_kind(&mut self) -> ResourceKind {
        ResourceKind::CUSTOM[self.rng.random_range(0..ResourceKind::CUSTOM.len())]
    }

    /// A request that creates a definition.
    pub(super) fn define(&mut self, kind: ResourceKind) -> ApiRequest {
        let stamp = self.stamp();
        let body = self.definition(kind, &stamp);
        ApiRequest {
            body: Some(body),
            stamp: Some(stamp),
            ..ApiRequest::new(Verb::Create, ResourceKind::Definitions, "", &kind.definition())
        }
    }

    /// The definition of a kind, as this actor knows it.
    pub(super) fn definition_of(&self, kind: ResourceKind) -> Option<&Value> {
        self.known.get(&(ResourceKind::Definitions, String::new(), kind.definition()))
    }

    /// A request for a definition.
    pub(super) fn get_definition(&self, kind: ResourceKind) -> ApiRequest {
        ApiRequest::new(Verb::Get, ResourceKind::Definitions, "", &kind.definition())
    }

    /// Changes a definition: by a patch, or as far as this actor knows it.
    fn redefine(&mut self, kind: ResourceKind) -> ApiRequest {
        let stamp = self.stamp();
        let name = kind.definition();
        let known = self.definition_of(kind).cloned();
        let versions = self.versions(&stamp);
        let replaced = known.clone().filter(|_| self.rng.random_ratio(1, 4));
        let (verb, body) = match replaced {
            Some(mut body) => {
                body["metadata"]["annotations"] = json!({STAMP: stamp});
                body["spec"]["versions"] = versions;
                (Verb::Update, body)
            }
            None => {
                let mut body = json!({
                    "metadata": {"annotations": {STAMP: stamp}}, "spec": {"versions": versions},
                });
                let known = known.as_ref().and_then(version);
                if let Some(known) = known.filter(|_| self.rng.random_ratio(1, 3)) {
                    body["metadata"]["resourceVersion"] = known.to_string().into();
                }
                (Verb::MergePatch, body)
            }
        };
        ApiRequest {
            body: Some(body),
            stamp: Some(stamp),
            ..ApiRequest::new(verb, ResourceKind::Definitions, "", &name)
        }
    }

    /// A request that deletes a definition.
    pub(super) fn undefine(&mut self, kind: ResourceKind) -> ApiRequest {
        self.delete_of((ResourceKind::Definitions, String::new(), kind.definition()))
    }

    fn place(&mut self, kind: ResourceKind) -> &'static str {
        match kind.is_namespaced() {
            false => "",
            true if self.rng.random_ratio(1, 4) => self.passing(),
            true => LASTING[self.rng.random_range(0..LASTING.len())],
        }
    }

    /// An object of the kind that may be there.
    fn some_custom(&mut self, kind: ResourceKind) -> ObjectId {
        let known: Vec<ObjectId> =
            self.known.keys().filter(|known| known.0 == kind).cloned().collect();
        if !known.is_empty() && self.rng.random_ratio(4, 5) {
            return known[self.rng.random_range(0..known.len())].clone();
        }
        let name = format!("m{}", self.rng.random_range(0..SHARED_NAMES));
        (kind, self.place(kind).to_owned(), name)
    }

    fn create_custom(&mut self, kind: ResourceKind) -> ApiRequest {
        let (namespace, stamp) = (self.place(kind), self.stamp());
        let mut body = self.custom_object(kind, &stamp);
        let mut name = String::new();
        if self.rng.random_ratio(1, 3) {
            body["metadata"]["generateName"] = "g-".into();
        } else {
            name = format!("m{}", self.rng.random_range(0..SHARED_NAMES));
            body["metadata"]["name"] = name.as_str().into();
        }
        ApiRequest {
            body: Some(body),
            stamp: Some(stamp),
            ..ApiRequest::new(Verb::Create, kind, namespace, &name)
        }
    }

    /// Replaces what this actor knows, mostly on the condition that it is still so.
    fn update_custom(&mut self, kind: ResourceKind) -> ApiRequest {
        let (_, namespace, name) = self.some_custom(kind);
        let Some(known) = self.known.get(&(kind, namespace.clone(), name.clone())) else {
            return self.create_custom(kind);
        };
        let mut body = known.clone();
        let stamp = self.stamp();
        let metadata = &mut body["metadata"];
        metadata["annotations"] = json!({STAMP: stamp});
        metadata["labels"] = json!({"color": self.color()});
        if self.rng.random_ratio(1, 5) {
            metadata.as_object_mut().expect("metadata is an object").remove("resourceVersion");
        }
        body["kind"] = kind.name().into();
        body["spec"] = self.spec(&stamp);
        ApiRequest {
            body: Some(body),
            stamp: Some(stamp),
            ..ApiRequest::new(Verb::Update, kind, &namespace, &name)
        }
    }

    fn patch_custom(&mut self, kind: ResourceKind) -> ApiRequest {
        let (_, namespace, name) = self.some_custom(kind);
        let stamp = self.stamp();
        let labels = json!({"color": self.color()});
        let body = json!({
            "metadata": {"annotations": {STAMP: stamp}, "labels": labels},
            "spec": self.spec(&stamp),
        });
        ApiRequest {
            body: Some(body),
            stamp: Some(stamp),
            ..ApiRequest::new(Verb::MergePatch, kind, &namespace, &name)
        }
    }

    /// Takes the finalizer away that actors put.
    fn release_custom(&mut self, kind: ResourceKind) -> ApiRequest {
        let held = |(id, object): &(&ObjectId, &Value)| id.0 == kind && is_held(object);
        let held: Vec<ObjectId> =
            self.known.iter().filter(held).map(|(id, _)| id.clone()).collect();
        if held.is_empty() {
            return self.list_custom(kind);
        }
        let (_, namespace, name) = held[self.rng.random_range(0..held.len())].clone();
        self.release_of(kind, &namespace, &name)
    }

    fn list_custom(&mut self, kind: ResourceKind) -> ApiRequest {
        let namespace = if self.rng.random_ratio(1, 2) { "" } else { self.place(kind) };
        let mut ask = ApiRequest::new(Verb::List, kind, namespace, "");
        ask.table = self.rng.random_ratio(1, 2);
        if self.rng.random_ratio(1, 4) {
            ask.at = At::Any;
        }
        ask
    }
}
