//! What an actor tries next: every kind of request, drawn from its seed and from what it knows.

use rand::Rng;
use serde_json::{Value, json};

use super::super::{COLORS, LASTING, PASSING};
use super::{Actor, ObjectId};
use crate::api::{ApiRequest, At, HOLD, ResourceKind, STAMP, Verb, version};

/// Addresses that actors want for their Services; they are in the range that is named by hand.
const ADDRESSES: [&str; 2] = ["10.96.0.51", "10.96.0.52"];
/// Names that all actors share, by kind.
const SHARED_NAMES: u64 = 4;

/// The next request of an actor.
pub(crate) fn choose(actor: &mut Actor) -> ApiRequest {
    let mut ask = match actor.rng.random_range(0..100) {
        0..15 => actor.create(),
        15..32 => actor.update(),
        32..40 => actor.merge_patch(),
        40..44 => actor.json_patch(),
        44..52 => actor.apply(),
        52..61 => actor.delete(),
        61..67 => actor.release(),
        67..77 => actor.get(),
        77..94 => actor.list(),
        94..98 => {
            let namespace = actor.passing();
            actor.create_namespace(namespace)
        }
        _ => actor.delete_namespace(),
    };
    ask.dry_run = ask.writes() && actor.rng.random_ratio(1, 15);
    // The body of a deletion hides the query.
    if let Some(options) = ask.body.as_mut().filter(|_| ask.dry_run && ask.verb == Verb::Delete) {
        options["dryRun"] = json!(["All"]);
    }
    ask
}

