//! Tests of stored values: round trips, and detection of damage.

use bytes::Bytes;
use proptest::prelude::*;
use quorate_meta::{LabelSelector, Value};
use serde_json::json;

use super::*;
use crate::json;

fn sample() -> Value {
    Value::from(json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "data": {"k": "v \"quoted\" é"},
        "metadata": {
            "name": "a", "namespace": "ns", "uid": "u-1", "resourceVersion": "7", "generation": 1,
            "creationTimestamp": "2026-01-02T03:04:05Z",
            "labels": {"app": "web", "tier": ""},
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "o-1", "controller": true},
                {"apiVersion": "v1", "kind": "Secret", "name": "s", "uid": "o-2", "blockOwnerDeletion": true}
            ]
        }
    }))
}

fn stored(object: &Value) -> Bytes {
    encode(object, &[("type", "Opaque".to_owned()), ("status.phase", "é".to_owned())])
        .expect("a complete object")
}

fn with_version(mut object: Value, revision: u64) -> Value {
    object.set_at(&["metadata", "resourceVersion"], revision.to_string());
    object
}

#[test]
fn header_says_what_the_object_says() {
    let bytes = stored(&sample());
    let stored = StoredRef::parse(&bytes).expect("just encoded");
    assert_eq!((stored.name(), stored.namespace(), stored.uid()), ("a", "ns", "u-1"));
    assert_eq!(stored.deletion_timestamp(), None);
    assert_eq!(stored.labels().collect::<Vec<_>>(), [("app", "web"), ("tier", "")]);
    let fields = ["metadata.name", "metadata.namespace", "type", "status.phase", "none"]
        .map(|path| stored.field(path));
    assert_eq!(fields, [Some("a"), Some("ns"), Some("Opaque"), Some("é"), None]);
    let owners: Vec<_> = stored.owner_references().collect();
    assert_eq!(
        (owners[0].uid, owners[0].controller, owners[0].block_owner_deletion),
        ("o-1", true, false)
    );
    assert_eq!(
        (owners[1].kind, owners[1].controller, owners[1].block_owner_deletion),
        ("Secret", false, true)
    );
    assert_eq!(owners.len(), 2);
    for (selector, expect) in
        [("app=web", true), ("app!=web", false), ("!tier", false), ("", true), ("x", false)]
    {
        let selector = LabelSelector::parse(selector).expect("well-formed");
        assert_eq!(stored.matches(&selector), expect, "{selector}");
    }
}

#[test]
fn deletion_is_visible() {
    let mut object = sample();
    object.set_at(&["metadata", "deletionTimestamp"], "2026-01-02T03:04:06Z");
    let bytes = stored(&object);
    let stored = StoredRef::parse(&bytes).expect("just encoded");
    assert_eq!(stored.deletion_timestamp(), Some("2026-01-02T03:04:06Z"));
}

#[test]
fn marks() {
    let check = |mark: Option<&str>, fields: &[(&str, String)]| {
        let object = sample();
        let bytes = match mark {
            Some(mark) => encode_marked(mark, &object, fields),
            None => encode(&object, fields),
        };
        let bytes = bytes.expect("a complete object");
        let stored = StoredRef::parse(&bytes).expect("just encoded");
        assert_eq!(stored.mark(), mark);
        assert_eq!(HeaderRef::parse(&bytes).expect("just encoded").mark(), mark);
        for (name, value) in fields {
            assert_eq!(stored.field(name), Some(value.as_str()));
        }
        assert_eq!(stored.owner_references().count(), 2);
        assert_eq!(stored.to_value("v1", "ConfigMap", 7).expect("it is whole"), object);
    };
    let field = [("type", "Opaque".to_owned())];
    check(None, &[]);
    check(None, &field);
    check(Some("v1/0a"), &[]);
    check(Some("v1/0a"), &field);
}

#[test]
fn spliced_texts() {
    let object =
        Value::from(json!({"data": {"k": "v"}, "metadata": {"name": "a", "uid": "u"}, "z": 1}));
    let bytes = encode(&object, &[]).expect("a complete object");
    let stored = StoredRef::parse(&bytes).expect("just encoded");
    let text = |splice: &dyn Fn(&mut Vec<u8>)| {
        let mut target = Vec::new();
        splice(&mut target);
        String::from_utf8(target).expect("JSON is UTF-8")
    };
    assert_eq!(
        text(&|target| splice_object(target, &stored, "v1", "ConfigMap", 42)),
        r#"{"apiVersion":"v1","kind":"ConfigMap","data":{"k":"v"},"metadata":{"name":"a","resourceVersion":"42","uid":"u"},"z":1}"#
    );
    assert_eq!(
        text(&|target| splice_item(target, &stored, 42)),
        r#"{"data":{"k":"v"},"metadata":{"name":"a","resourceVersion":"42","uid":"u"},"z":1}"#
    );
    assert_eq!(
        text(&|target| splice_partial(target, &stored, "meta.svc.io/v1", 42)),
        r#"{"apiVersion":"meta.svc.io/v1","kind":"PartialObjectMetadata","metadata":{"name":"a","resourceVersion":"42","uid":"u"}}"#
    );
    assert_eq!(
        stored.json(),
        &br#"{"data":{"k":"v"},"metadata":{"name":"a","uid":"u"},"z":1}"#[..]
    );
}

