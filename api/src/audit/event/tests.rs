//! Tests of audit events as lines.

use std::sync::Arc;

use super::*;
use http::{HeaderMap, Method};
use quorate_access::authentication::{ConnectionIdentity, User};
use quorate_meta::{GroupResource, Naming};
use quorate_registry::release::Release;
use serde_json::{Value, json};

#[test]
fn a_name_that_comes_late_is_told() {
    let (names, uri) = (Naming::Svc.names(), "/api/v1/namespaces/ns/secrets");
    let phrases = Phrases::new(names);
    let check = |said: &[&str], expect: Value| {
        let info = RequestInfo::parse(names, &Method::POST, &uri.parse().unwrap());
        let (level, received) = (Level::Metadata, Time::from_ms(0));
        let (identity, headers) = (ConnectionIdentity::default(), HeaderMap::new());
        let sender = Sender::new(&identity, None, None, &headers);
        let facts = Facts { level, id: "7", uri, sender: &sender, info: &info, received };
        let mut draft = Draft::new(&phrases, &facts);
        draft.decide(&phrases, Some(true), "");
        said.iter().for_each(|name| draft.name(name));
        let mut line = Vec::new();
        draft.write(&phrases, Stage::ResponseComplete, None, &mut line);
        let line: Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(line["objectRef"], expect);
        assert_eq!(line["annotations"]["authorization.svc.io/decision"], "allow");
        assert_eq!(line["stageTimestamp"], "1970-01-01T00:00:00.000000Z");
    };
    check(&[], json!({"resource": "secrets", "namespace": "ns", "apiVersion": "v1"}));
    let named =
        || json!({"resource": "secrets", "namespace": "ns", "apiVersion": "v1", "name": "a \"b\""});
    check(&["a \"b\""], named());
    check(&["a \"b\"", "other"], named());
}

#[test]
fn a_line_is_one_event() {
    let user = User {
        extra: vec![("k".into(), vec!["v".into()])],
        ..User::new("ann \"a\"", ["dev".to_owned()])
    };
    let (user, headers) = (Arc::new(user), HeaderMap::new());
    let identity = ConnectionIdentity::default().with_peer("10.0.0.1:5000");
    let sender = Sender::new(&identity, Some(&user), None, &headers);
    let uri = "/api/v1/nodes/n?x=y";
    let info = RequestInfo::parse(Naming::Svc.names(), &Method::GET, &uri.parse().unwrap());
    let phrases = Phrases::new(Naming::Svc.names());
    let (level, received) = (Level::Request, Time::from_ms(0));
    let facts = Facts { level, id: "7", uri, sender: &sender, info: &info, received };
    let mut draft = Draft::new(&phrases, &facts);
    draft.name("no other than that of the path");
    draft.decide(&phrases, Some(false), "no");
    draft.decide(&phrases, Some(true), "\"so\"");
    draft.left_out = true;
    draft.issue(&phrases, "JTI=1");
    draft.deprecate(&phrases, Some(Release::new(1, 40)));
    draft.request = Some(Bytes::from_static(b"{\"a\":1}"));
    let mut expect = json!({
        "kind": "Event", "apiVersion": "audit.svc.io/v1", "level": "Request", "auditID": "7",
        "stage": "RequestReceived", "requestURI": uri, "verb": "get",
        "user": {"username": "ann \"a\"", "groups": ["dev", "system:authenticated"], "extra": {"k": ["v"]}},
        "sourceIPs": ["10.0.0.1"], "objectRef": {"resource": "nodes", "name": "n", "apiVersion": "v1"},
        "requestObject": {"a": 1},
        "requestReceivedTimestamp": "1970-01-01T00:00:00.000000Z", "stageTimestamp": "1970-01-01T00:00:00.000000Z",
        "annotations": {
            "authorization.svc.io/decision": "allow", "authorization.svc.io/reason": "\"so\"",
            "audit.svc.io/body-left-out": "true", "authentication.svc.io/issued-credential-id": "JTI=1",
            "svc.io/deprecated": "true", "svc.io/removed-release": "1.40"
        }
    });
    let check = |draft: &Draft, stage, now, expect: &Value| {
        let mut line = Vec::new();
        draft.write(&phrases, stage, now, &mut line);
        assert!(
            line.len() <= draft.room()
                && line.ends_with(b"}\n")
                && line.iter().filter(|byte| **byte == b'\n').count() == 1
        );
        assert_eq!(serde_json::from_slice::<Value>(&line).unwrap(), *expect);
    };
    check(&draft, Stage::RequestReceived, None, &expect);
    expect["stageTimestamp"] = "1970-01-01T00:00:00.001000Z".into();
    expect["stage"] = "ResponseComplete".into();
    for (why, status) in [
        (None, json!({"metadata": {}, "status": "Failure", "code": 400})),
        (
            Some(Box::new(Status::bad_request("no \"x\""))),
            json!({"metadata": {}, "status": "Failure", "message": "no \"x\"", "reason": "BadRequest", "code": 400}),
        ),
        (
            Some(Box::new(Status::not_found(&GroupResource::new("g", "things"), "\"a\""))),
            json!({
                "metadata": {}, "status": "Failure", "message": "things.g \"\"a\"\" not found", "reason": "NotFound",
                "details": {"name": "\"a\"", "group": "g", "kind": "things"}, "code": 400
            }),
        ),
    ] {
        draft.conclude(400, why);
        expect["responseStatus"] = status;
        check(&draft, Stage::ResponseComplete, Some(Time::from_ms(1)), &expect);
    }
}
