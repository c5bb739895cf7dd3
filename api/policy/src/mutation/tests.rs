//! Mutating policies: which expressions compile, and what they make of objects.

use std::sync::{Arc, LazyLock};

use quorate_cel::library::authorizer::{Answers, Authorizer, Check, Decision, ResourceTarget};
use quorate_meta::Naming;
use quorate_schema::Graph;
use serde_json::{Value as Json, json};

use super::*;

fn environments() -> Environments {
    Environments::new(Naming::Svc.names())
}

fn applied(expression: &str) -> Json {
    json!({"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}})
}

fn patched(expression: &str) -> Json {
    json!({"patchType": "JSONPatch", "jsonPatch": {"expression": expression}})
}

/// What is wrong with a policy: the path of each expression, and what is said of it.
#[track_caller]
fn check_problems(spec: Json, expect: &[(&str, &str)]) {
    let (_, problems) = MutatingPolicy::compile(&environments(), &spec.into(), None);
    let found: Vec<(&str, &str)> = problems
        .iter()
        .map(|problem| (problem.path.as_str(), problem.text.lines().next().unwrap_or_default()))
        .collect();
    assert_eq!(found, expect);
}

#[test]
fn expressions_have_the_type_of_their_patch() {
    let check = |mutation: Json, expect: &[(&str, &str)]| {
        check_problems(json!({"mutations": [mutation]}), expect);
    };
    let (apply, patch) = (
        "spec.mutations[0].applyConfiguration.expression",
        "spec.mutations[0].jsonPatch.expression",
    );
    check(applied("Object{spec: Object.spec{replicas: 1}}"), &[]);
    check(applied("has(object.spec) ? Object{} : Object{spec: Object.spec{}}"), &[]);
    check(applied("1"), &[(apply, "must evaluate to Object but got int")]);
    check(applied("Object.spec{}"), &[(apply, "must evaluate to Object but got Object.spec")]);
    check(applied("{'spec': 1}"), &[(apply, "must evaluate to Object but got map(string, int)")]);
    check(
        applied("Thing{}"),
        &[(
            apply,
            "compilation failed: ERROR: <input>:1:6: undeclared reference to 'Thing' (in container '')",
        )],
    );
    check(patched("[JSONPatch{op: 'remove', path: '/a'}]"), &[]);
    check(
        patched("JSONPatch{op: 'remove', path: '/a'}"),
        &[(patch, "must evaluate to list(JSONPatch) but got JSONPatch")],
    );
    check(patched("[1]"), &[(patch, "must evaluate to list(JSONPatch) but got list(int)")]);
    check(
        patched("[JSONPatch{op: 1}]"),
        &[(
            patch,
            "compilation failed: ERROR: <input>:1:14: expected type of field 'op' is 'string' but provided type is 'int'",
        )],
    );
}

#[test]
fn only_mutations_build_objects_and_only_with_params_they_read_them() {
    let params = json!({"mutations": [applied("Object{spec: Object.spec{x: params.x}}")]});
    let undeclared = "compilation failed: ERROR: <input>:1:29: undeclared reference to 'params' (in container '')";
    check_problems(
        params.clone(),
        &[("spec.mutations[0].applyConfiguration.expression", undeclared)],
    );
    let mut with_kind = params;
    with_kind["paramKind"] = json!({"apiVersion": "v1", "kind": "ConfigMap"});
    check_problems(with_kind, &[]);
    let spec = json!({
        "matchConditions": [{"name": "c", "expression": "Object{} == Object{}"}],
        "variables": [{"name": "v", "expression": "[JSONPatch{}]"}],
        "mutations": [applied("Object{}"), patched("[JSONPatch{path: authorizer.path('/a').check('get').reason()}]")],
    });
    check_problems(
        spec,
        &[
            (
                "spec.matchConditions[0].expression",
                "compilation failed: ERROR: <input>:1:7: undeclared reference to 'Object' (in container '')",
            ),
            (
                "spec.variables[0].expression",
                "compilation failed: ERROR: <input>:1:11: undeclared reference to 'JSONPatch' (in container '')",
            ),
        ],
    );
}

/// Answers no question.
#[derive(Debug)]
struct Silent;

impl Authorizer for Silent {
    fn decide(&self, _: &Check) -> Option<Decision> {
        None
    }
}

/// What a mutation makes of an object of a type, or why nothing.
fn mutated(ty: &str, spec: Json, object: Json) -> Result<Json, String> {
    static GRAPH: LazyLock<Graph> = LazyLock::new(|| Graph::builtin(Naming::Svc.names()));
    let environments = environments();
    let (policy, problems) = MutatingPolicy::compile(&environments, &spec.into(), None);
    assert_eq!(problems, []);
    let mut object: Value = object.into();
    let ty = GRAPH.type_named(ty).expect("a known type").id;
    let (answers, target) = (Arc::new(Answers::of(Silent)), ResourceTarget::default());
    for place in 0..policy.mutations() {
        let inputs = Inputs {
            object: &object,
            old_object: &Value::Null,
            request: &Value::Null,
            namespace: &Value::Null,
            params: &Value::Null,
            answers: &answers,
            request_resource: &target,
        };
        let change = policy.change(place, &environments, &inputs).expect("nothing is asked")?;
        let Change::Apply(fields) = change else { panic!("{change:?}") };
        object = apply_configuration(&GRAPH, ty, &object, fields)?;
    }
    Ok(serde_json::to_value(&object).expect("a value is JSON"))
}

#[track_caller]
fn check_applied(expression: &str, object: Json, expect: Result<Json, &str>) {
    let spec = json!({"mutations": [applied(expression)]});
    let found = mutated("core/v1.Pod", spec, object);
    assert_eq!(
        found.as_ref().map_err(String::as_str),
        expect.as_ref().map_err(|text| *text),
        "{expression}"
    );
}

fn pod() -> Json {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "a", "labels": {"x": "1"}, "managedFields": [{"manager": "m"}]},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": {}}]}, "status": {},
    })
}

