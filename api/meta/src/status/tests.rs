//! Status bodies, compared with those of Kubernetes 1.35.

use serde_json::json;

use super::*;
use crate::{GroupKind, GroupResource};

fn check(status: &Status, expect: serde_json::Value) {
    let mut body = Map::from([("apiVersion", "v1"), ("kind", "Status")]);
    body.insert("metadata", Map::new());
    body.insert("status", if status.success { "Success" } else { "Failure" });
    let Value::Map(expect) = Value::from(expect) else { panic!("expectation is no object") };
    for (key, value) in expect {
        body.insert(key, value);
    }
    assert_eq!(status.to_value(), Value::Map(body));
}

fn configmaps() -> GroupResource {
    GroupResource::new("", "configmaps")
}

fn roles() -> GroupResource {
    GroupResource::new("rbac.authorization.svc.io", "roles")
}

#[test]
fn about_objects() {
    check(
        &Status::not_found(&configmaps(), "none"),
        json!({"code": 404, "reason": "NotFound", "message": "configmaps \"none\" not found",
            "details": {"kind": "configmaps", "name": "none"}}),
    );
    check(
        &Status::already_exists(&roles(), "a"),
        json!({"code": 409, "reason": "AlreadyExists", "message": "roles.rbac.authorization.svc.io \"a\" already exists",
            "details": {"group": "rbac.authorization.svc.io", "kind": "roles", "name": "a"}}),
    );
    check(
        &Status::stale(&configmaps(), "a"),
        json!({"code": 409, "reason": "Conflict", "details": {"kind": "configmaps", "name": "a"},
            "message": "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your changes to the latest version and try again"}),
    );
    check(
        &Status::deleted(&roles(), "a", "u-1"),
        json!({"details": {"group": "rbac.authorization.svc.io", "kind": "roles", "name": "a", "uid": "u-1"}}),
    );
    check(
        &Status::forbidden(
            &configmaps(),
            "",
            "User \"named\" cannot create resource \"configmaps\" in API group \"\" in the namespace \"t\"",
        ),
        json!({"code": 403, "reason": "Forbidden", "details": {"kind": "configmaps"},
            "message": "configmaps is forbidden: User \"named\" cannot create resource \"configmaps\" in API group \"\" in the namespace \"t\""}),
    );
}

#[test]
fn about_paths_and_bodies() {
    check(
        &Status::path_not_found(),
        json!({"code": 404, "reason": "NotFound", "details": {}, "message": "the server could not find the requested resource"}),
    );
    check(
        &Status::method_not_allowed(),
        json!({"code": 405, "reason": "MethodNotAllowed", "details": {}, "message": "the server does not allow this method on the requested resource"}),
    );
    check(
        &Status::verb_not_supported(&configmaps(), "watch"),
        json!({"code": 405, "reason": "MethodNotAllowed", "details": {"kind": "configmaps"},
            "message": "watch is not supported on resources of kind \"configmaps\""}),
    );
    check(
        &Status::not_acceptable(&["application/json", "application/yaml"]),
        json!({"code": 406, "reason": "NotAcceptable", "details": {},
            "message": "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml"}),
    );
    check(
        &Status::unsupported_body(&["application/json-patch+json", "application/merge-patch+json"]),
        json!({"code": 415, "reason": "UnsupportedMediaType",
            "message": "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json"}),
    );
    check(
        &Status::body_too_large(3_145_728),
        json!({"code": 413, "reason": "RequestEntityTooLarge", "message": "Request entity too large: limit is 3145728"}),
    );
    check(
        &Status::unauthorized(),
        json!({"code": 401, "reason": "Unauthorized", "message": "Unauthorized"}),
    );
}

#[test]
fn about_revisions_and_trouble() {
    check(
        &Status::too_large_resource_version(9_000_000_000_000_000_000, 288_629),
        json!({"code": 504, "reason": "Timeout", "message": "Timeout: Too large resource version: 9000000000000000000, current: 288629",
            "details": {"causes": [{"message": "Too large resource version", "reason": "ResourceVersionTooLarge"}], "retryAfterSeconds": 1}}),
    );
    check(
        &Status::list_expired(),
        json!({"code": 410, "reason": "Expired", "message": "The resourceVersion for the provided list is too old."}),
    );
    check(
        &Status::internal("oops"),
        json!({"code": 500, "reason": "InternalError", "message": "Internal error occurred: oops", "details": {"causes": [{"message": "oops"}]}}),
    );
    assert_eq!(Status::too_many_requests("slow down", 3).retry_after_seconds(), Some(3));
    assert_eq!(Status::unauthorized().retry_after_seconds(), None);
}

