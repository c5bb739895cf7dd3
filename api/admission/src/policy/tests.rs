//! Policies asked about writes: what they match, and what the client is told, in the words of the
//! recorded answers of a release-1.35 server.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use quorate_env::SystemEnv;
use quorate_kinds::builtin;
use quorate_meta::{Naming, Status};
use quorate_registry::write::Target;
use quorate_registry::{
    AccessCheck, AccessDecision, AccessTarget, AdmissionOperation, Author, Catalogue, Grant,
    Permission, UserInfo, stored_codec,
};
use quorate_store::{MemoryOptions, MemoryStore, Operation, Txn};
use serde_json::{Value as Json, json};

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
        let names = Naming::Svc.names();
        let catalogue = CurrentCatalogue::new(builtin::catalogue_of(names));
        let store: Arc<dyn Store> =
            Arc::new(MemoryStore::new(MemoryOptions::new(SystemEnv::env().clock)));
        let index = PolicyIndex::new(&catalogue.load(), store.clone()).map(Arc::new);
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
        let resource = self.resource(group, "v1", plural);
        let object: Value = object.into();
        let key = resource.key(namespace, object.str_at(&["metadata", "name"]).unwrap());
        let value = stored_codec::encode(resource, &object).unwrap();
        let operations = vec![Operation::Put { key, value }];
        self.admission.store.txn(Txn { operations, ..Txn::default() }).await.unwrap();
    }

    /// A policy for config maps with these further fields.
    async fn policy(&self, name: &str, spec: Json) {
        let mut all =
            json!({"matchConstraints": {"resourceRules": [rule("configmaps", "CREATE")]}});
        for (field, value) in spec.as_object().unwrap() {
            all[field] = value.clone();
        }
        let object = json!({"metadata": {"name": name}, "spec": all});
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
async fn constraints() {
    let check = async |constraints: Json, expect: bool| {
        let cluster = Cluster::new().await;
        let mut all = json!({"resourceRules": [rule("configmaps", "CREATE")]});
        for (field, value) in constraints.as_object().unwrap() {
            all[field] = value.clone();
        }
        cluster
            .policy("p", json!({"matchConstraints": all, "validations": [{"expression": "false"}]}))
            .await;
        cluster.bind("b", "p", "Deny", json!({})).await;
        let mut object = map("a");
        object["metadata"]["labels"] = json!({"guard": "yes"});
        assert_eq!(!cluster.refusal(object).await.is_empty(), expect, "{constraints}");
    };
    let with = |field: &str, value: Json| {
        let mut rule = rule("configmaps", "CREATE");
        rule[field] = value;
        json!({"resourceRules": [rule]})
    };
    check(json!({}), true).await;
    check(json!({"resourceRules": [rule("secrets", "CREATE")]}), false).await;
    check(json!({"resourceRules": [rule("secrets", "*"), rule("configmaps", "*")]}), true).await;
    check(with("operations", json!(["UPDATE"])), false).await;
    check(with("apiGroups", json!(["apps"])), false).await;
    check(with("apiGroups", json!(["*"])), true).await;
    check(with("apiVersions", json!(["v2"])), false).await;
    check(with("resources", json!(["*"])), true).await;
    check(with("resources", json!(["*/*"])), true).await;
    check(with("resources", json!(["configmaps/status"])), false).await;
    check(with("scope", json!("Namespaced")), true).await;
    check(with("scope", json!("Cluster")), false).await;
    check(with("resourceNames", json!(["a", "b"])), true).await;
    check(with("resourceNames", json!(["b"])), false).await;
    check(json!({"excludeResourceRules": [rule("configmaps", "*")]}), false).await;
    check(json!({"excludeResourceRules": [rule("configmaps", "UPDATE")]}), true).await;
    let labels = |key: &str, value: &str| json!({"matchLabels": {key: value}});
    check(json!({"namespaceSelector": labels("stage", "test")}), true).await;
    check(json!({"namespaceSelector": labels("stage", "prod")}), false).await;
    check(json!({"objectSelector": labels("guard", "yes")}), true).await;
    check(json!({"objectSelector": labels("guard", "no")}), false).await;
    check(
        json!({"objectSelector": {"matchExpressions": [{"key": "a", "operator": "Like"}]}}),
        true,
    )
    .await;
}

#[tokio::test]
async fn bindings_narrow_their_policy() {
    let cluster = Cluster::new().await;
    cluster.policy("p", json!({"validations": [{"expression": "false", "message": "no"}]})).await;
    let mut named = rule("configmaps", "*");
    named["resourceNames"] = json!(["a"]);
    cluster.bind("b", "p", "Deny", json!({"matchResources": {"resourceRules": [named]}})).await;
    cluster
        .bind(
            "c",
            "p",
            "Deny",
            json!({"matchResources": {"resourceRules": [rule("secrets", "*")]}}),
        )
        .await;
    assert!(cluster.refusal(map("a")).await.contains("with binding 'b'"));
    assert_eq!(cluster.refusal(map("c")).await, "");
}

#[tokio::test]
async fn an_equivalent_version_is_converted() {
    let cluster = Cluster::new().await;
    let v1 = json!({"apiGroups": ["autoscaling"], "apiVersions": ["v1"],
        "resources": ["horizontalpodautoscalers"], "operations": ["CREATE"]});
    let seen = "object.apiVersion + ' ' + request.resource.version + ' ' + request.requestResource.version";
    let refusal = async |policy: &str| {
        let constraints = json!({"resourceRules": [v1], "matchPolicy": policy});
        let validation = json!({"expression": "false", "messageExpression": seen});
        let spec = json!({"matchConstraints": constraints, "validations": [validation]});
        cluster.policy("p", spec).await;
        cluster.bind("b", "p", "Deny", json!({})).await;
        let resource = cluster.resource("autoscaling", "v2", "horizontalpodautoscalers");
        let object: Value = json!({
            "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "h", "namespace": "n"}, "spec": {"maxReplicas": 3},
        })
        .into();
        let target = Target { resource, namespace: Some("n"), name: "h" };
        let attributes = Attributes { new: Some(&object), ..attributes(target) };
        let admission: &dyn quorate_registry::Admission = &cluster.admission;
        let answer = admission.validate(&attributes).await;
        answer.map_or_else(|error| error.into_status().message, |_| String::new())
    };
    assert!(refusal("Equivalent").await.ends_with(": autoscaling/v1 v1 v2"));
    assert_eq!(refusal("Exact").await, "");
}

#[tokio::test]
async fn deletions_see_the_old_object() {
    let cluster = Cluster::new().await;
    let constraints = json!({"resourceRules": [rule("configmaps", "DELETE")]});
    let validation = json!({"expression": "object == null && oldObject.metadata.name != 'a'", "message": "kept"});
    cluster
        .policy("p", json!({"matchConstraints": constraints, "validations": [validation]}))
        .await;
    cluster.bind("b", "p", "Deny", json!({})).await;
    let resource = cluster.resource("", "v1", "configmaps");
    for (name, expect) in [("a", false), ("b", true)] {
        let object: Value = map(name).into();
        let target = Target { resource, namespace: Some("n"), name };
        let operation = AdmissionOperation::Delete;
        let attributes = Attributes { operation, old: Some(&object), ..attributes(target) };
        let admission: &dyn quorate_registry::Admission = &cluster.admission;
        assert_eq!(admission.validate(&attributes).await.is_ok(), expect, "{name}");
    }
}

#[tokio::test]
async fn policies_are_exempt() {
    let cluster = Cluster::new().await;
    let all =
        json!({"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], "operations": ["*"]});
    let spec = json!({
        "matchConstraints": {"resourceRules": [all]},
        "validations": [{"expression": "false"}],
    });
    cluster.policy("p", spec).await;
    cluster.bind("b", "p", "Deny", json!({})).await;
    let check = async |group: &str, plural: &str, expect: bool| {
        let resource = cluster.resource(group, "v1", plural);
        let object: Value = json!({"metadata": {"name": "a"}}).into();
        let target = Target { resource, namespace: None, name: "a" };
        let attributes = Attributes { new: Some(&object), ..attributes(target) };
        let admission: &dyn quorate_registry::Admission = &cluster.admission;
        assert_eq!(admission.validate(&attributes).await.is_ok(), expect, "{plural}");
    };
    check("admissionregistration", index::POLICIES, true).await;
    check("admissionregistration", index::BINDINGS, true).await;
    check("authentication", "tokenreviews", true).await;
    check("rbac.authorization", "clusterroles", false).await;
}

#[tokio::test]
async fn params_are_found() {
    let cluster = Cluster::new().await;
    let validation = json!({
        "expression": "params == null || object.metadata.name in params.data",
        "messageExpression": "'not in ' + params.metadata.name",
    });
    let kind = json!({"apiVersion": "v1", "kind": "ConfigMap"});
    cluster.policy("p", json!({"paramKind": kind, "validations": [validation]})).await;
    let refusal = async |reference: Json, object: &str| {
        cluster.bind("b", "p", "Deny", json!({"paramRef": reference})).await;
        let told = cluster.refusal(map(object)).await;
        told.rsplit("denied request: ").next().unwrap_or_default().to_owned()
    };
    let none = "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction";
    let by_name = |action: &str| json!({"name": "list", "parameterNotFoundAction": action});
    assert_eq!(refusal(by_name("Deny"), "a").await, none);
    assert_eq!(refusal(by_name("Allow"), "a").await, "");
    for (name, keys) in [("list", json!({"a": ""})), ("more", json!({"b": ""}))] {
        let labels = json!({"set": "x"});
        let object =
            json!({"metadata": {"name": name, "namespace": "n", "labels": labels}, "data": keys});
        cluster.put("", "configmaps", Some("n"), object).await;
    }
    assert_eq!(refusal(by_name("Deny"), "a").await, "");
    assert_eq!(refusal(by_name("Deny"), "b").await, "not in list");
    let selector = |value: &str| json!({"selector": {"matchLabels": {"set": value}}, "parameterNotFoundAction": "Deny"});
    assert_eq!(refusal(selector("x"), "a").await, "not in more");
    assert_eq!(refusal(selector("y"), "a").await, none);
    assert_eq!(refusal(json!(null), "a").await, "", "without a reference params are null");
}

#[tokio::test]
async fn an_unknown_kind_of_params_is_misconfigured() {
    let cluster = Cluster::new().await;
    let kind = json!({"apiVersion": "example.com/v1", "kind": "Nothing"});
    let reference = json!({"name": "x", "parameterNotFoundAction": "Allow"});
    let validations = json!([{"expression": "false"}]);
    let spec = |failure: &str| json!({"paramKind": kind, "failurePolicy": failure, "validations": validations});
    cluster.policy("p", spec("Fail")).await;
    cluster.bind("b", "p", "Warn", json!({ "paramRef": reference })).await;
    assert_eq!(
        cluster.refusal(map("a")).await,
        "configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'p' denied request: failed to configure policy: failed to find resource referenced by paramKind: 'example.com/v1, Kind=Nothing'"
    );
    cluster.policy("p", spec("Ignore")).await;
    assert_eq!(cluster.refusal(map("a")).await, "");
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

#[tokio::test]
async fn who_names_parameters_must_be_able_to_read_them() {
    let cluster = Cluster::new().await;
    let kind = json!({"apiVersion": "v1", "kind": "ConfigMap"});
    let check = async |plural: &str, old: Option<Json>, spec: Json, expect: &str| {
        let resource = cluster.resource("admissionregistration", "v1", plural);
        let object: Value = json!({"metadata": {"name": "a"}, "spec": spec}).into();
        let old: Option<Value> =
            old.map(|spec| json!({"metadata": {"name": "a"}, "spec": spec}).into());
        let target = Target { resource, namespace: None, name: "a" };
        let author: Option<&dyn Author> = Some(&cluster.author);
        let attributes =
            Attributes { old: old.as_ref(), new: Some(&object), author, ..attributes(target) };
        let admission: &dyn quorate_registry::Admission = &cluster.admission;
        let answer = admission.validate(&attributes).await;
        let told = answer.map_or_else(
            |error| error.into_status().causes()[0].message.clone(),
            |_| String::new(),
        );
        assert_eq!(told, expect, "{object:?}");
    };
    let policy = json!({"paramKind": kind});
    let refused = "Forbidden: user jane must have \"get\" permission on all objects of the referenced paramKind (kind=ConfigMap, apiVersion=v1)";
    check(index::POLICIES, None, json!({}), "").await;
    check(index::POLICIES, None, policy.clone(), refused).await;
    check(index::POLICIES, Some(policy.clone()), policy, "").await;
    let binding = json!({"policyName": "p", "paramRef": {"selector": {}}});
    let refused = "Forbidden: user jane does not have \"list\" permission on the object referenced by paramRef";
    check(index::BINDINGS, None, binding, refused).await;
}
