//! Mutating policies: what they make of objects, in which order, and how they refuse.

use quorate_schema::Graph;

use super::*;

/// A cluster that serves mutating policies.
async fn cluster() -> Cluster {
    let graph = Arc::new(Graph::builtin(Naming::Svc.names()));
    let gates = "MutatingAdmissionPolicy=true".parse().unwrap();
    let config = "admissionregistration.svc.io/v1beta1=true".parse().unwrap();
    Cluster::serving(builtin::catalogue_with(&graph, &gates, &config)).await
}

impl Cluster {
    async fn put_mutating(&self, plural: &str, name: &str, spec: Json) {
        let resource = self.resource("admissionregistration", "v1beta1", plural);
        let object = json!({"metadata": {"name": name}, "spec": spec});
        self.put_as(resource, None, object).await;
    }

    /// A mutating policy for config maps with these further fields, and a binding of its name.
    async fn mutating(&self, name: &str, spec: Json) {
        let mut all = json!({
            "matchConstraints": {"resourceRules": [rule("configmaps", "CREATE")]},
            "reinvocationPolicy": "Never",
        });
        for (field, value) in spec.as_object().unwrap() {
            all[field] = value.clone();
        }
        self.put_mutating(index::MUTATING_POLICIES, name, all).await;
        self.put_mutating(index::MUTATING_BINDINGS, name, json!({"policyName": name})).await;
    }

    /// What becomes of a config map: the object, or the refusal.
    async fn mutated(&self, object: Json) -> Result<Json, Box<Status>> {
        let mut object: Value = object.into();
        let name = object.str_at(&["metadata", "name"]).unwrap().to_owned();
        let resource = self.resource("", "v1", "configmaps");
        let target = Target { resource, namespace: Some("n"), name: &name };
        let attributes = Attributes {
            user: Some(self.author.user()),
            author: Some(&self.author),
            ..attributes(target)
        };
        let admission: &dyn quorate_registry::Admission = &self.admission;
        match admission.mutate(&attributes, &mut object).await {
            Ok(()) => Ok(serde_json::to_value(&object).unwrap()),
            Err(error) => Err(Box::new(error.into_status())),
        }
    }

    /// The data of a config map afterwards; the message of the refusal.
    async fn data(&self, name: &str) -> Result<Json, String> {
        let mutated = self.mutated(map(name)).await.map_err(|status| status.message)?;
        Ok(mutated.get("data").cloned().unwrap_or_default())
    }
}

