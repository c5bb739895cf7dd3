//! Tests of charges: writes that quotas refuse, charge or do not count.

use bytes::Bytes;
use quorate_meta::{Names, Naming};
use quorate_store::{Revision, Snapshot};
use serde_json::json;

use super::*;
use crate::tests::attributes;
use quorate_kinds::builtin;
use quorate_registry::Catalogue;
use quorate_registry::write::Target;

/// A namespace with objects in it.
struct Namespace {
    catalogue: Catalogue,
    entries: Vec<(Bytes, Entry)>,
}

fn names() -> &'static Names {
    Naming::Svc.names()
}

impl Namespace {
    fn new() -> Self {
        Self { catalogue: builtin::catalogue_of(names()), entries: Vec::new() }
    }

    fn resource(&self, plural: &str) -> &Resource {
        let group = if plural == "deployments" { "apps" } else { "" };
        self.catalogue.find(group, "v1", plural).unwrap()
    }

    fn with(mut self, plural: &str, name: &str, fields: serde_json::Value) -> Self {
        let mut object = Value::from(fields);
        for (field, text) in [("name", name), ("namespace", "a"), ("uid", "u")] {
            object.set_at(&["metadata", field], text);
        }
        let value = stored_codec::encode(self.resource(plural), &object).unwrap();
        let entry = Entry { value, created: Revision::new(3), modified: Revision::new(7) };
        let key = self.resource(plural).key(Some("a"), name);
        self.entries.push((key, entry));
        self
    }

    /// What is used of which quota after a write of `new`.
    fn write(
        &self,
        plural: &str,
        part: Part,
        old: Option<&Value>,
        new: &Value,
        dry_run: bool,
    ) -> Result<String, String> {
        let snapshot = Snapshot::of(Revision::new(7), self.entries.clone());
        let view = SnapshotView::new(names(), &self.catalogue, &snapshot);
        let target = Target { resource: self.resource(plural), namespace: Some("a"), name: "new" };
        let attributes = Attributes { part: Some(part), old, dry_run, ..attributes(target) };
        let mut terms = Terms::default();
        let checked = ResourceQuota.validate(&view, &attributes, new, &mut terms);
        checked.map_err(|error| error.into_status().message)?;
        let expect: Vec<_> =
            terms.operations.iter().map(|operation| operation.key().clone()).collect();
        let conditions: Vec<_> =
            terms.conditions.iter().map(|condition| condition.key().clone()).collect();
        assert_eq!(conditions, expect);
        let charged = terms.operations.into_iter().map(|operation| {
            let Operation::Put { value, .. } = operation else { panic!("a quota is deleted") };
            let entry = Entry { value, created: Revision::new(3), modified: Revision::new(8) };
            let object = stored_codec::decode(self.resource(QUOTAS), &entry).unwrap();
            let used = object.at(&["status", "used"]).unwrap().as_map().unwrap();
            let used: Vec<_> = used
                .iter()
                .map(|(name, amount)| format!("{name}={}", amount.as_str().unwrap()))
                .collect();
            format!("{}: {}", object.str_at(&["metadata", "name"]).unwrap(), used.join(","))
        });
        Ok(charged.collect::<Vec<_>>().join("; "))
    }

    #[track_caller]
    fn check(&self, plural: &str, new: serde_json::Value, expect: Result<&str, &str>) {
        let found = self.write(plural, Part::Main, None, &new.clone().into(), false);
        assert_eq!(found.as_deref().map_err(String::as_str), expect, "{plural} {new}");
        let dry = self.write(plural, Part::Main, None, &new.into(), true);
        assert_eq!(dry.as_deref().map_err(String::as_str), expect.map(|_| ""), "a dry run");
    }

    #[track_caller]
    fn check_update(
        &self,
        plural: &str,
        part: Part,
        objects: [serde_json::Value; 2],
        expect: Result<&str, &str>,
    ) {
        let [old, new] = objects.map(Value::from);
        let found = self.write(plural, part, Some(&old), &new, false);
        assert_eq!(found.as_deref().map_err(String::as_str), expect, "{plural} {new:?}");
    }
}

