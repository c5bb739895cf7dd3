//! Which writes a policy is asked about, and in which form it sees them.

use super::*;

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
