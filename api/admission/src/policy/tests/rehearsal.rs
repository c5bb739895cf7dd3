//! Policies rehearsed over recorded changes and objects.

use bytes::Bytes;
use quorate_registry::{OriginHead, RequestOrigin, UserInfo, WriteOrigin};
use quorate_store::Revision;

use super::*;
use crate::policy::rehearsal::{Place, Rehearsal, Step};

/// A policy against config maps of the name `x`, and its binding.
fn candidates(action: &str) -> Vec<Value> {
    let mut rule = rule("configmaps", "CREATE");
    rule["operations"] = json!(["CREATE", "UPDATE", "DELETE"]);
    let expression = "(object == null ? oldObject : object).metadata.name != 'x'";
    let policy = json!({
        "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "p"},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": expression, "message": "no x"}],
        },
    });
    let binding = json!({
        "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "b"},
        "spec": {"policyName": "p", "validationActions": [action]},
    });
    vec![policy.into(), binding.into()]
}

/// The findings of a step: action, operation, name, and whether it is a recorded write.
fn shown(step: &Step) -> Vec<(&str, &str, &str, bool)> {
    let verdicts = step.verdicts.iter();
    verdicts
        .map(|found| (found.action, found.operation, found.name.as_str(), found.revision.is_some()))
        .collect()
}

async fn changed_cluster() -> Cluster {
    let cluster = Cluster::new().await;
    cluster.put("", "configmaps", Some("n"), map("x")).await;
    cluster.put("", "configmaps", Some("n"), map("y")).await;
    let mut changed = map("x");
    changed["data"] = json!({"a": "b"});
    cluster.put("", "configmaps", Some("n"), changed).await;
    cluster
}

const FROM_THE_BEGINNING: Place = Place::Changes { after: None, since_ms: 0 };

#[tokio::test]
async fn changes_come_first_and_objects_then() {
    let cluster = changed_cluster().await;
    let key = cluster.resource("", "v1", "configmaps").key(Some("n"), "x");
    let rehearsal = Rehearsal::new(&cluster.admission, &candidates("Deny")).unwrap();
    let step = rehearsal.step(FROM_THE_BEGINNING).await.unwrap();
    assert_eq!(shown(&step), [("Deny", "CREATE", "x", true), ("Deny", "UPDATE", "x", true)]);
    assert_eq!(step.writes, 3, "the namespace is not matched");
    assert!(step.verdicts[0].message.ends_with("denied request: no x"));
    let objects = Place::Objects { after: Bytes::new() };
    assert_eq!(step.next, Some(objects.clone()));
    let step = rehearsal.step(objects).await.unwrap();
    assert_eq!(shown(&step), [("Deny", "CREATE", "x", false)]);
    assert_eq!((step.writes, step.next), (2, None));

    let operations = vec![Operation::Delete { key }];
    cluster.admission.store.txn(Txn { operations, ..Txn::default() }).await.unwrap();
    let step = rehearsal.step(FROM_THE_BEGINNING).await.unwrap();
    assert_eq!(shown(&step).last(), Some(&("Deny", "DELETE", "x", true)));
}

#[tokio::test]
async fn nothing_is_enforced() {
    let cluster = changed_cluster().await;
    let rehearsal = Rehearsal::new(&cluster.admission, &candidates("Deny")).unwrap();
    rehearsal.step(FROM_THE_BEGINNING).await.unwrap();
    assert_eq!(cluster.refusal(map("x")).await, "");
    assert_eq!(*cluster.author.notes.lock(), Notes::default());
}

#[tokio::test]
async fn actions_are_told_apart() {
    let cluster = changed_cluster().await;
    for action in ["Deny", "Warn", "Audit"] {
        let rehearsal = Rehearsal::new(&cluster.admission, &candidates(action)).unwrap();
        let step = rehearsal.step(Place::Objects { after: Bytes::new() }).await.unwrap();
        assert_eq!(shown(&step), [(action, "CREATE", "x", false)]);
    }
}

/// A mutating policy of this name and its binding; the change is for objects without a value.
fn mutating(name: &str, expression: &str) -> Vec<Value> {
    let policy = json!({
        "kind": "MutatingAdmissionPolicy", "metadata": {"name": name},
        "spec": {
            "matchConstraints": {"resourceRules": [rule("configmaps", "CREATE")]},
            "mutations": [{
                "patchType": "ApplyConfiguration",
                "applyConfiguration": {"expression": expression},
            }],
            "reinvocationPolicy": "Never",
        },
    });
    let binding = json!({
        "kind": "MutatingAdmissionPolicyBinding", "metadata": {"name": name},
        "spec": {"policyName": name},
    });
    vec![policy.into(), binding.into()]
}

