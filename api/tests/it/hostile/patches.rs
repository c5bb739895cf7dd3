//! Hostile patches and applies on an object that exists: long in what their merges look at most
//! often.

use http::Method;

use super::cases::{APPLY, Case, JSON_PATCH, MERGE, STRATEGIC, check, many};
use crate::harness::Server;

const CONFIG: &str = "/api/v1/namespaces/a/configmaps/c";
const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/a/deployments/d";
const SERVICE: &str = "/api/v1/namespaces/a/services/s";

/// A server with an object of each of these kinds.
async fn server() -> Server {
    let server = Server::with_namespace().await;
    server.range().await;
    let image = r#"{"name":"c","image":"i"}"#;
    let labels = r#"{"a":"b"}"#;
    let objects = [
        (CONFIG, r#"{"metadata":{"name":"c"},"data":{"k":"v"}}"#.to_owned()),
        (
            DEPLOYMENT,
            format!(
                r#"{{"metadata":{{"name":"d"}},"spec":{{"selector":{{"matchLabels":{labels}}},"template":{{"metadata":{{"labels":{labels}}},"spec":{{"containers":[{image}]}}}}}}}}"#
            ),
        ),
        (SERVICE, r#"{"metadata":{"name":"s"},"spec":{"ports":[{"port":1}]}}"#.to_owned()),
    ];
    for (path, body) in objects {
        let collection = path.rsplit_once('/').unwrap().0;
        let answer = server.send(Method::POST, collection, &[], &body).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
    }
    server
}

fn patch(
    name: &'static str,
    path: &'static str,
    media: &'static str,
    body: fn(usize) -> String,
) -> Case {
    Case { name, method: Method::PATCH, path, media, body }
}

/// An apply body of the ConfigMap.
fn config(inner: &str) -> String {
    format!(r#"{{"apiVersion":"v1","kind":"ConfigMap",{inner}}}"#)
}

/// An apply body of the Deployment, with this in its pods' specification.
fn pods(inner: &str) -> String {
    format!(
        r#"{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"d"}},"spec":{{"template":{{"spec":{{{inner}}}}}}}}}"#
    )
}

fn container(inner: &str) -> String {
    pods(&format!(r#""containers":[{{"name":"c",{inner}}}]"#))
}

#[tokio::test]
async fn applies() {
    let cases = [
        patch("apply: data", CONFIG, APPLY, |count| {
            config(&format!(
                r#""metadata":{{"name":"c"}},"data":{{{}}}"#,
                many(count, |at| format!(r#""k{at}":"v""#))
            ))
        }),
        patch("apply: finalizers", CONFIG, APPLY, |count| {
            let list = many(count, |at| format!(r#""x/{at}""#));
            config(&format!(r#""metadata":{{"name":"c","finalizers":[{list}]}}"#))
        }),
        patch("apply: owners", CONFIG, APPLY, |count| {
            let list = many(count, |at| {
                format!(r#"{{"apiVersion":"v1","kind":"K","name":"n","uid":"{at}"}}"#)
            });
            config(&format!(r#""metadata":{{"name":"c","ownerReferences":[{list}]}}"#))
        }),
        patch("apply: annotations", CONFIG, APPLY, |count| {
            let map = many(count, |at| format!(r#""a{at}":"""#));
            config(&format!(r#""metadata":{{"name":"c","annotations":{{{map}}}}}"#))
        }),
        patch("apply: env", DEPLOYMENT, APPLY, |count| {
            container(&format!(r#""env":[{}]"#, many(count, |at| format!(r#"{{"name":"e{at}"}}"#))))
        }),
        patch("apply: ports", DEPLOYMENT, APPLY, |count| {
            container(&format!(
                r#""ports":[{}]"#,
                many(count, |at| format!(r#"{{"containerPort":{at}}}"#))
            ))
        }),
        patch("apply: containers", DEPLOYMENT, APPLY, |count| {
            pods(&format!(
                r#""containers":[{}]"#,
                many(count, |at| format!(r#"{{"name":"c{at}"}}"#))
            ))
        }),
        patch("apply: volumes and mounts", DEPLOYMENT, APPLY, |count| {
            let mounts = many(count / 2, |at| format!(r#"{{"name":"v{at}","mountPath":"/{at}"}}"#));
            let volumes = many(count / 2, |at| format!(r#"{{"name":"v{at}"}}"#));
            pods(&format!(
                r#""containers":[{{"name":"c","volumeMounts":[{mounts}]}}],"volumes":[{volumes}]"#
            ))
        }),
        patch("apply: the same port again and again", SERVICE, APPLY, |count| {
            let ports = many(count, |_| r#"{"port":80}"#.to_owned());
            format!(
                r#"{{"apiVersion":"v1","kind":"Service","metadata":{{"name":"s"}},"spec":{{"ports":[{ports}]}}}}"#
            )
        }),
        patch("apply: unknown fields", CONFIG, APPLY, |count| {
            config(&format!(
                r#""metadata":{{"name":"c"}},{}"#,
                many(count, |at| format!(r#""u{at}":0"#))
            ))
        }),
    ];
    check(&server().await, &cases).await;
}

#[tokio::test]
async fn applies_of_odd_syntax() {
    let cases = [
        patch("apply: YAML with repeated keys", CONFIG, APPLY, |count| {
            let lines = "  k: v\n".repeat(count);
            format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n{lines}")
        }),
        patch("apply: YAML of which the last key is repeated", CONFIG, APPLY, |count| {
            let lines: String = (0..count).map(|at| format!("  k{at}: v\n")).collect();
            format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n{lines}  k0: v\n"
            )
        }),
        patch("apply: YAML with repeated numbers as keys", CONFIG, APPLY, |count| {
            let lines = "  1: v\n".repeat(count);
            format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n{lines}")
        }),
        patch("apply: deep", CONFIG, APPLY, |count| {
            config(&format!(
                r#""metadata":{{"name":"c"}},"data":{}{}"#,
                "[".repeat(count),
                "]".repeat(count)
            ))
        }),
    ];
    check(&server().await, &cases).await;
}

#[tokio::test]
async fn merges() {
    let cases = [
        patch("merge: data", CONFIG, MERGE, |count| {
            format!(r#"{{"data":{{{}}}}}"#, many(count, |at| format!(r#""k{at}":"v""#)))
        }),
        patch("merge: removals", CONFIG, MERGE, |count| {
            format!(r#"{{"data":{{{}}}}}"#, many(count, |at| format!(r#""k{at}":null"#)))
        }),
        patch("merge: deep", CONFIG, MERGE, |count| {
            format!("{}1{}", r#"{"a":"#.repeat(count), "}".repeat(count))
        }),
        patch("merge: unknown fields", CONFIG, MERGE, |count| {
            format!("{{{}}}", many(count, |at| format!(r#""u{at}":0"#)))
        }),
        patch(
            "strict merge: unknown fields",
            "/api/v1/namespaces/a/configmaps/c?fieldValidation=Strict",
            MERGE,
            |count| format!("{{{}}}", many(count, |at| format!(r#""u{at}":0"#))),
        ),
        patch("merge: entries of the client's", CONFIG, MERGE, |count| {
            let entries = many(count, |at| {
                format!(
                    r#"{{"manager":"m{at}","operation":"Update","apiVersion":"v{at}","fieldsType":"FieldsV1","fieldsV1":{{"f:data":{{"f:k":{{}}}}}}}}"#
                )
            });
            format!(r#"{{"data":{{"k":"w"}},"metadata":{{"managedFields":[{entries}]}}}}"#)
        }),
        patch("merge: fields of an entry of the client's", CONFIG, MERGE, |count| {
            let fields =
                many(count, |at| format!(r#""k:{{\"z\":{at},\"a\":[{at}]}}":{{"v:{at}":{{}}}}"#));
            format!(
                r#"{{"data":{{"k":"w"}},"metadata":{{"managedFields":[{{"manager":"m","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{{"f:data":{{{fields}}}}}}}]}}}}"#
            )
        }),
        patch("merge: a reset", CONFIG, MERGE, |count| {
            let data = many(count, |at| format!(r#""k{at}":"v""#));
            format!(r#"{{"data":{{{data}}},"metadata":{{"managedFields":[{{}}]}}}}"#)
        }),
    ];
    check(&server().await, &cases).await;
}

/// A strategic patch of the Deployment's pods.
fn strategic(inner: &str) -> String {
    format!(r#"{{"spec":{{"template":{{"spec":{{{inner}}}}}}}}}"#)
}

#[tokio::test]
async fn strategic_merges() {
    let cases = [
        patch("strategic: env", DEPLOYMENT, STRATEGIC, |count| {
            let env = many(count, |at| format!(r#"{{"name":"e{at}"}}"#));
            strategic(&format!(r#""containers":[{{"name":"c","env":[{env}]}}]"#))
        }),
        patch("strategic: order", DEPLOYMENT, STRATEGIC, |count| {
            let names = many(count / 2, |at| format!(r#"{{"name":"v{at}"}}"#));
            strategic(&format!(r#""$setElementOrder/volumes":[{names}],"volumes":[{names}]"#))
        }),
        patch("strategic: deletions", DEPLOYMENT, STRATEGIC, |count| {
            let gone = many(count, |at| format!(r#"{{"name":"v{at}","$patch":"delete"}}"#));
            strategic(&format!(r#""volumes":[{gone}]"#))
        }),
        patch("strategic: finalizers and their deletion", CONFIG, STRATEGIC, |count| {
            let list = many(count / 2, |at| format!(r#""x/{at}""#));
            format!(
                r#"{{"metadata":{{"$deleteFromPrimitiveList/finalizers":[{list}],"finalizers":[{list}]}}}}"#
            )
        }),
        patch("strategic: directives", CONFIG, STRATEGIC, |count| {
            let lists = many(count / 2, |at| format!(r#""$setElementOrder/l{at}":[],"l{at}":[]"#));
            format!(r#"{{"odd":{{{lists}}}}}"#)
        }),
        patch("strategic: kept keys", CONFIG, STRATEGIC, |count| {
            let names = many(count / 2, |at| format!(r#""l{at}""#));
            let keys = many(count / 2, |at| format!(r#""l{at}":0"#));
            format!(r#"{{"odd":{{"$retainKeys":[{names}],{keys}}}}}"#)
        }),
        patch("strategic: the same element again and again", DEPLOYMENT, STRATEGIC, |count| {
            let env = many(count, |_| r#"{"name":"e"}"#.to_owned());
            strategic(&format!(r#""containers":[{{"name":"c","env":[{env}]}}]"#))
        }),
        patch("strategic: a refused directive", DEPLOYMENT, STRATEGIC, |count| {
            strategic(&format!(
                r#""volumes":[{{"$patch":"odd","text":"{}"}}]"#,
                "\\u0001".repeat(count)
            ))
        }),
    ];
    check(&server().await, &cases).await;
}

#[tokio::test]
async fn copies_of_too_many_parts_are_refused() {
    let zeros = many(200_000, |_| "0".to_owned());
    let copies = |count: usize| {
        many(count, |at| format!(r#"{{"op":"copy","from":"/data/list","path":"/data/copy{at}"}}"#))
    };
    let server = server().await;
    for (count, expect) in [(0, 422), (1, 413), (9, 413)] {
        let comma = if count == 0 { "" } else { "," };
        let body = format!(
            r#"[{{"op":"add","path":"/data/list","value":[{zeros}]}}{comma}{}]"#,
            copies(count)
        );
        let answer =
            server.send(Method::PATCH, CONFIG, &[("content-type", JSON_PATCH)], &body).await;
        assert_eq!(answer.status, expect, "{count}: {}", answer.text());
    }
}

#[tokio::test]
async fn operations() {
    let cases = [
        patch("operations: at the head of a list", CONFIG, JSON_PATCH, |count| {
            let zeros = many(8 * count, |_| "0".to_owned());
            let heads =
                many(count.min(9_000), |_| r#"{"op":"add","path":"/l/0","value":0}"#.to_owned());
            format!(r#"[{{"op":"add","path":"/l","value":[{zeros}]}},{heads}]"#)
        }),
        patch("operations: copies of the whole", CONFIG, JSON_PATCH, |count| {
            format!(
                "[{}]",
                many(count.min(9_000), |at| format!(
                    r#"{{"op":"copy","from":"","path":"/c{at}"}}"#
                ))
            )
        }),
        patch("operations: before what one of them brings", CONFIG, JSON_PATCH, |count| {
            let keys = many(8 * count, |at| format!(r#""z{at:07}":0"#));
            let adds = many(count.min(9_000), |at| {
                format!(r#"{{"op":"add","path":"/data/a{at}","value":"v"}}"#)
            });
            format!(r#"[{{"op":"add","path":"/data","value":{{{keys}}}}},{adds}]"#)
        }),
        patch(
            "operations: before what one of them brings, below what is missing",
            CONFIG,
            JSON_PATCH,
            |count| {
                let keys = many(16 * count, |at| format!(r#""z{at:07}":0"#));
                let adds = many(count.min(9_000), |at| {
                    format!(r#"{{"op":"add","path":"/data/a{at}/x","value":0}}"#)
                });
                format!(r#"[{{"op":"add","path":"/data","value":{{{keys}}}}},{adds}]"#)
            },
        ),
        patch("operations: there and back", CONFIG, JSON_PATCH, |count| {
            let keys = many(count, |at| format!(r#""k{at:07}":0"#));
            let moves = many(count.min(4_000), |_| {
                r#"{"op":"move","from":"/data","path":"/d"},{"op":"move","from":"/d","path":"/data"}"#.to_owned()
            });
            format!(r#"[{{"op":"add","path":"/data","value":{{{keys}}}}},{moves}]"#)
        }),
        patch("operations: a long path", CONFIG, JSON_PATCH, |count| {
            format!(r#"[{{"op":"add","path":"{}","value":0}}]"#, "/a".repeat(count))
        }),
        patch("operations: tests", CONFIG, JSON_PATCH, |count| {
            format!(
                "[{}]",
                many(count.min(9_000), |_| {
                    r#"{"op":"test","path":"/data/k","value":"v"}"#.to_owned()
                })
            )
        }),
        patch("operations: far too many", CONFIG, JSON_PATCH, |count| {
            format!("[{}]", many(count, |_| "{}".to_owned()))
        }),
    ];
    check(&server().await, &cases).await;
}
