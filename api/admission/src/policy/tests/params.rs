//! The parameters of policies: found, missing, and who may name them.

use super::*;

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
