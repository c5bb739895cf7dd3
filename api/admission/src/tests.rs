//! Tests of quota locks: a write that is charged waits for others, and no other write does.

use bytes::Bytes;
use quorate_env::SystemEnv;
use quorate_meta::Naming;
use quorate_store::{MemoryOptions, MemoryStore, Operation, Txn};
use serde_json::{Value as Json, json};
use tokio::time::{Duration, Instant};

use super::*;
use quorate_kinds::builtin;
use quorate_registry::write::{GivenOptions, Target};
use quorate_registry::{AdmissionOperation, Part, UserInfo, stored_codec};

/// The attributes of the creation of an object by a user.
pub(crate) fn attributes(target: Target<'_>) -> Attributes<'_> {
    Attributes {
        operation: AdmissionOperation::Create,
        target,
        subresource: "",
        part: Some(Part::Main),
        body: None,
        old: None,
        new: None,
        revision: None,
        dry_run: false,
        given: GivenOptions { field_manager: "m", field_validation: "" },
        delete_options: None,
        user: Some(UserInfo { name: "u", uid: "", groups: &[], extra: &[] }),
        author: None,
    }
}

/// Admission where the namespace `a` has the quota `q`, which allows that much and of which nothing
/// is used.
async fn with_quota(hard: Json) -> Admission {
    let names = Naming::Svc.names();
    let catalogue = CurrentCatalogue::new(builtin::catalogue_of(names));
    let store = Arc::new(MemoryStore::new(MemoryOptions::new(SystemEnv::env().clock)));
    let admission = Admission::new(names, catalogue, store);
    let none = hard.as_object().unwrap().keys().map(|name| (name.clone(), json!("0")));
    let used = Json::Object(none.collect());
    write(&admission, json!({"spec": {"hard": hard}, "status": {"hard": hard, "used": used}}))
        .await;
    admission
}

/// Writes the quota.
async fn write(admission: &Admission, fields: Json) {
    let mut object = Value::from(fields);
    for (field, text) in [("name", "q"), ("namespace", "a"), ("uid", "u")] {
        object.set_at(&["metadata", field], text);
    }
    let catalogue = admission.catalogue.load();
    let quotas = catalogue.find("", "v1", quota::QUOTAS).unwrap();
    put(admission, stored_codec::encode(quotas, &object).unwrap()).await;
}

async fn put(admission: &Admission, value: Bytes) {
    let operations = vec![Operation::Put { key: key(admission), value }];
    admission.store.txn(Txn { operations, ..Txn::default() }).await.unwrap();
}

/// The key of the quota.
fn key(admission: &Admission) -> Bytes {
    admission.catalogue.load().find("", "v1", quota::QUOTAS).unwrap().key(Some("a"), "q")
}

/// The phases that decide about a valid object.
async fn phases(admission: &Admission, attributes: &Attributes<'_>) -> Result<Terms, Error> {
    let admission: &dyn quorate_registry::Admission = admission;
    let terms = admission.validate(attributes).await?;
    if admission.is_counted(attributes) {
        Ok(terms.and(admission.charge(attributes).await?))
    } else {
        Ok(terms)
    }
}

/// Runs admission for a write; returns the terms, and how long it took.
async fn ask(
    admission: &Admission,
    plural: &str,
    old: Option<Json>,
    new: Json,
    dry_run: bool,
) -> (Result<Terms, Error>, Duration) {
    let catalogue = admission.catalogue.load();
    let resource = catalogue.find("", "v1", plural).unwrap();
    let target = Target { resource, namespace: Some("a"), name: "new" };
    let (old, new) = (old.map(Value::from), Value::from(new));
    let operation =
        if old.is_some() { AdmissionOperation::Update } else { AdmissionOperation::Create };
    let attributes =
        Attributes { operation, old: old.as_ref(), new: Some(&new), dry_run, ..attributes(target) };
    let begun = Instant::now();
    (phases(admission, &attributes).await, begun.elapsed())
}

fn service(kind: &str) -> Json {
    json!({"spec": {"type": kind, "ports": [{"port": 80}]}})
}

#[tokio::test(start_paused = true)]
async fn only_what_is_charged_has_a_lock() {
    let admission = with_quota(json!({"secrets": "1", "services.nodeports": "1"})).await;
    let check = async |plural: &str, old: Option<Json>, new: Json, dry_run: bool, expect: bool| {
        let terms = ask(&admission, plural, old, new, dry_run).await.0.unwrap();
        assert_eq!(
            (terms.quota_lock.is_some(), !terms.operations.is_empty()),
            (expect, expect),
            "{plural}"
        );
    };
    check("secrets", None, json!({}), false, true).await;
    check("secrets", None, json!({}), true, false).await;
    check("secrets", Some(json!({})), json!({}), false, false).await;
    check("configmaps", None, json!({}), false, false).await;
    check("events", None, json!({}), false, false).await;
    check("services", None, service("ClusterIP"), false, false).await;
    check("services", Some(service("ClusterIP")), service("NodePort"), false, true).await;
    check("services", Some(service("NodePort")), service("ClusterIP"), false, false).await;
}

#[tokio::test(start_paused = true)]
async fn refusals_and_what_is_not_counted_do_not_wait() {
    let admission = with_quota(json!({"secrets": "0", "services": "1"})).await;
    let held = admission.quota_locks.wait("a").await;
    assert!(held.is_some());
    let (refused, took) = ask(&admission, "secrets", None, json!({}), false).await;
    assert_eq!((refused.unwrap_err().into_status().code, took), (403, Duration::ZERO));
    let (passed, took) = ask(&admission, "configmaps", None, json!({}), false).await;
    assert!(passed.is_ok() && took.is_zero());
    // After the bounded wait a charged write continues without a lock.
    let (terms, took) = ask(&admission, "services", None, service("ClusterIP"), false).await;
    let terms = terms.unwrap();
    assert!(terms.quota_lock.is_none() && !terms.operations.is_empty());
    assert!((1..5).contains(&took.as_secs()), "{took:?}");
    drop(held);
}

#[tokio::test(start_paused = true)]
async fn who_has_waited_is_asked_about_what_is_used_by_then() {
    let admission = with_quota(json!({"secrets": "2"})).await;
    let first = ask(&admission, "secrets", None, json!({}), false).await.0.unwrap();
    let charged = async {
        let charge = first.operations.iter().find(|one| *one.key() == key(&admission));
        let Some(Operation::Put { value, .. }) = charge else { panic!("nothing is charged") };
        put(&admission, value.clone()).await;
        drop(first);
    };
    let ((second, _), ()) =
        tokio::join!(ask(&admission, "secrets", None, json!({}), false), charged);
    let second = second.unwrap();
    assert!(second.quota_lock.is_some() && second.hold_in(&admission.store.snapshot()));
    admission.store.txn(Txn { operations: second.operations, ..Txn::default() }).await.unwrap();
    let refused = ask(&admission, "secrets", None, json!({}), false).await.0.unwrap_err();
    assert!(refused.to_string().contains("used: secrets=2"), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn the_servers_own_writes_are_let_through_unseen() {
    let admission = with_quota(json!({"secrets": "0"})).await;
    let catalogue = admission.catalogue.load();
    let target = |plural: &str| {
        let resource = catalogue.find("", "v1", plural).unwrap();
        Target { resource, namespace: Some("a"), name: "new" }
    };
    let (pod, secret) = (json!({"spec": {"priorityClassName": "absent"}}), Value::from(json!({})));
    let check = async |user: Option<UserInfo<'_>>, expect: Option<u16>| {
        let mut object = Value::from(pod.clone());
        let attributes = Attributes { user, ..attributes(target("pods")) };
        let mutated =
            quorate_registry::Admission::mutate(&admission, &attributes, &mut object).await;
        let attributes = Attributes { target: target("secrets"), new: Some(&secret), ..attributes };
        let charged = phases(&admission, &attributes).await;
        let code = |error: Error| error.into_status().code;
        assert_eq!([mutated.err().map(code), charged.err().map(code)], [expect; 2]);
    };
    check(attributes(target("pods")).user, Some(403)).await;
    check(None, None).await;
}
