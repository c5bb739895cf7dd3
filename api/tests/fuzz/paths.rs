//! Fuzzed request lines: paths and queries, which the server parses before it authenticates the
//! client. A parsed path means the same when it is written out and parsed again.

use http::{Method, Uri};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use quorate_access::request::{Query, RequestInfo, Verb};
use quorate_meta::{Naming, SmolStr};

use crate::engine::{BASE_BYTES, Target};
use crate::words;

/// Parameters that handlers ask for.
const PARAMETERS: [&str; 8] = [
    "watch",
    "limit",
    "continue",
    "resourceVersion",
    "timeoutSeconds",
    "labelSelector",
    "fieldSelector",
    "dryRun",
];
/// Good paths with their queries.
const URIS: [&str; 9] = [
    "/api/v1/namespaces/a/configmaps?limit=1&continue=abc&pretty=1",
    "/api/v1/namespaces/a/configmaps/m%2d1?resourceVersion=3&resourceVersionMatch=Exact",
    "/api/v1/namespaces/a/status?fieldManager=f",
    "/api/v1/namespaces/a/finalize",
    "/api/v1/watch/namespaces/a/secrets/s?timeoutSeconds=1",
    "/apis/apps/v1/namespaces/a/deployments/d/scale?dryRun=All&dryRun=",
    "/apis/events.k8s.io/v1/events?watch&labelSelector=x%20in%20(1,2)&fieldSelector=metadata.name!=m",
    "/apis/rbac.authorization.svc.io/v1/clusterroles/system:node/",
    "/openapi/v3/apis/apps/v1?hash=0A&timeout=%31",
];

fn corpus(part: impl Fn(&str) -> &str) -> Vec<Vec<u8>> {
    URIS.iter().map(|uri| part(uri).as_bytes().to_vec()).collect()
}

fn encode(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

#[test]
fn queries() {
    let corpus = corpus(|uri| uri.split_once('?').map_or("", |(_, query)| query));
    let words = words::REQUEST;
    let target =
        Target { name: "queries", corpus, words, base_bytes: BASE_BYTES, bytes_per_byte: 200 };
    target.run(|input| {
        let query = Query::parse(&String::from_utf8_lossy(input));
        for name in PARAMETERS {
            let first = query.get(name);
            assert_eq!(query.all(name).next(), first);
            assert_eq!(
                (query.text(name), query.flag(name).is_some()),
                (first.unwrap_or_default(), first.is_some())
            );
            match query.int(name) {
                Ok(number) => {
                    assert_eq!(number, first.map(|value| value.parse::<i64>().expect("a number")))
                }
                Err(error) => assert!(error.to_string().contains(first.expect("a value"))),
            }
            let pairs: Vec<String> =
                query.all(name).map(|value| format!("{name}={}", encode(value))).collect();
            let again = Query::parse(&pairs.join("&"));
            assert!(again.all(name).eq(query.all(name)), "{pairs:?}");
        }
    });
}

/// The bytes as a path and a query, if HTTP lets them pass as such.
fn uri(input: &[u8]) -> Option<Uri> {
    let text: String = input
        .iter()
        .map(|byte| {
            if byte.is_ascii_graphic() {
                char::from(*byte).to_string()
            } else {
                format!("%{byte:02x}")
            }
        })
        .collect();
    Uri::try_from(text).ok()
}

/// The path of what a request is about, written anew.
fn path(info: &RequestInfo) -> String {
    let root = if info.api_version.contains('/') { "/apis" } else { "/api" };
    let version = info.api_version.split('/').map(encode).collect::<Vec<_>>().join("/");
    let namespace = info.namespace.iter().flat_map(|namespace| ["namespaces", namespace.as_str()]);
    let named = info.name.as_deref().into_iter().chain(info.subresource.as_deref());
    let segments: Vec<String> =
        namespace.chain([info.resource.as_str()]).chain(named).map(encode).collect();
    format!("{root}/{version}/{}", segments.join("/"))
}

/// What is read of a request line must hold together, and mean the same when it is written again.
fn check(method: &Method, uri: &Uri) {
    let names = Naming::Svc.names();
    let info = RequestInfo::parse(names, method, uri);
    assert_eq!(
        (info.path.as_str(), &info.query),
        (uri.path(), &Query::parse(uri.query().unwrap_or_default()))
    );
    let parts = [&info.group, &info.version, &info.api_version, &info.resource];
    let named = info.namespace.is_some() || info.name.is_some() || info.subresource.is_some();
    if !info.is_resource {
        assert!(parts.iter().all(|part| part.is_empty()) && !named && !info.excess, "{info:?}");
        return;
    }
    assert!(info.name.is_some() || info.subresource.is_none(), "{info:?}");
    assert!(info.verb != Verb::Watch || method == Method::GET, "{info:?}");
    if info.excess {
        return;
    }
    let (always, sometimes) =
        ([&info.version, &info.resource], [&info.namespace, &info.name, &info.subresource]);
    let is_segment = |part: &SmolStr| !part.is_empty() && !part.contains('/');
    assert!(always.into_iter().chain(sometimes.into_iter().flatten()).all(is_segment), "{info:?}");
    // After `watch` a resource may have that name, which would be taken for it.
    if info.resource == "watch" {
        return;
    }
    let again = RequestInfo::parse(names, method, &path(&info).parse().expect("a path"));
    let expect =
        RequestInfo { verb: again.verb, path: again.path.clone(), query: Query::default(), ..info };
    assert_eq!(again, expect);
}

#[test]
fn request_lines() {
    let (corpus, words) = (corpus(|uri| uri), words::REQUEST);
    let target = Target {
        name: "request lines",
        corpus,
        words,
        base_bytes: BASE_BYTES,
        bytes_per_byte: 400,
    };
    target.run(|input| {
        if let Some(uri) = uri(input) {
            for method in [Method::GET, Method::POST, Method::DELETE, Method::HEAD] {
                check(&method, &uri);
            }
        }
    });
}