fn quota(hard: serde_json::Value, used: serde_json::Value) -> serde_json::Value {
    json!({"spec": {"hard": hard}, "status": {"hard": hard, "used": used}})
}

#[test]
fn what_is_counted_is_charged_or_refused() {
    let namespace = Namespace::new()
        .with(QUOTAS, "a", quota(json!({"secrets": "2"}), json!({"secrets": "1"})))
        .with(
            QUOTAS,
            "b",
            quota(json!({"secrets": "9", "pods": "1"}), json!({"secrets": "1", "pods": "1"})),
        );
    namespace.check("secrets", json!({}), Ok("a: secrets=2; b: pods=1,secrets=2"));
    namespace.check("configmaps", json!({}), Ok(""));
    namespace.check("deployments", json!({}), Ok(""));
    let refusal = "pods \"new\" is forbidden: exceeded quota: b, requested: pods=1, used: pods=1, limited: pods=1";
    namespace.check("pods", json!({}), Err(refusal));
    namespace.check_update("secrets", Part::Main, [json!({}), json!({})], Ok(""));
    Namespace::new().check("secrets", json!({}), Ok(""));
}

#[test]
fn a_quota_without_a_status_is_counted_for() {
    let unknown = json!({"spec": {"hard": {"secrets": "3", "pods": "1"}}});
    let one = Namespace::new().with(QUOTAS, "a", unknown).with("secrets", "x", json!({}));
    one.check("secrets", json!({}), Ok("a: secrets=2"));
    let full = one.with("secrets", "y", json!({})).with("secrets", "z", json!({}));
    let refusal = "secrets \"new\" is forbidden: \
                   exceeded quota: a, requested: secrets=1, used: secrets=3, limited: secrets=3";
    full.check("secrets", json!({}), Err(refusal));
    let none = Namespace::new().with(QUOTAS, "a", json!({"spec": {"hard": {"secrets": "1"}}}));
    none.check("secrets", json!({}), Ok("a: secrets=1"));
}

#[test]
fn what_counts_is_what_is_allowed_now() {
    let raised = json!({"spec": {"hard": {"secrets": "2"}}, "status": {"hard": {"secrets": "1"}, "used": {"secrets": "1"}}});
    Namespace::new().with(QUOTAS, "a", raised).check("secrets", json!({}), Ok("a: secrets=2"));
}

#[test]
fn pods_say_what_is_counted() {
    let hard = json!({"cpu": "1", "memory": "1Gi"});
    let namespace =
        Namespace::new().with(QUOTAS, "a", quota(hard, json!({"cpu": "500m", "memory": "512Mi"})));
    let pod = |requests: serde_json::Value| json!({"spec": {"containers": [{"name": "c", "resources": {"requests": requests}}]}});
    let open = "pods \"new\" is forbidden: failed quota: a: must specify cpu for: c; memory for: c";
    namespace.check("pods", pod(json!({})), Err(open));
    namespace.check(
        "pods",
        pod(json!({"cpu": "500m", "memory": "1Mi"})),
        Ok("a: cpu=1,memory=513Mi"),
    );
    let beyond = "pods \"new\" is forbidden: exceeded quota: a, requested: cpu=600m,memory=1Gi, \
                  used: cpu=500m,memory=512Mi, limited: cpu=1,memory=1Gi";
    namespace.check("pods", pod(json!({"cpu": "600m", "memory": "1Gi"})), Err(beyond));
}

#[test]
fn quotas_of_other_scopes_do_not_matter() {
    let mut scoped = quota(json!({"pods": "1"}), json!({"pods": "1"}));
    scoped["spec"]["scopes"] = json!(["BestEffort"]);
    let namespace = Namespace::new().with(QUOTAS, "a", scoped);
    let pod = |class: &str| json!({"status": {"qosClass": class}});
    namespace.check("pods", pod("Burstable"), Ok(""));
    let refusal = "pods \"new\" is forbidden: exceeded quota: a, requested: pods=1, used: pods=1, limited: pods=1";
    namespace.check("pods", pod("BestEffort"), Err(refusal));
}