#[test]
fn incomplete_objects_are_refused() {
    let check = |object: serde_json::Value, expect: EncodeError| {
        assert_eq!(encode(&Value::from(object), &[]), Err(expect))
    };
    check(json!([]), EncodeError::NoMetadata);
    check(json!({"metadata": 1}), EncodeError::NoMetadata);
    check(json!({"metadata": {"name": "a"}}), EncodeError::NoUid);
    check(json!({"metadata": {"uid": ""}}), EncodeError::NoUid);
    check(
        json!({"metadata": {"uid": "u", "name": "x".repeat(65_536)}}),
        EncodeError::TooLong("name".to_owned()),
    );
}

#[test]
fn damage_is_noticed() {
    let bytes = stored(&sample());
    let damaged = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut damaged = bytes.to_vec();
        change(&mut damaged);
        StoredRef::parse(&damaged.into()).map(|_| ()).unwrap_err().to_string()
    };
    let check = |change: &dyn Fn(&mut Vec<u8>), expect: &str| assert_eq!(damaged(change), expect);
    check(&|bytes| bytes.truncate(20), "stored value is corrupt: too short");
    check(&|bytes| bytes[0] = 2, "stored value has format version 2, this server reads version 1");
    check(&|bytes| bytes[9] = 255, "stored value is corrupt: shorter than its header says");
    check(&|bytes| bytes[24] += 1, "stored value is corrupt: lengths do not add up");
    check(&|bytes| bytes[12] ^= 1, "stored value is corrupt: no uid where the header says");
    check(&|bytes| bytes[23] = 1, "stored value is corrupt: metadata lies outside of the JSON");
}

proptest! {
    #[test]
    fn objects_come_back_from_every_splice(
        data in json::tests::any_value(),
        labels in prop::collection::btree_map("[a-zé]{1,6}", ".{0,6}", 0..4),
        revision in prop_oneof![any::<u64>(), 0u64..20, Just(999), Just(1000)],
    ) {
        let labels: quorate_meta::Map = labels.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        let mut object = sample();
        object.set_at(&["data"], data);
        object.set_at(&["metadata", "labels"], labels.clone());
        let bytes = stored(&object);
        let stored = StoredRef::parse(&bytes).expect("just encoded");
        let expect = with_version(object, revision);
        prop_assert!(stored.labels().eq(labels.iter().map(|(key, value)| (key, value.as_str().unwrap_or_default()))));
        prop_assert_eq!(&stored.to_value("v1", "ConfigMap", revision).expect("just encoded"), &expect);
        let mut whole = Vec::new();
        splice_object(&mut whole, &stored, "v1", "ConfigMap", revision);
        prop_assert_eq!(whole.len(), splice_object_len(&stored, "v1", "ConfigMap", revision));
        prop_assert_eq!(&json::parse(&whole).expect("spliced JSON").0, &expect);
        let mut item = Vec::new();
        splice_item(&mut item, &stored, revision);
        prop_assert_eq!(item.len(), splice_item_len(&stored, revision));
        let ((mut parts, after), before) = (stored.halves(), bytes.len());
        prop_assert!(bytes.as_ptr_range().contains(&parts.as_ptr()) && before > after.len(), "halves are not copied");
        let mut parts = Vec::from(std::mem::take(&mut parts));
        splice_version(&mut parts, revision);
        parts.extend_from_slice(&after);
        prop_assert_eq!(&parts, &item);
        let mut item = json::parse(&item).expect("spliced JSON").0;
        item.set_at(&["apiVersion"], "v1");
        item.set_at(&["kind"], "ConfigMap");
        prop_assert_eq!(&item, &expect);
        let mut partial = Vec::new();
        splice_partial(&mut partial, &stored, "meta.svc.io/v1", revision);
        prop_assert_eq!(partial.len(), splice_partial_len(&stored, "meta.svc.io/v1", revision));
        let partial = json::parse(&partial).expect("spliced JSON").0;
        prop_assert_eq!(partial.get("metadata"), expect.get("metadata"));
    }

    #[test]
    fn any_damage_is_an_error_or_harmless(at in 0usize..400, bits in 1u8..=255, cut in 0usize..600) {
        let mut damaged = stored(&sample()).to_vec();
        if let Some(byte) = damaged.get_mut(at) {
            *byte ^= bits;
        }
        damaged.truncate(cut);
        let damaged = Bytes::from(damaged);
        if let Ok(stored) = StoredRef::parse(&damaged) {
            let _ = (stored.name(), stored.field("type"), stored.labels().count(), stored.owner_references().count());
            let mut target = Vec::new();
            splice_object(&mut target, &stored, "v1", "ConfigMap", 1);
            splice_partial(&mut target, &stored, "v1", 1);
            let _ = stored.to_value("v1", "ConfigMap", 1);
        }
    }
}

#[test]
fn parts_are_read_alone() {
    let mut object = sample();
    let managed = json!([{"manager": "m", "fieldsV1": {"f:data": {"k:{\"a\":\"]}\"}": {}}}}]);
    object.set_at(&["metadata", "managedFields"], Value::from(managed));
    let bytes = stored(&object);
    let mut parts = json::Parts::default();
    parts.add(["metadata", "name"]);
    let found = StoredRef::parse(&bytes).expect("just encoded").parts(&parts);
    let name = object.str_at(&["metadata", "name"]).expect("it has a name");
    assert_eq!(found, Ok(Value::from(json!({"metadata": {"name": name}}))));
}