#[tokio::test]
async fn changes_are_told_and_seen_by_validating_candidates() {
    let cluster = changed_cluster().await;
    let check = async |candidates: Vec<Value>, expect: &[(&str, &str, &str)]| {
        let rehearsal = Rehearsal::new(&cluster.admission, &candidates).unwrap();
        let step = rehearsal.step(Place::Objects { after: Bytes::new() }).await.unwrap();
        let found = step.verdicts.iter();
        let found = found.map(|told| (told.action, told.name.as_str(), told.message.as_str()));
        assert_eq!(found.collect::<Vec<_>>(), expect);
    };
    let label = mutating("label", r#"Object{metadata: Object.metadata{labels: {"a": "b"}}}"#);
    let told = "changed by policy 'label': /metadata/labels";
    check(label.clone(), &[("Change", "x", told), ("Change", "y", told)]).await;

    let same = mutating("same", r#"Object{data: {"a": object.?data.?a.orValue("b")}}"#);
    check(same, &[("Change", "y", "changed by policy 'same': /data")]).await;

    let wrong = mutating("wrong", r#"Object{data: {"a": object.data.b}}"#);
    let denied = "policy 'wrong' with binding 'wrong' denied request: ";
    let rehearsal = Rehearsal::new(&cluster.admission, &wrong).unwrap();
    let step = rehearsal.step(Place::Objects { after: Bytes::new() }).await.unwrap();
    assert!(step.verdicts.iter().all(|told| told.action == "Deny"));
    assert!(step.verdicts[0].message.starts_with(denied), "{}", step.verdicts[0].message);

    let mut both = label;
    both.extend(candidates("Deny"));
    let rehearsal = Rehearsal::new(&cluster.admission, &both).unwrap();
    let step = rehearsal.step(Place::Objects { after: Bytes::new() }).await.unwrap();
    let expect = [
        ("Change", "CREATE", "x", false),
        ("Deny", "CREATE", "x", false),
        ("Change", "CREATE", "y", false),
    ];
    assert_eq!(shown(&step), expect);
}

#[tokio::test]
async fn times_and_places_leave_out_what_is_before() {
    let cluster = changed_cluster().await;
    let rehearsal = Rehearsal::new(&cluster.admission, &candidates("Deny")).unwrap();
    let check = async |after: Option<u64>, since_ms: u64, expect: usize| {
        let place = Place::Changes { after: after.map(Revision::new), since_ms };
        assert_eq!(rehearsal.step(place).await.unwrap().writes, expect);
    };
    let newest = cluster.admission.store.snapshot().revision().get();
    check(None, 0, 3).await;
    check(None, u64::MAX, 0).await;
    check(Some(newest - 1), 0, 1).await;
    check(Some(newest), 0, 0).await;
}

#[tokio::test]
async fn only_policies_are_candidates() {
    let cluster = Cluster::new().await;
    let check = |candidates: Vec<Value>, expect: &str| {
        let refused = Rehearsal::new(&cluster.admission, &candidates).err().unwrap();
        assert_eq!(refused.into_status().message, expect);
    };
    let other = "only admission policies and their bindings can be rehearsed";
    check(vec![map("x").into()], other);
    check(vec![Value::Null], other);
    check(candidates("Deny").split_off(1), "there is no policy to rehearse");
    check(Vec::new(), "there is no policy to rehearse");
}

/// A change of the config map `x` with who made it.
async fn change_by(
    cluster: &Cluster,
    user: &str,
    groups: &[String],
    subresource: &str,
    text: &str,
) {
    let resource = cluster.resource("", "v1", "configmaps");
    let mut object: Value = map("x").into();
    object.set_at(&["metadata", "uid"], "u");
    object.set_at(&["data"], Value::from(json!({"a": text})));
    let key = resource.key(Some("n"), "x");
    let value = stored_codec::encode(resource, &object).unwrap();
    let user = UserInfo { name: user, uid: "", groups, extra: &[] };
    let head = OriginHead::of_request(&RequestOrigin {
        user,
        impersonator: None,
        user_agent: "",
        audit_id: "",
        verb: "update",
        subresource,
        force: false,
    });
    let origin = head.with(&WriteOrigin::default());
    let operations = vec![Operation::Put { key, value }];
    cluster.admission.store.txn(Txn { operations, origin, ..Txn::default() }).await.unwrap();
}

#[tokio::test]
async fn writes_are_rehearsed_as_those_who_made_them() {
    let cluster = Cluster::new().await;
    change_by(&cluster, "ann", &["ops".to_owned()], "", "1").await;
    change_by(&cluster, "bob", &["dev".to_owned()], "", "2").await;
    change_by(&cluster, "bob", &["dev".to_owned()], "status", "3").await;
    let check = async |resources: &str, expression: &str, expect: &[(&str, &str)]| {
        let mut all = candidates("Deny");
        let mut rule = rule(resources, "CREATE");
        rule["operations"] = json!(["CREATE", "UPDATE"]);
        let spec = &["spec", "matchConstraints", "resourceRules"];
        all[0].set_at(spec, Value::from(json!([rule])));
        let validations = json!([{"expression": expression}]);
        all[0].set_at(&["spec", "validations"], Value::from(validations));
        let rehearsal = Rehearsal::new(&cluster.admission, &all).unwrap();
        let step = rehearsal.step(FROM_THE_BEGINNING).await.unwrap();
        let found = step.verdicts.iter();
        let found: Vec<_> = found.map(|told| (told.operation, told.user.as_str())).collect();
        assert_eq!(found, expect, "{resources} {expression}");
        assert!(step.verdicts.iter().all(|told| told.time_ms.is_some()));
    };
    check("configmaps", "request.userInfo.username != 'bob'", &[("UPDATE", "bob")]).await;
    check("configmaps", "!('ops' in request.userInfo.groups)", &[("CREATE", "ann")]).await;
    check("configmaps", "oldObject == null || oldObject.data.a != '1'", &[("UPDATE", "bob")]).await;
    check("configmaps/status", "false", &[("UPDATE", "bob")]).await;
}