#[test]
fn updates_are_charged_for_what_they_add() {
    let hard =
        json!({"services": "1", "services.nodeports": "2", "requests.storage": "3Gi", "pods": "1"});
    let used =
        json!({"services": "1", "services.nodeports": "0", "requests.storage": "1Gi", "pods": "0"});
    let mut late = quota(json!({"pods": "1"}), json!({"pods": "0"}));
    late["spec"]["scopes"] = json!(["Terminating"]);
    let namespace =
        Namespace::new().with(QUOTAS, "a", quota(hard, used)).with(QUOTAS, "late", late);
    let service = |kind: &str, ports: usize| json!({"spec": {"type": kind, "ports": vec![json!({"port": 1}); ports]}});
    let check =
        |part: Part, old: serde_json::Value, new: serde_json::Value, expect: Result<&str, &str>| {
            namespace.check_update("services", part, [old, new], expect);
        };
    let charged = "a: pods=0,requests.storage=1Gi,services=1,services.nodeports=2";
    check(Part::Main, service("ClusterIP", 2), service("NodePort", 2), Ok(charged));
    check(Part::Main, service("NodePort", 2), service("ClusterIP", 2), Ok(""));
    check(Part::Status, service("ClusterIP", 2), service("NodePort", 2), Ok(""));
    let refusal = "services \"new\" is forbidden: exceeded quota: a, \
                   requested: services.nodeports=3, used: services.nodeports=0, limited: services.nodeports=2";
    check(Part::Main, service("ClusterIP", 3), service("NodePort", 3), Err(refusal));
    let claim = |size: &str, given: &str| {
        let spec = json!({"resources": {"requests": {"storage": size}}});
        json!({"spec": spec, "status": {"allocatedResources": {"storage": given}}})
    };
    let check =
        |part: Part, old: serde_json::Value, new: serde_json::Value, expect: Result<&str, &str>| {
            namespace.check_update("persistentvolumeclaims", part, [old, new], expect);
        };
    let charged =
        |size: &str| format!("a: pods=0,requests.storage={size},services=1,services.nodeports=0");
    check(Part::Main, claim("1Gi", "0"), claim("2Gi", "0"), Ok(charged("2Gi").as_str()));
    check(Part::Main, claim("2Gi", "0"), claim("1Gi", "0"), Ok(""));
    let refusal = "persistentvolumeclaims \"new\" is forbidden: exceeded quota: a, \
                   requested: requests.storage=3Gi, used: requests.storage=1Gi, limited: requests.storage=3Gi";
    check(Part::Main, claim("1Gi", "0"), claim("4Gi", "0"), Err(refusal));
    check(Part::Status, claim("1Gi", "0"), claim("1Gi", "5Gi"), Ok(charged("5Gi").as_str()));
    // The update moves the pod into the scope of one quota; the other has counted it already.
    let deadline = json!({"spec": {"activeDeadlineSeconds": 1}});
    namespace.check_update("pods", Part::Main, [json!({}), deadline.clone()], Ok("late: pods=1"));
    namespace.check_update("pods", Part::Main, [deadline.clone(), deadline], Ok(""));
}

#[test]
fn a_quota_is_not_charged_for_another_one_of_its_name() {
    let one = || json!({"resourcequotas": "1"});
    let namespace = Namespace::new().with(QUOTAS, "new", quota(one(), one()));
    namespace.check(QUOTAS, json!({}), Ok(""));
    namespace.check_update(QUOTAS, Part::Main, [json!({}), json!({})], Ok(""));
    let other = namespace.with(QUOTAS, "other", quota(json!({"resourcequotas": "9"}), one()));
    other.check(QUOTAS, json!({}), Ok("other: resourcequotas=2"));
}