impl Actor {
    /// A request that makes a namespace.
    pub(in crate::workload) fn create_namespace(&mut self, namespace: &str) -> ApiRequest {
        let stamp = self.stamp();
        let mut ask = ApiRequest::new(Verb::Create, ResourceKind::Namespaces, "", namespace);
        ask.body = Some(json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": namespace, "annotations": {STAMP: stamp}},
        }));
        ask.stamp = Some(stamp);
        ask
    }

    pub(in crate::workload) fn delete_namespace(&mut self) -> ApiRequest {
        let namespace = self.passing();
        ApiRequest::new(Verb::Delete, ResourceKind::Namespaces, "", namespace)
    }

    /// A text that no client has used before.
    pub(in crate::workload) fn stamp(&mut self) -> String {
        self.count += 1;
        format!("{}-{}", self.setup.number, self.count)
    }

    pub(in crate::workload) fn passing(&mut self) -> &'static str {
        PASSING[self.rng.random_range(0..PASSING.len())]
    }

    fn namespace(&mut self) -> &'static str {
        let (lasting, index) =
            (self.rng.random_ratio(2, 3), self.rng.random_range(0..LASTING.len()));
        if lasting { LASTING[index] } else { self.passing() }
    }

    pub(in crate::workload) fn color(&mut self) -> &'static str {
        COLORS[self.rng.random_range(0..COLORS.len())]
    }

    fn kind(&mut self) -> ResourceKind {
        match self.rng.random_range(0..12) {
            0..2 => ResourceKind::Secrets,
            2..6 => ResourceKind::Services,
            _ => ResourceKind::ConfigMaps,
        }
    }

    /// An object that may be there: one that this actor knows, or one of the names that all share.
    fn some_object(&mut self) -> ObjectId {
        let of_ours = |id: &&ObjectId| id.0 != ResourceKind::Namespaces && is_ours(&id.1);
        let known: Vec<ObjectId> = self.known.keys().filter(of_ours).cloned().collect();
        if !known.is_empty() && self.rng.random_ratio(4, 5) {
            return known[self.rng.random_range(0..known.len())].clone();
        }
        let kind = self.kind();
        (kind, self.namespace().to_owned(), format!("m{}", self.rng.random_range(0..SHARED_NAMES)))
    }

    fn object(&mut self, kind: ResourceKind, namespace: &str, stamp: &str) -> Value {
        let mut metadata =
            json!({"labels": {"color": self.color()}, "annotations": {STAMP: stamp}});
        if self.rng.random_ratio(1, 8) {
            metadata["finalizers"] = json!([HOLD]);
        }
        if self.rng.random_ratio(1, 3)
            && let Some(owner) = self.owner(namespace)
        {
            metadata["ownerReferences"] = json!([owner]);
        }
        let mut object = json!({"apiVersion": "v1", "kind": kind.name(), "metadata": metadata});
        fill(&mut object, kind, stamp);
        if kind == ResourceKind::Services && self.rng.random_ratio(3, 4) {
            object["spec"]["clusterIP"] =
                ADDRESSES[self.rng.random_range(0..ADDRESSES.len())].into();
        }
        if kind == ResourceKind::Services && self.rng.random_ratio(1, 3) {
            object["spec"]["type"] = "NodePort".into();
        }
        object
    }

    /// A reference to an object of the namespace.
    fn owner(&mut self, namespace: &str) -> Option<Value> {
        let owners: Vec<&ObjectId> = self.known.keys().filter(|id| id.1 == namespace).collect();
        if owners.is_empty() {
            return None;
        }
        let (kind, _, name) = owners[self.rng.random_range(0..owners.len())].clone();
        let uid =
            self.known[&(kind, namespace.to_owned(), name.clone())]["metadata"]["uid"].clone();
        let blocks: bool = self.rng.random();
        Some(
            json!({"apiVersion": "v1", "kind": kind.name(), "name": name, "uid": uid, "blockOwnerDeletion": blocks}),
        )
    }

    fn create(&mut self) -> ApiRequest {
        let (kind, namespace) = (self.kind(), self.namespace());
        let stamp = self.stamp();
        let mut body = self.object(kind, namespace, &stamp);
        let mut name = String::new();
        if self.rng.random_ratio(1, 4) {
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
    fn update(&mut self) -> ApiRequest {
        let (kind, namespace, name) = self.some_object();
        let Some(known) = self.known.get(&(kind, namespace.clone(), name.clone())) else {
            return self.create();
        };
        let mut body = known.clone();
        let stamp = self.stamp();
        let metadata = &mut body["metadata"];
        metadata["annotations"] = json!({STAMP: stamp});
        metadata["labels"] = json!({"color": self.color()});
        if self.rng.random_ratio(1, 5) {
            metadata.as_object_mut().expect("metadata is an object").remove("resourceVersion");
        }
        body["apiVersion"] = "v1".into();
        body["kind"] = kind.name().into();
        if kind != ResourceKind::Services {
            fill(&mut body, kind, &stamp);
        }
        ApiRequest {
            body: Some(body),
            stamp: Some(stamp),
            ..ApiRequest::new(Verb::Update, kind, &namespace, &name)
        }
    }

    fn merge_patch(&mut self) -> ApiRequest {
        let (kind, namespace, name) = self.some_object();
        let stamp = self.stamp();
        let field = format!("p{}", self.setup.number);
        let mut body =
            json!({"metadata": {"annotations": {STAMP: stamp}, "labels": {"color": self.color()}}});
        if kind != ResourceKind::Services {
            body["data"] = json!({field: data(kind, &stamp)["k"]});
        }
        let known = self.known.get(&(kind, namespace.clone(), name.clone())).and_then(version);
        if let Some(known) = known.filter(|_| self.rng.random_ratio(1, 3)) {
            body["metadata"]["resourceVersion"] = known.to_string().into();
        }
        ApiRequest {
            body: Some(body),
            stamp: Some(stamp),
            ..ApiRequest::new(Verb::MergePatch, kind, &namespace, &name)
        }
    }

    /// Replaces the stamp if it is still the one that this actor knows.
    fn json_patch(&mut self) -> ApiRequest {
        let (kind, namespace, name) = self.some_object();
        let stamp = self.stamp();
        let known = self.known.get(&(kind, namespace.clone(), name.clone()));
        let before =
            known.map_or(Value::Null, |known| known["metadata"]["annotations"][STAMP].clone());
        let path = format!("/metadata/annotations/{}", STAMP.replace('/', "~1"));
        let body = json!([
            {"op": "test", "path": path, "value": before},
            {"op": "replace", "path": path, "value": stamp},
        ]);
        ApiRequest {
            body: Some(body),
            stamp: Some(stamp),
            ..ApiRequest::new(Verb::JsonPatch, kind, &namespace, &name)
        }
    }

    fn apply(&mut self) -> ApiRequest {
        let (kind, namespace, name) = self.some_object();
        let stamp = self.stamp();
        let field = format!("a{}", self.setup.number);
        let mut body = json!({
            "apiVersion": "v1", "kind": kind.name(),
            "metadata": {"name": name, "namespace": namespace, "annotations": {STAMP: stamp}},
        });
        match kind {
            ResourceKind::Services => fill(&mut body, kind, &stamp),
            _ => body["data"] = json!({field: data(kind, &stamp)["k"]}),
        }
        let manager = format!("actor{}", self.setup.number);
        ApiRequest {
            body: Some(body),
            stamp: Some(stamp),
            manager,
            ..ApiRequest::new(Verb::Apply, kind, &namespace, &name)
        }
    }

    fn delete(&mut self) -> ApiRequest {
        let id = self.some_object();
        self.delete_of(id)
    }

    /// A request that deletes an object, sometimes only as this actor knows it.
    pub(in crate::workload) fn delete_of(&mut self, id: ObjectId) -> ApiRequest {
        let (kind, namespace, name) = id;
        let policies = ["Background", "Foreground", "Orphan"];
        let policy = policies[self.rng.random_range(0..policies.len())];
        let mut body =
            json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": policy});
        if let Some(known) = self.known.get(&(kind, namespace.clone(), name.clone())) {
            match self.rng.random_range(0..4) {
                0 => body["preconditions"] = json!({"uid": known["metadata"]["uid"]}),
                1 => {
                    body["preconditions"] =
                        json!({"resourceVersion": known["metadata"]["resourceVersion"]})
                }
                _ => {}
            }
        }
        ApiRequest { body: Some(body), ..ApiRequest::new(Verb::Delete, kind, &namespace, &name) }
    }

    /// Takes the finalizer away that actors put.
    fn release(&mut self) -> ApiRequest {
        let held = |object: &Value| {
            object["metadata"]["finalizers"].as_array().is_some_and(|all| !all.is_empty())
        };
        let of_ours = |(id, object): &(&ObjectId, &Value)| held(object) && is_ours(&id.1);
        let known: Vec<ObjectId> =
            self.known.iter().filter(of_ours).map(|(id, _)| id.clone()).collect();
        if known.is_empty() {
            return self.update();
        }
        let (kind, namespace, name) = known[self.rng.random_range(0..known.len())].clone();
        self.release_of(kind, &namespace, &name)
    }

    /// The request that takes the finalizer of an object away.
    pub(in crate::workload) fn release_of(
        &mut self,
        kind: ResourceKind,
        namespace: &str,
        name: &str,
    ) -> ApiRequest {
        let stamp = self.stamp();
        let finalizers = match self.known.get(&(kind, namespace.to_owned(), name.to_owned())) {
            Some(known) => known["metadata"]["finalizers"].as_array().cloned().unwrap_or_default(),
            None => Vec::new(),
        };
        let kept: Vec<Value> =
            finalizers.into_iter().filter(|finalizer| finalizer != HOLD).collect();
        let known = self.known.get(&(kind, namespace.to_owned(), name.to_owned()));
        let at = known.map_or(Value::Null, |known| known["metadata"]["resourceVersion"].clone());
        let annotations = json!({STAMP: stamp});
        let body = json!({"metadata": {"annotations": annotations, "finalizers": kept, "resourceVersion": at}});
        ApiRequest {
            body: Some(body),
            stamp: Some(stamp),
            ..ApiRequest::new(Verb::MergePatch, kind, namespace, name)
        }
    }

    fn get(&mut self) -> ApiRequest {
        let (kind, namespace, name) = self.some_object();
        let at = if self.rng.random_ratio(1, 4) { At::Any } else { At::MostRecent };
        ApiRequest { at, ..ApiRequest::new(Verb::Get, kind, &namespace, &name) }
    }

    fn list(&mut self) -> ApiRequest {
        let kind = self.kind();
        let namespace = if self.rng.random_ratio(1, 3) { "" } else { self.namespace() };
        let mut ask = ApiRequest::new(Verb::List, kind, namespace, "");
        ask.at = match self.rng.random_range(0..8) {
            0 | 1 => At::Any,
            2 if self.newest > 0 => At::NotOlderThan(self.newest),
            3 | 4 if self.newest > 0 => At::Exact(self.rng.random_range(1..=self.newest)),
            _ => At::MostRecent,
        };
        if self.rng.random_ratio(1, 3) {
            ask.color = Some(self.color());
        }
        if ask.at != At::Any && self.rng.random_ratio(1, 2) {
            ask.limit = Some(self.rng.random_range(1..5));
        }
        ask
    }
}

/// Whether it is a namespace that actors write to.
fn is_ours(namespace: &str) -> bool {
    LASTING.contains(&namespace) || PASSING.contains(&namespace)
}

/// Fills in the fields that an object's kind needs.
fn fill(object: &mut Value, kind: ResourceKind, stamp: &str) {
    match kind {
        ResourceKind::Services => {
            object["spec"] = json!({"ports": [{"port": 80, "protocol": "TCP"}]})
        }
        _ => object["data"] = data(kind, stamp),
    }
}

fn data(kind: ResourceKind, stamp: &str) -> Value {
    match kind {
        // Base64 of three bytes; the stamp is in the annotation.
        ResourceKind::Secrets => json!({"k": "c2lt"}),
        _ => json!({"k": stamp}),
    }
}