fn apply(expression: &str) -> Json {
    json!({"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}})
}

fn patch(expression: &str) -> Json {
    json!({"patchType": "JSONPatch", "jsonPatch": {"expression": expression}})
}

#[tokio::test]
async fn policies_change_objects_in_the_order_of_their_names() {
    let cluster = cluster().await;
    let count = "string(has(object.data) ? object.data.size() : 0)";
    for name in ["c", "a", "b"] {
        let expression = format!("Object{{data: {{'{name}': {count}}}}}");
        cluster.mutating(name, json!({"mutations": [apply(&expression)]})).await;
    }
    assert_eq!(cluster.data("x").await, Ok(json!({"a": "0", "b": "1", "c": "2"})));
}

#[tokio::test]
async fn patches_are_carried_out_or_refused() {
    let check = async |expression: &str, expect: Result<Json, &str>| {
        let cluster = cluster().await;
        cluster.mutating("p", json!({"mutations": [patch(expression)]})).await;
        let found = cluster.data("x").await;
        assert_eq!(
            found.as_ref().map_err(String::as_str),
            expect.as_ref().map_err(|text| *text),
            "{expression}"
        );
    };
    let add = "JSONPatch{op: 'add', path: '/data', value: {'a/b': '1'}}";
    check(&format!("[{add}]"), Ok(json!({"a/b": "1"}))).await;
    check(
        &format!("[{add}, JSONPatch{{op: 'replace', path: '/data/' + jsonpatch.escapeKey('a/b'), value: '2'}}]"),
        Ok(json!({"a/b": "2"})),
    )
    .await;
    check(
        &format!("[{add}, JSONPatch{{op: 'move', from: '/data/a~1b', path: '/data/c'}}]"),
        Ok(json!({"c": "1"})),
    )
    .await;
    check(
        &format!("[JSONPatch{{op: 'test', path: '/kind', value: 'Pod'}}, {add}]"),
        Ok(Json::Null),
    )
    .await;
    check("true ? [] : [JSONPatch{op: 'remove', path: '/data'}]", Ok(Json::Null)).await;
    let told = |why: &str| format!("policy 'p' with binding 'p' denied request: JSON Patch: {why}");
    let missing = |op: &str, path: &str| {
        format!("{op} operation does not apply: doc is missing path: {path}: missing value")
    };
    let refusals = [
        ("remove", "/data/x", missing("remove", "/data/x")),
        ("replace", "/data", missing("replace", "/data")),
        ("jump", "/data", "operation 0 is not valid".to_owned()),
    ];
    for (op, path, why) in refusals {
        let expression = format!("[JSONPatch{{op: '{op}', path: '{path}', value: 1}}]");
        check(&expression, Err(&told(&why))).await;
    }
    check(
        "[JSONPatch{op: 'add', path: '/nothing', value: 1}]",
        Err("Internal error occurred: strict decoding error: unknown field \"nothing\""),
    )
    .await;
}

#[tokio::test]
async fn errors_are_told_as_the_failure_policy_has_it() {
    let cluster = cluster().await;
    let fails = "Object{data: {'a': object.data.x}}";
    let spec = |failure: &str| json!({"failurePolicy": failure, "mutations": [apply(fails), apply("Object{data: {'b': '1'}}")]});
    cluster.mutating("p", spec("Ignore")).await;
    assert_eq!(cluster.data("x").await, Ok(json!({"b": "1"})), "the others still change it");
    cluster.mutating("p", spec("Fail")).await;
    let status = cluster.mutated(map("x")).await.unwrap_err();
    let told = format!(
        "policy 'p' with binding 'p' denied request: expression '{fails}' resulted in error: no such key: data"
    );
    let expect = json!({
        "apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure",
        "code": 403, "reason": "Invalid", "message": told,
        "details": {"name": "x", "kind": "configmaps", "causes": [{"message": told}]},
    });
    assert_eq!(status.to_value(), expect.into());
}

#[tokio::test]
async fn conditions_params_and_what_is_misconfigured() {
    let cluster = cluster().await;
    let named = json!([{"name": "c", "expression": "object.metadata.name == 'x'"}]);
    let kind = json!({"apiVersion": "v1", "kind": "ConfigMap"});
    let spec = json!({
        "matchConditions": named, "paramKind": kind,
        "mutations": [apply("Object{data: {params.data.key: '1'}}")],
    });
    cluster.mutating("p", spec).await;
    let reference = json!({"name": "settings", "parameterNotFoundAction": "Deny"});
    let binding = json!({"policyName": "p", "paramRef": reference});
    cluster.put_mutating(index::MUTATING_BINDINGS, "p", binding).await;
    let status = cluster.mutated(map("x")).await.unwrap_err();
    assert_eq!((status.code, status.reason.as_str()), (403, "Forbidden"));
    assert_eq!(
        status.message,
        "policy 'p' with binding 'p' denied request: failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
    );
    let mut settings = map("settings");
    settings["data"] = json!({"key": "k"});
    cluster.put("", "configmaps", Some("n"), settings).await;
    assert_eq!(cluster.data("x").await, Ok(json!({"k": "1"})));
    assert_eq!(cluster.data("y").await, Ok(Json::Null));
}

#[tokio::test]
async fn a_policy_is_asked_again_only_where_it_says_so() {
    let check = async |policy: &str, expect: Json| {
        let cluster = cluster().await;
        let grow = "Object{data: {'a': (has(object.data) && 'a' in object.data ? object.data.a : '') + 'x'}}";
        let first = json!({"reinvocationPolicy": policy, "mutations": [apply(grow)]});
        cluster.mutating("a", first).await;
        cluster.mutating("b", json!({"mutations": [apply("Object{data: {'b': '1'}}")]})).await;
        assert_eq!(cluster.data("x").await, Ok(expect), "{policy}");
    };
    check("Never", json!({"a": "x", "b": "1"})).await;
    check("IfNeeded", json!({"a": "xx", "b": "1"})).await;
}

#[tokio::test]
async fn an_object_stays_the_one_that_it_is() {
    let cluster = cluster().await;
    cluster.mutating("p", json!({"mutations": [patch("[JSONPatch{op: 'replace', path: '/metadata/name', value: 'b'}]")]})).await;
    let status = cluster.mutated(map("a")).await.unwrap_err();
    assert_eq!((status.code, status.reason.as_str()), (422, "Invalid"));
}

#[tokio::test]
async fn an_equivalent_version_is_changed_in_the_form_that_is_matched() {
    let cluster = cluster().await;
    let v1 = json!({"apiGroups": ["autoscaling"], "apiVersions": ["v1"],
        "resources": ["horizontalpodautoscalers"], "operations": ["CREATE"]});
    cluster
        .mutating(
            "p",
            json!({
                "matchConstraints": {"resourceRules": [v1], "matchPolicy": "Equivalent"},
                "mutations": [apply("Object{spec: Object.spec{targetCPUUtilizationPercentage: 70}}")],
            }),
        )
        .await;
    let resource = cluster.resource("autoscaling", "v2", "horizontalpodautoscalers");
    let mut object: Value = json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "h", "namespace": "n"}, "spec": {"maxReplicas": 3},
    })
    .into();
    let target = Target { resource, namespace: Some("n"), name: "h" };
    let admission: &dyn quorate_registry::Admission = &cluster.admission;
    admission.mutate(&attributes(target), &mut object).await.unwrap();
    let metric = object.at(&["spec", "metrics"]).and_then(Value::as_list).unwrap()[0].clone();
    let expect = json!({"type": "Resource", "resource": {
        "name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70},
    }});
    assert_eq!(metric, expect.into());
    assert_eq!(object.str_at(&["apiVersion"]), Some("autoscaling/v2"));
}

#[tokio::test]
async fn without_the_gate_nothing_is_changed() {
    let cluster = Cluster::new().await;
    let object = json!({"metadata": {"name": "p"}, "spec": {
        "matchConstraints": {"resourceRules": [rule("configmaps", "CREATE")]},
        "mutations": [apply("Object{data: {'a': '1'}}")],
    }});
    let group = Naming::Svc.names().group("admissionregistration");
    let find = |plural| cluster.catalogue.find_builtin(&group, "v1beta1", plural).unwrap();
    cluster.put_as(find(index::MUTATING_POLICIES), None, object).await;
    let binding = json!({"metadata": {"name": "p"}, "spec": {"policyName": "p"}});
    cluster.put_as(find(index::MUTATING_BINDINGS), None, binding).await;
    assert_eq!(cluster.data("x").await, Ok(Json::Null));
}
