//! Types, unknown fields and the canonical form, on real types.

use super::*;
use crate::testing::{graph, json, text, ty};

#[track_caller]
fn check_refused(name: &str, body: &str, expect: &str) {
    let graph = graph();
    let error =
        decode(&graph, ty(&graph, name), &mut json(body)).err().map(|error| error.to_string());
    assert_eq!(error.as_deref(), Some(expect), "{body}");
}

#[test]
fn wrong_types_are_named() {
    let check = check_refused;
    let cm = "core/v1.ConfigMap";
    let unmarshal = "json: cannot unmarshal";
    check(
        cm,
        r#"{"data":{"k":1}}"#,
        &format!("{unmarshal} number into Go struct field ConfigMap.data of type string"),
    );
    check(
        cm,
        r#"{"data":"x"}"#,
        &format!(
            "{unmarshal} string into Go struct field ConfigMap.data of type map[string]string"
        ),
    );
    check(
        cm,
        r#"{"data":["x"]}"#,
        &format!("{unmarshal} array into Go struct field ConfigMap.data of type map[string]string"),
    );
    check(
        cm,
        r#"{"metadata":"x"}"#,
        &format!(
            "{unmarshal} string into Go struct field ConfigMap.metadata of type v1.ObjectMeta"
        ),
    );
    check(
        cm,
        r#"{"metadata":{"name":5}}"#,
        &format!("{unmarshal} number into Go struct field ObjectMeta.metadata.name of type string"),
    );
    check(
        cm,
        r#"{"metadata":{"labels":{"x":true}}}"#,
        &format!("{unmarshal} bool into Go struct field ObjectMeta.metadata.labels of type string"),
    );
    check(
        cm,
        r#"{"immutable":"yes"}"#,
        &format!("{unmarshal} string into Go struct field ConfigMap.immutable of type bool"),
    );
    check(cm, r#"{"binaryData":{"k":"not base64!"}}"#, "illegal base64 data at input byte 3");
    check(cm, r#"{"binaryData":{"k":"YWI"}}"#, "illegal base64 data at input byte 0");
    let time = r#"parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006""#;
    check(cm, r#"{"metadata":{"creationTimestamp":"yesterday"}}"#, time);
    let pod = "core/v1.PodSpec";
    check(
        pod,
        r#"{"containers":[{"ports":[{"containerPort":1.5}]}]}"#,
        &format!(
            "{unmarshal} number 1.5 into Go struct field ContainerPort.containers.ports.containerPort of type int32"
        ),
    );
    check(
        pod,
        r#"{"priority":3000000000}"#,
        &format!(
            "{unmarshal} number 3000000000 into Go struct field PodSpec.priority of type int32"
        ),
    );
    check(cm, "[]", &format!("{unmarshal} array into Go value of type v1.ConfigMap"));
}

#[test]
fn quantities_that_are_none() {
    let check = |text: &str, expect: &str| {
        let body = format!(r#"{{"overhead":{{"cpu":"{text}"}}}}"#);
        check_refused("core/v1.PodSpec", &body, expect);
    };
    for text in ["lots", "128MB", "1 Mi", "5-3x"] {
        check(text, scalar::BAD_QUANTITY);
    }
    for text in ["1mm", "1MiK", "1n5", "1e+"] {
        check(text, "unable to parse quantity's suffix");
    }
}

#[test]
fn unknown_fields_are_listed_and_dropped() {
    let graph = graph();
    let check = |name: &str, body: &str, unknown: &[&str], left: &str| {
        let mut value = json(body);
        assert_eq!(
            unknown_fields(&graph, ty(&graph, name), &mut value.clone(), false).paths,
            unknown
        );
        assert_eq!(unknown_fields(&graph, ty(&graph, name), &mut value, true).paths, unknown);
        assert_eq!(text(&value), left);
    };
    check(
        "core/v1.ConfigMap",
        r#"{"Data":{},"foo":1,"metadata":{"bogus":1,"name":"a"}}"#,
        &["Data", "foo", "metadata.bogus"],
        r#"{"metadata":{"name":"a"}}"#,
    );
    check(
        "core/v1.PodSpec",
        r#"{"containers":[{"name":"c"},{"env":[{"name":"X","valu":"1"}],"imagePullPolice":"x"}]}"#,
        &["containers[1].env[0].valu", "containers[1].imagePullPolice"],
        r#"{"containers":[{"name":"c"},{"env":[{"name":"X"}]}]}"#,
    );
    check(
        "apiextensions/v1.JSONSchemaProps",
        r#"{"items":{"typ":"x"},"default":{"free":1},"typ":"x"}"#,
        &["typ"],
        r#"{"default":{"free":1},"items":{}}"#,
    );
}

#[test]
fn canonical_form() {
    let graph = graph();
    let check = |name: &str, body: &str, expect: &str| {
        let mut value = json(body);
        decode(&graph, ty(&graph, name), &mut value).expect("types fit");
        assert_eq!(text(&value), expect);
        let again = value.clone();
        canonicalize(&graph, ty(&graph, name), &mut value);
        assert_eq!(value, again, "a fixed point");
    };
    check(
        "core/v1.ConfigMap",
        r#"{"data":{},"immutable":false,"metadata":{"labels":{},"name":"","finalizers":null}}"#,
        r#"{"immutable":false,"metadata":{}}"#,
    );
    check(
        "core/v1.ConfigMap",
        r#"{"data":{"k":null},"binaryData":{"b":"YW\nJj"}}"#,
        r#"{"binaryData":{"b":"YWJj"},"data":{"k":""},"metadata":{}}"#,
    );
    check("core/v1.Namespace", "{}", r#"{"metadata":{},"spec":{},"status":{}}"#);
    check(
        "core/v1.Event",
        r#"{"firstTimestamp":"2026-01-02T03:04:05+02:00","eventTime":"2026-01-02T03:04:05.5Z"}"#,
        r#"{"eventTime":"2026-01-02T03:04:05.500000Z","firstTimestamp":"2026-01-02T01:04:05Z","involvedObject":{},"lastTimestamp":null,"metadata":{},"reportingComponent":"","reportingInstance":"","source":{}}"#,
    );
}

#[test]
fn quantities_and_times_are_read_strictly() {
    let check =
        |text: &str, good: bool| assert_eq!(scalar::check_quantity(text).is_ok(), good, "{text}");
    for (text, good) in [
        ("1", true),
        ("-1.5Gi", true),
        ("1e3", true),
        ("100m", true),
        ("", false),
        ("1.2.3", false),
        ("Gi", false),
        ("1gi", false),
    ] {
        check(text, good);
    }
    assert_eq!(
        scalar::check_time("2026-01-02 03:04:05Z", scalar::SECONDS).err().as_deref(),
        Some(
            r#"parsing time "2026-01-02 03:04:05Z" as "2006-01-02T15:04:05Z07:00": cannot parse " 03:04:05Z" as "T""#
        )
    );
}

#[test]
fn refusals_name_kind_and_version() {
    let graph = graph();
    let error = check_types(&graph, ty(&graph, "apps/v1.Deployment"), &json(r#"{"spec":1}"#))
        .expect_err("a wrong type");
    let expect = "Deployment in version \"v1\" cannot be handled as a Deployment: \
                  json: cannot unmarshal number into Go struct field Deployment.spec of type v1.DeploymentSpec";
    assert_eq!(error.for_kind("Deployment", "apps/v1"), expect);
}
