//! Policies asked about writes: what they match, and what the client is told, in the words of the
//! recorded answers of a release-1.35 server.

mod basis;
mod matching;
mod mutating;
mod params;
mod rehearsal;
mod suspension;

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use quorate_env::SystemEnv;
use quorate_kinds::builtin;
use quorate_meta::{Naming, Status, Value};
use quorate_registry::write::Target;
use quorate_registry::{
    AccessCheck, AccessDecision, AccessTarget, AdmissionOperation, Author, Catalogue, Grant,
    Permission, UserInfo, stored_codec,
};
use quorate_store::{MemoryOptions, MemoryStore, Operation, Txn};
use serde_json::{Value as Json, json};
use tokio::time::Instant;

use super::*;
use crate::Admission;
use crate::tests::attributes;

/// A user who may do only what the verb `approve` is asked of with the name `a`.
#[derive(Debug, Default)]
struct Jane {
    notes: Mutex<Notes>,
}

#[async_trait]
impl Author for Jane {
    fn user(&self) -> UserInfo<'_> {
        UserInfo { name: "jane", uid: "", groups: &[], extra: &[] }
    }

    async fn may(&self, _: &Permission, _: &str) -> Result<bool, Error> {
        Ok(true)
    }

    fn check_object(&self, _: Target<'_>, _: Option<&Value>, _: &Value) -> Result<(), Error> {
        Ok(())
    }

    async fn check_grant(&self, _: Target<'_>, _: &Grant) -> Result<(), Error> {
        Ok(())
    }

    async fn decide(&self, check: &AccessCheck) -> AccessDecision {
        let named = matches!(&check.target, AccessTarget::Resource { name, .. } if name == "a");
        AccessDecision { allowed: check.verb == "approve" && named, ..AccessDecision::default() }
    }

    fn deadline(&self) -> Option<Instant> {
        None
    }

    fn note(&self, notes: Notes) {
        self.notes.lock().add(notes);
    }
}

struct Cluster {
    admission: Admission,
    catalogue: Arc<Catalogue>,
    author: Jane,
}

impl Cluster {
    /// A cluster with the namespace `n`, labelled `stage: test`.
    async fn new() -> Self {
        Self::serving(builtin::catalogue_of(Naming::Svc.names())).await
    }

    /// The same with this catalogue.
    async fn serving(catalogue: Catalogue) -> Self {
        let names = Naming::Svc.names();
        let catalogue = CurrentCatalogue::new(catalogue);
        let store: Arc<dyn Store> =
            Arc::new(MemoryStore::new(MemoryOptions::new(SystemEnv::env().clock)));
        let clock = SystemEnv::env().clock;
        let index = PolicyIndex::new(&catalogue.load(), store.clone(), clock).map(Arc::new);
        let loaded = catalogue.load();
        let admission = Admission::new(names, catalogue, store).with_policies(index);
        let cluster = Self { admission, catalogue: loaded, author: Jane::default() };
        let labels = json!({"stage": "test"});
        cluster
            .put("", "namespaces", None, json!({"metadata": {"name": "n", "labels": labels}}))
            .await;
        cluster
    }

    fn resource(&self, group: &str, version: &str, plural: &str) -> &Arc<Resource> {
        let names = Naming::Svc.names();
        let group = if group.is_empty() { String::new() } else { names.group(group) };
        self.catalogue.find(&group, version, plural).unwrap()
    }

    async fn put(&self, group: &str, plural: &str, namespace: Option<&str>, object: Json) {
        self.put_as(self.resource(group, "v1", plural), namespace, object).await;
    }

    async fn put_as(&self, resource: &Resource, namespace: Option<&str>, object: Json) {
        let mut object: Value = object.into();
        object.set_at(&["metadata", "uid"], "u");
        let key = resource.key(namespace, object.str_at(&["metadata", "name"]).unwrap());
        let value = stored_codec::encode(resource, &object).unwrap();
        let operations = vec![Operation::Put { key, value }];
        self.admission.store.txn(Txn { operations, ..Txn::default() }).await.unwrap();
    }

    /// A policy for config maps with these further fields.
    async fn policy(&self, name: &str, spec: Json) {
        self.annotated_policy(name, json!({}), spec).await;
    }

    async fn annotated_policy(&self, name: &str, annotations: Json, spec: Json) {
        let mut all =
            json!({"matchConstraints": {"resourceRules": [rule("configmaps", "CREATE")]}});
        for (field, value) in spec.as_object().unwrap() {
            all[field] = value.clone();
        }
        let metadata = json!({"name": name, "annotations": annotations});
        let object = json!({"metadata": metadata, "spec": all});
        self.put("admissionregistration", index::POLICIES, None, object).await;
    }