#[test]
fn invalid_joins_its_causes() {
    let kind = GroupKind::new("meta.svc.io", "PatchOptions");
    let dry_run = || Cause::not_supported("dryRun", vec!["Some"], &["All"]);
    check(
        &Status::invalid(&kind, "", vec![dry_run()]),
        json!({"code": 422, "reason": "Invalid",
            "message": "PatchOptions.meta.svc.io \"\" is invalid: dryRun: Unsupported value: [\"Some\"]: supported values: \"All\"",
            "details": {"group": "meta.svc.io", "kind": "PatchOptions", "causes": [
                {"field": "dryRun", "reason": "FieldValueNotSupported", "message": "Unsupported value: [\"Some\"]: supported values: \"All\""}]}}),
    );
    let path = Path::new("spec").child("items").index(2).key("a/b");
    let status =
        Status::invalid(&kind, "x", vec![Cause::required(&path, ""), dry_run(), dry_run()]);
    assert_eq!(
        status.message,
        "PatchOptions.meta.svc.io \"x\" is invalid: [spec.items[2][a/b]: Required value, dryRun: Unsupported value: [\"Some\"]: supported values: \"All\"]"
    );
    assert_eq!(status.causes().len(), 3);
}

#[test]
fn cause_texts() {
    let check = |cause: Cause, expect: &str| assert_eq!(cause.text(), expect);
    check(Cause::invalid("f", "line\nbreak", "no"), "f: Invalid value: \"line\\nbreak\": no");
    check(Cause::invalid("f", 7, "must be less"), "f: Invalid value: 7: must be less");
    check(Cause::duplicate("f", "x"), "f: Duplicate value: \"x\"");
    check(Cause::not_found("f", "x"), "f: Not found: \"x\"");
    check(
        Cause::forbidden("f", "field is immutable when `immutable` is set"),
        "f: Forbidden: field is immutable when `immutable` is set",
    );
    check(Cause::too_long("f", 128), "f: Too long: may not be more than 128 bytes");
    check(Cause::too_many("f", 17, 16), "f: Too many: 17: must have at most 16 items");
}

#[test]
fn quoting() {
    let check = |text: &str, expect: &str| assert_eq!(quoted(text), expect);
    check("plain ü ✓", "\"plain ü ✓\"");
    check("a\"b\\c", r#""a\"b\\c""#);
    check("\u{1}\u{7f}\t\u{a0}\u{200b}", r#""\x01\x7f\t\u00a0\u200b""#);
}

#[test]
fn bodies_that_are_not_read() {
    let check = |body: &str, excerpt: &str| {
        let message = format!(
            "the object provided is unrecognized (must be of type ConfigMap): why ({excerpt})"
        );
        assert_eq!(
            Status::unrecognized_body("ConfigMap", "why", body.as_bytes()),
            Status::bad_request(message)
        );
    };
    check("", "<empty>");
    check("{", "{");
    check(r#"{"metadata":{"name":"a"}} trailing"#, r#"{"metadata":{"name":"a"}} trai ..."#);
    check("[]", "5b5d");
    check("a: [1", "613a205b31");
    let kind = crate::GroupVersionKind::new("apps", "v1", "Deployment");
    let expect = "Deployment in version \"v1\" cannot be handled as a Deployment: strict decoding error: unknown field \"foo\"";
    let why = "strict decoding error: unknown field \"foo\"";
    assert_eq!(Status::unusable_body(&kind, why), Status::bad_request(expect));
}

#[test]
fn preconditions() {
    let kind = GroupKind::new("", "ConfigMap");
    check(
        &Status::version_precondition_failed(&kind, "a", "1", 68008),
        json!({"code": 409, "reason": "Conflict", "details": {"kind": "ConfigMap", "name": "a"},
            "message": "Operation cannot be fulfilled on ConfigMap \"a\": the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (68008). The object might have been modified"}),
    );
    let status = Status::uid_precondition_failed(&kind, "a", "u-1", "u-2");
    let expect = "Operation cannot be fulfilled on ConfigMap \"a\": the UID in the precondition (u-1) does not match the UID in record (u-2). The object might have been deleted and then recreated";
    assert_eq!(status.message, expect);
    check(
        &Status::unprocessable(),
        json!({"code": 422, "reason": "Invalid", "details": {}, "message": "the server rejected our request due to an error in our request"}),
    );
}

#[test]
fn very_many_causes_are_cut() {
    const MANY: usize = 100_000;
    let kind = GroupKind::new("", "ConfigMap");
    let causes = (0..MANY).map(|at| Cause::required(Path::new("f").index(at), "")).collect();
    let status = Status::invalid(&kind, "x", causes);
    let told = status.details.as_ref().map(|details| details.causes.len());
    assert_eq!(told, Some(build::MAX_CAUSES));
    assert!(
        status
            .message
            .ends_with(&format!("f[999]: Required value, and {} more]", MANY - build::MAX_CAUSES))
    );
}