#[test]
fn fields_are_applied_by_the_merge_markers_of_the_type() {
    let (check, pod) = (check_applied, pod());
    let with = |path: &str, value: Json| {
        let mut pod = pod.clone();
        *pod.pointer_mut(path).unwrap() = value;
        Ok(pod)
    };
    check("Object{}", pod.clone(), Ok(pod.clone()));
    check(
        "Object{metadata: Object.metadata{labels: {'y': '2'}}}",
        pod.clone(),
        with("/metadata/labels", json!({"x": "1", "y": "2"})),
    );
    check(
        "Object{spec: Object.spec{containers: object.spec.containers.map(c, Object.spec.containers{name: c.name, env: \
         [Object.spec.containers.env{name: 'E', value: 'v'}]}) + [Object.spec.containers{name: 'd', image: 'j'}]}}",
        pod.clone(),
        with(
            "/spec/containers",
            json!([
                {"name": "c", "image": "i", "env": [{"name": "E", "value": "v"}], "resources": {}},
                {"name": "d", "image": "j", "resources": {}},
            ]),
        ),
    );
    check("Object{?spec: optional.none()}", pod.clone(), Ok(pod.clone()));
    let atomic = "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ";
    check(
        "Object{spec: Object.spec{nodeSelector: {'a': 'b'}, containers: [Object.spec.containers{name: 'c', command: ['x']}]}}",
        pod.clone(),
        Err(&format!("{atomic}.spec.containers[0].command, .spec.nodeSelector")),
    );
    check(
        "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'x'}, Object.spec.containers{name: 'x'}]}}",
        pod.clone(),
        Err(
            "error applying patch: failed to convert patch object to typed object: .spec.containers: duplicate entries for key [name=\"x\"]",
        ),
    );
    check(
        "Object{spec: Object.spec{nothing: 1}}",
        pod.clone(),
        Err(
            "error applying patch: failed to convert patch object to typed object: .spec.nothing: field not declared in schema",
        ),
    );
    check(
        "Object{spec: Object.metadata{}}",
        pod.clone(),
        Err(
            "type mismatch: unexpected type name \"Object.metadata\", expected \"Object.spec\", which matches field name path from root Object type",
        ),
    );
    check(
        "Object{spec: Object.spec{hostname: object.data.x}}",
        pod.clone(),
        Err(
            "expression 'Object{spec: Object.spec{hostname: object.data.x}}' resulted in error: no such key: data",
        ),
    );
}

#[test]
fn a_mutation_sees_the_one_before() {
    let spec = json!({
        "variables": [{"name": "count", "expression": "has(object.data) ? object.data.size() : 0"}],
        "mutations": [
            applied("Object{data: {'a': string(variables.count)}}"),
            applied("Object{data: {'b': string(variables.count)}}"),
        ],
    });
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    let expect = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "0", "b": "1"}});
    assert_eq!(mutated("core/v1.ConfigMap", spec, object), Ok(expect));
}

#[test]
fn each_mutation_has_a_budget_of_its_own() {
    let busy = "lists.range(250).all(a, lists.range(250).all(b, a + b >= 0))";
    let spec = |count: usize| {
        let list: Vec<String> = (0..count).map(|_| busy.to_owned()).collect();
        let variables: Vec<Json> = list
            .iter()
            .enumerate()
            .map(|(at, text)| json!({"name": format!("v{at}"), "expression": text}))
            .collect();
        let all: Vec<String> = (0..count).map(|at| format!("variables.v{at}")).collect();
        let text = format!("{} ? Object{{}} : Object{{}}", all.join(" && "));
        json!({"variables": variables, "mutations": [applied(&text), applied(&text)]})
    };
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    assert_eq!(mutated("core/v1.ConfigMap", spec(8), object.clone()), Ok(object.clone()));
    assert_eq!(mutated("core/v1.ConfigMap", spec(24), object), Err(OUT_OF_BUDGET.to_owned()));
}
