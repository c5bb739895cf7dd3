//! Hostile objects in which two long parts meet: maps of which one fills in the other, and fields
//! that are there twice.

use http::Method;

use super::cases::{Case, check, many};
use crate::harness::Server;

const CONFIGS: &str = "/api/v1/namespaces/a/configmaps";
const PODS: &str = "/api/v1/namespaces/a/pods";
const RANGES: &str = "/api/v1/namespaces/a/limitranges";

fn create(name: &'static str, path: &'static str, body: fn(usize) -> String) -> Case {
    Case { name, method: Method::POST, path, media: "application/json", body }
}

/// A map of amounts, the names of which begin with `first`.
fn amounts(first: &str, count: usize) -> String {
    format!("{{{}}}", many(count, |at| format!(r#""{first}{at:07}":"1""#)))
}

/// A pod with these resources, and these of its one container.
fn pod(whole: &str, container: &str) -> String {
    format!(
        r#"{{"metadata":{{"name":"p"}},"spec":{{"resources":{whole},"containers":[{{"name":"c","image":"i","resources":{container}}}]}}}}"#
    )
}

fn range(item: &str) -> String {
    format!(r#"{{"metadata":{{"name":"r"}},"spec":{{"limits":[{{"type":"Container",{item}}}]}}}}"#)
}

#[tokio::test]
async fn two_long_maps() {
    let cases = [
        create("pod: requests and limits", PODS, |count| {
            let (requests, limits) = (amounts("z", 2 * count), amounts("a", 2 * count));
            pod("{}", &format!(r#"{{"requests":{requests},"limits":{limits}}}"#))
        }),
        create("pod: its limits and its container's", PODS, |count| {
            let limits = |first: &str| format!(r#"{{"limits":{}}}"#, amounts(first, 2 * count));
            pod(&limits("z"), &limits("hugepages-"))
        }),
        create("pod: its requests and its limits", PODS, |count| {
            let (requests, limits) = (amounts("z", 2 * count), amounts("hugepages-", 2 * count));
            pod(&format!(r#"{{"requests":{requests},"limits":{limits}}}"#), "{}")
        }),
        create("range: default and most", RANGES, |count| {
            range(&format!(
                r#""default":{},"max":{}"#,
                amounts("z", 2 * count),
                amounts("a", 2 * count)
            ))
        }),
        create("range: default request and least", RANGES, |count| {
            range(&format!(
                r#""defaultRequest":{},"min":{}"#,
                amounts("z", 2 * count),
                amounts("a", 2 * count)
            ))
        }),
    ];
    check(&Server::with_namespace().await, &cases).await;
}

fn config(inner: &str) -> String {
    format!(r#"{{"metadata":{{"name":"c"}},{inner}}}"#)
}

fn twice(key: &str) -> String {
    format!(r#""{key}":"0","{key}":"0""#)
}

#[tokio::test]
async fn fields_that_are_there_twice() {
    let cases = [
        create("duplicates: a long unknown name", CONFIGS, |count| {
            config(&twice(&".".repeat(8 * count)))
        }),
        create("duplicates: a long name beside an unknown one", CONFIGS, |count| {
            config(&format!(r#""odd":0,"data":{{{}}}"#, twice(&".".repeat(8 * count))))
        }),
        create("duplicates: many, beside many unknown ones", CONFIGS, |count| {
            let unknown = many(count / 4, |at| format!(r#""u{at}":0"#));
            config(&format!(
                r#"{unknown},"data":{{{}}}"#,
                many(count / 2, |at| twice(&format!("k.{at}")))
            ))
        }),
    ];
    check(&Server::with_namespace().await, &cases).await;
}