    /// A binding of a policy with these further fields.
    async fn bind(&self, name: &str, policy: &str, action: &str, spec: Json) {
        let mut all = json!({"policyName": policy, "validationActions": [action]});
        for (field, value) in spec.as_object().unwrap() {
            all[field] = value.clone();
        }
        let object = json!({"metadata": {"name": name}, "spec": all});
        self.put("admissionregistration", index::BINDINGS, None, object).await;
    }

    /// Creates a config map in a dry run; gives what the client is told.
    async fn create(&self, object: Json) -> Result<(), Box<Status>> {
        let object: Value = object.into();
        let name = object.str_at(&["metadata", "name"]).unwrap();
        let resource = self.resource("", "v1", "configmaps");
        let target = Target { resource, namespace: Some("n"), name };
        let attributes = Attributes {
            new: Some(&object),
            user: Some(self.author.user()),
            author: Some(&self.author),
            ..attributes(target)
        };
        let admission: &dyn quorate_registry::Admission = &self.admission;
        match admission.validate(&attributes).await {
            Ok(_) => Ok(()),
            Err(error) => Err(Box::new(error.into_status())),
        }
    }

    /// The message of the refusal of a config map; empty when it is admitted.
    async fn refusal(&self, object: Json) -> String {
        self.create(object).await.map_or_else(|status| status.message, |()| String::new())
    }
}

fn rule(resource: &str, operation: &str) -> Json {
    json!({"apiGroups": [""], "apiVersions": ["v1"], "resources": [resource], "operations": [operation]})
}

fn map(name: &str) -> Json {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "n"}})
}

fn not_named(name: &str, message: &str) -> Json {
    json!({"expression": format!("object.metadata.name != '{name}'"), "message": message})
}

#[tokio::test]
async fn a_denial_is_a_status() {
    let cluster = Cluster::new().await;
    let mut forbidden = not_named("f", "f");
    forbidden["reason"] = json!("Forbidden");
    cluster.policy("p", json!({"validations": [not_named("a", "no a"), forbidden]})).await;
    assert_eq!(cluster.create(map("a")).await, Ok(()), "a policy alone does nothing");
    cluster.bind("b", "p", "Deny", json!({})).await;
    let status = cluster.create(map("a")).await.unwrap_err();
    let told = "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no a";
    let expect = json!({
        "apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure",
        "code": 422, "reason": "Invalid",
        "message": format!("configmaps \"a\" is forbidden: {told}"),
        "details": {"name": "a", "kind": "configmaps", "causes": [{"message": told}]},
    });
    assert_eq!(status.to_value(), expect.into());
    let status = cluster.create(map("f")).await.unwrap_err();
    assert_eq!((status.code, status.reason.as_str()), (403, "Forbidden"));
    assert_eq!(cluster.create(map("b")).await, Ok(()));
}

#[tokio::test]
async fn the_first_policy_denies_and_others_warn() {
    let cluster = Cluster::new().await;
    for (policy, message, action) in
        [("a", "first", "Deny"), ("b", "second", "Deny"), ("c", "third", "Warn")]
    {
        cluster.policy(policy, json!({"validations": [not_named("x", message)]})).await;
        cluster.bind(policy, policy, action, json!({})).await;
    }
    let told = cluster.refusal(map("x")).await;
    assert!(told.ends_with("with binding 'a' denied request: first"), "{told}");
    let warning = "Validation failed for ValidatingAdmissionPolicy 'c' with binding 'c': third";
    assert_eq!(cluster.author.notes.lock().warnings, [warning]);
}

#[tokio::test]
async fn audited_failures_and_annotations_are_noted() {
    let cluster = Cluster::new().await;
    cluster
        .policy(
            "p",
            json!({
                "validations": [not_named("x", "no x")],
                "auditAnnotations": [{"key": "k", "valueExpression": "'name ' + object.metadata.name"}],
            }),
        )
        .await;
    cluster.bind("b", "p", "Audit", json!({})).await;
    assert_eq!(cluster.refusal(map("x")).await, "");
    let notes = cluster.author.notes.lock().clone();
    assert_eq!(notes.annotations["p/k"], "name x");
    let failure = &notes.annotations["validation.policy.admission.svc.io/validation_failure"];
    let expect = json!([{
        "message": "no x", "policy": "p", "binding": "b", "expressionIndex": 0,
        "validationActions": ["Audit"],
    }]);
    assert_eq!(serde_json::from_str::<Json>(failure).unwrap(), expect);
}

#[tokio::test]
async fn the_author_answers_for_the_authorizer() {
    let cluster = Cluster::new().await;
    let validation = json!({
        "expression": "authorizer.requestResource.check('approve').allowed()",
        "message": "not approved",
    });
    cluster.policy("p", json!({"validations": [validation]})).await;
    cluster.bind("b", "p", "Deny", json!({})).await;
    assert_eq!(cluster.refusal(map("a")).await, "");
    assert!(cluster.refusal(map("b")).await.ends_with(": not approved"));
}
