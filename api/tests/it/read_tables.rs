//! The tables of Kubernetes' "Resource versions" (API concepts), cell by cell: semantics for get,
//! list and watch.
//!
//! At the version that is asked for, `then`, there are a, b and c; now there are b, c and d.

use crate::harness::{Answer, Server};

const MAPS: &str = "/api/v1/namespaces/a/configmaps";
/// Objects in a page where a limit is asked for.
const LIMIT: &str = "limit=2";

/// The content of a cell of the table.
#[derive(Debug, Clone, Copy)]
enum Cell {
    /// The newest state, whole or its first page.
    Now,
    /// Any state, whole or its first page; here that is the newest.
    Any,
    /// The state at the version.
    Then,
    /// The rest of a list that began at the version.
    Rest,
    /// Refused with this status.
    Refused(u16),
}

use Cell::{Any, Now, Refused, Rest, Then};

/// Rows of the table for list: `resourceVersionMatch`, whether there is a limit and a token; then
/// what is answered to no version, to `0` and to a version. Three rows that the published table
/// leaves out are those of its first row: a token says enough.
const LIST: &[(&str, bool, bool, [Cell; 3])] = &[
    ("", false, false, [Now, Any, Now]),
    ("", true, false, [Now, Any, Then]),
    ("", true, true, [Rest, Rest, Refused(400)]),
    ("Exact", false, false, [Refused(422), Refused(422), Then]),
    ("Exact", true, false, [Refused(422), Refused(422), Then]),
    ("NotOlderThan", false, false, [Refused(422), Any, Now]),
    ("NotOlderThan", true, false, [Refused(422), Any, Now]),
    ("", false, true, [Rest, Rest, Refused(400)]),
    ("Exact", true, true, [Refused(422), Refused(422), Refused(422)]),
    ("NotOlderThan", true, true, [Refused(422), Refused(422), Refused(422)]),
    ("Newest", false, false, [Refused(422), Refused(422), Refused(422)]),
];

struct World {
    server: Server,
    /// A version.
    then: String,
    /// The token of the first page of the list at that version.
    token: String,
    now: String,
}

async fn world() -> World {
    let server = Server::with_namespace().await;
    server.create("a", "a", &[]).await;
    server.create("a", "b", &[]).await;
    let then = server.create("a", "c", &[]).await;
    let page = server.get(&format!("{MAPS}?{LIMIT}")).await.json();
    let token = page["metadata"]["continue"].as_str().unwrap().to_owned();
    server.delete("a").await;
    let now = server.create("a", "d", &[]).await;
    World { server, then, token, now }
}

#[tokio::test]
async fn lists() {
    let World { server, then, token, now } = world().await;
    for (matching, limited, continued, cells) in LIST {
        let versions = ["", "resourceVersion=0", &format!("resourceVersion={then}")];
        for (version, cell) in versions.into_iter().zip(cells) {
            let mut query = vec![version.to_owned()];
            query
                .extend((!matching.is_empty()).then(|| format!("resourceVersionMatch={matching}")));
            query.extend(limited.then(|| LIMIT.to_owned()));
            query.extend(continued.then(|| format!("continue={token}")));
            let query = query.join("&");
            let answer = server.get(&format!("{MAPS}?{query}")).await;
            let (names, at, more) = match cell {
                Refused(status) => {
                    check_refusal(&answer, *status, &query);
                    continue;
                }
                Now | Any if *limited => ("b c", &now, true),
                Then if *limited => ("a b", &then, true),
                Now | Any => ("b c d", &now, false),
                Then => ("a b c", &then, false),
                Rest => ("c", &then, false),
            };
            assert_eq!(
                (answer.names().join(" ").as_str(), &answer.version()),
                (names, at),
                "{query}"
            );
            assert_eq!(answer.json()["metadata"]["continue"].is_string(), more, "{query}");
        }
    }
}

/// Every refusal is a Status with a reason; an invalid combination says which parameter is wrong.
fn check_refusal(answer: &Answer, status: u16, query: &str) {
    assert_eq!(answer.status.as_u16(), status, "{query}: {}", answer.text());
    let body = answer.json();
    assert_eq!(
        (body["kind"].as_str(), body["code"].as_u64()),
        (Some("Status"), Some(status.into())),
        "{query}"
    );
    if status == 422 {
        assert_eq!(body["reason"], "Invalid", "{query}");
        assert_eq!(body["details"]["causes"][0]["field"], "resourceVersionMatch", "{query}");
    } else {
        assert_eq!(body["reason"], "BadRequest", "{query}");
    }
}

#[tokio::test]
async fn gets() {
    let World { server, then, now, .. } = world().await;
    let check = async |name: &str, version: &str, expect: u16| {
        let answer = server.get(&format!("{MAPS}/{name}?resourceVersion={version}")).await;
        assert_eq!(answer.status.as_u16(), expect, "{name} at {version}");
    };
    for version in ["", "0", then.as_str(), now.as_str()] {
        check("a", version, 404).await;
        check("d", version, 200).await;
    }
}

#[tokio::test(start_paused = true)]
async fn watches() {
    let World { server, then, now, .. } = world().await;
    let check = async |query: &str, expect: &[&str]| {
        let mut watch = server.watch(&format!("{MAPS}?watch=1&timeoutSeconds=1&{query}")).await;
        assert_eq!(watch.all().await, expect, "{query}");
    };
    let all = ["ADDED b", "ADDED c", "ADDED d"];
    check("", &all).await;
    check("resourceVersion=0", &all).await;
    check(&format!("resourceVersion={then}"), &["DELETED a", "ADDED d"]).await;
    check(&format!("resourceVersion={now}"), &[]).await;
    let initial = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
    for version in ["", "0", then.as_str(), now.as_str()] {
        check(&format!("{initial}&resourceVersion={version}"), &all).await;
        let marked = [&all[..], &["BOOKMARK -"]].concat();
        check(&format!("{initial}&resourceVersion={version}&allowWatchBookmarks=1"), &marked).await;
    }
    let none = "sendInitialEvents=false&resourceVersionMatch=NotOlderThan";
    check(none, &[]).await;
    check(&format!("{none}&resourceVersion={then}"), &["DELETED a", "ADDED d"]).await;
}
