//! List semantics: versions, matches, limits, continue tokens, selectors.

use std::future::poll_fn;
use std::pin::pin;

use quorate_meta::Naming;
use quorate_store::{Operation, Retention, Txn};

use crate::harness::{Answer, Server};

const MAPS: &str = "/api/v1/namespaces/a/configmaps";

async fn maps(names: &[&str]) -> Server {
    let server = Server::with_namespace().await;
    for name in names {
        server.create("a", name, &[("set", "x")]).await;
    }
    server
}

async fn ls(server: &Server, query: &str) -> Answer {
    server.get(&format!("{MAPS}?{query}")).await
}

/// Names, and whether and how much more there is: `a b +3`.
fn brief(answer: &Answer) -> String {
    let meta = &answer.json()["metadata"];
    let mut text = answer.names().join(" ");
    if meta["continue"].is_string() {
        text += &meta["remainingItemCount"].as_u64().map_or(" +".to_owned(), |n| format!(" +{n}"));
    }
    text
}

fn token(answer: &Answer) -> String {
    answer.json()["metadata"]["continue"]
        .as_str()
        .unwrap_or_else(|| panic!("{}", answer.text()))
        .to_owned()
}

#[tokio::test]
async fn an_empty_list_and_the_form_of_items() {
    let server = maps(&["m"]).await;
    let empty = server.get("/api/v1/namespaces/none/configmaps").await;
    assert_eq!(
        empty.text(),
        "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"2\"},\"items\":[]}\n"
    );
    let mut one = server.get(&format!("{MAPS}/m")).await.json();
    let one = one.as_object_mut().unwrap();
    assert!(one.remove("kind").is_some() && one.remove("apiVersion").is_some());
    assert_eq!(ls(&server, "").await.json()["items"][0].as_object(), Some(&*one));
}

#[tokio::test]
async fn versions_and_matches() {
    let server = maps(&["a", "b"]).await;
    let version = server.create("a", "c", &[]).await;
    server.delete("a").await;
    server.create("a", "d", &[]).await;
    let check = async |query: &str, expect: &str| {
        assert_eq!(brief(&ls(&server, query).await), expect, "{query}")
    };
    check("", "b c d").await;
    check("resourceVersion=", "b c d").await;
    check("resourceVersion=0", "b c d").await;
    check("resourceVersion=0&resourceVersionMatch=NotOlderThan", "b c d").await;
    check("resourceVersion=0&limit=1", "b +2").await;
    check("resourceVersion=0&limit=3", "b c d").await;
    check(&format!("resourceVersion={version}"), "b c d").await;
    check(&format!("resourceVersion={version}&resourceVersionMatch=NotOlderThan"), "b c d").await;
    check(
        &format!("resourceVersion={version}&resourceVersionMatch=NotOlderThan&limit=2"),
        "b c +1",
    )
    .await;
    check(&format!("resourceVersion={version}&resourceVersionMatch=Exact"), "a b c").await;
    check(&format!("resourceVersion={version}&resourceVersionMatch=Exact&limit=2"), "a b +1").await;
    check(&format!("resourceVersion={version}&limit=2"), "a b +1").await;
    check(&format!("resourceVersion={version}&limit=9"), "a b c").await;
    check("resourceVersionMatch=", "b c d").await;
    assert_eq!(
        ls(&server, &format!("resourceVersion={version}&resourceVersionMatch=Exact"))
            .await
            .version(),
        version
    );
}

#[tokio::test]
async fn what_is_refused() {
    let server = maps(&["a", "b", "c"]).await;
    let first = ls(&server, "limit=2").await;
    let (token, version) = (token(&first), first.version());
    let check = async |query: &str, status: u16, expect: &str| {
        let answer = ls(&server, query).await;
        let message = answer.json()["message"].as_str().unwrap_or_default().to_owned();
        let message = message
            .strip_prefix("ListOptions.meta.svc.io \"\" is invalid: ")
            .unwrap_or(&message)
            .to_owned();
        assert_eq!((answer.status.as_u16(), message.as_str()), (status, expect), "{query}");
    };
    let unless = "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided";
    check("resourceVersionMatch=Exact", 422, unless).await;
    check("resourceVersionMatch=NotOlderThan&resourceVersion=&limit=1", 422, unless).await;
    let zero = "resourceVersionMatch: Forbidden: resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
    check("resourceVersionMatch=Exact&resourceVersion=0", 422, zero).await;
    let unsupported = "resourceVersionMatch: Unsupported value: \"Newest\": supported values: \"Exact\", \"NotOlderThan\", \"\"";
    check("resourceVersionMatch=Newest&resourceVersion=0", 422, unsupported).await;
    check("resourceVersionMatch=Newest", 422, &format!("[{unless}, {unsupported}]")).await;
    let initial = "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list";
    check("sendInitialEvents=true", 422, initial).await;
    check(
        "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=0",
        422,
        initial,
    )
    .await;
    let with = "specifying resource version is not allowed when using continue";
    check(&format!("limit=2&continue={token}&resourceVersion={version}"), 400, with).await;
    let match_with = "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided";
    check(
        &format!("continue={token}&resourceVersion={version}&resourceVersionMatch=Exact"),
        422,
        match_with,
    )
    .await;
    check("limit=abc", 400, "strconv.ParseInt: parsing \"abc\": invalid syntax").await;
    check("timeoutSeconds=1.5", 400, "strconv.ParseInt: parsing \"1.5\": invalid syntax").await;
    let bad = "invalid resource version: resourceVersion: Invalid value: \"-1\": strconv.ParseUint: parsing \"-1\": invalid syntax";
    check("resourceVersion=-1", 400, bad).await;
    let large = "invalid resource version: resourceVersion: Invalid value: \"99999999999999999999\": strconv.ParseUint: parsing \"99999999999999999999\": value out of range";
    check("resourceVersion=99999999999999999999", 400, large).await;
    check("labelSelector=x%20in", 400, "unable to parse requirement: found '' expected: '('").await;
    check(
        "fieldSelector=metadata.name",
        400,
        "invalid selector: 'metadata.name'; can't understand 'metadata.name'",
    )
    .await;
    let unknown =
        "\"spec.x\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"";
    check("fieldSelector=spec.x%3D1", 400, unknown).await;
    let many = "invalid selector: it has more than 1000 requirements";
    check(&format!("labelSelector={}", ["x"; 1001].join(",")), 400, many).await;
    check(&format!("fieldSelector={}", ["metadata.name!%3Dx"; 1001].join(",")), 400, many).await;
}

#[tokio::test]
async fn pages_are_one_snapshot() {
    let server = maps(&["a", "b", "c", "d", "e", "f"]).await;
    let first = ls(&server, "limit=2").await;
    server.delete("c").await;
    server.delete("f").await;
    server.create("a", "bb", &[]).await;
    server.create("a", "z", &[]).await;
    let second = ls(&server, &format!("limit=2&continue={}", token(&first))).await;
    let third =
        ls(&server, &format!("limit=2&continue={}&resourceVersion=0", token(&second))).await;
    assert_eq!([&first, &second, &third].map(brief), ["a b +4", "c d +2", "e f"]);
    assert_eq!([first.version(), second.version()], [second.version(), third.version()]);
    assert_eq!(brief(&ls(&server, "").await), "a b bb d e z");
    assert_eq!(brief(&ls(&server, &format!("continue={}", token(&first))).await), "c d e f");
    assert_eq!(brief(&ls(&server, "limit=2&continue=").await), "a b +4");
}

#[tokio::test]
async fn tokens_are_bound_and_expire() {
    let retention = Retention { time_ms: 60_000, ..Retention::default() };
    let server = Server::with(Naming::Svc, retention);
    server.namespace("a").await;
    for name in ["a", "b", "c"] {
        server.create("a", name, &[("set", "x")]).await;
    }
    let token = token(&ls(&server, "limit=2").await);
    for bad in ["abc", "!!!", "e30", "0", &token[..token.len() - 4], &format!("x{token}")] {
        assert_eq!(ls(&server, &format!("limit=2&continue={bad}")).await.status, 400, "{bad}");
    }
    assert_eq!(ls(&server, &format!("labelSelector=set&continue={token}")).await.status, 400);
    assert_eq!(server.get(&format!("/api/v1/configmaps?continue={token}")).await.status, 400);
    server.create("a", "c2", &[]).await;
    server.clock.advance(120_000);
    server.create("a", "d", &[]).await;
    server.create("a", "e", &[]).await;
    let answer = ls(&server, &format!("continue={token}")).await;
    assert_eq!(
        (answer.status.as_u16(), answer.json()["reason"].as_str().unwrap()),
        (410, "Expired")
    );
    // The rest can still be had, from the state of now.
    let rest = answer.json()["metadata"]["continue"].as_str().unwrap().to_owned();
    assert_eq!(brief(&ls(&server, &format!("limit=2&continue={rest}")).await), "c c2 +2");
    assert_eq!(brief(&ls(&server, &format!("continue={rest}")).await), "c c2 d e");
    let answer = ls(&server, "resourceVersion=1&resourceVersionMatch=Exact").await;
    assert_eq!(answer.status, 410);
    assert_eq!(answer.json()["message"], "The resourceVersion for the provided list is too old.");
    assert_eq!(brief(&ls(&server, "resourceVersion=1").await), "a b c c2 d e");
}

#[tokio::test]
async fn selectors() {
    let server = Server::with_namespace().await;
    server.create("a", "a", &[("x", "1"), ("env", "prod")]).await;
    server.create("a", "b", &[("x", "2")]).await;
    server.create("a", "c", &[]).await;
    server.create("a", "d", &[("x", "1")]).await;
    let check = async |query: &str, expect: &str| {
        assert_eq!(brief(&ls(&server, query).await), expect, "{query}")
    };
    check("labelSelector=x%3D1", "a d").await;
    check("labelSelector=x!%3D1", "b c").await;
    check("labelSelector=x+in+(1,2),env", "a").await;
    check("labelSelector=!x", "c").await;
    check("fieldSelector=metadata.name!%3Da", "b c d").await;
    check("fieldSelector=metadata.namespace%3Dother", "").await;
    check("labelSelector=x&fieldSelector=metadata.name!%3Db", "a d").await;
    check("labelSelector=x%3D1&limit=1", "a +").await;
    check("labelSelector=x%3D1&limit=2", "a d").await;
    check("labelSelector=none&limit=2", "").await;
    check("limit=2", "a b +2").await;
    check("limit=-1", "a b c d").await;
}

/// A list that scans many objects for few matches yields to other requests. No index finds what merely has
/// a label.
#[tokio::test]
async fn a_selector_that_matches_little() {
    const TXNS: usize = 16;
    const OBJECTS_PER_TXN: usize = 2048;
    const OBJECTS_PER_TURN: usize = 4096;
    let server = Server::with_namespace().await;
    server.create("a", "m", &[]).await;
    let value = server.api.store.snapshot().get(b"o/core/configmaps/a/m").unwrap().value.clone();
    for txn in 0..TXNS {
        let put = |number: usize| Operation::Put {
            key: format!("o/core/configmaps/a/m-{txn}-{number}").into(),
            value: value.clone(),
        };
        let operations = (0..OBJECTS_PER_TXN).map(put).collect();
        server
            .api
            .store
            .txn(Txn { conditions: Vec::new(), operations, ..Txn::default() })
            .await
            .unwrap();
    }
    server.create("a", "z", &[("x", "1")]).await;
    let check = async |query: &str, accept: &str| {
        let (path, headers) = (format!("{MAPS}?labelSelector=x{query}"), [("accept", accept)]);
        let mut asking = pin!(server.send(http::Method::GET, &path, &headers, ""));
        let mut turns = 0;
        let asked = poll_fn(|context| {
            turns += 1;
            asking.as_mut().poll(context)
        });
        let answer = asked.await;
        assert!(
            turns >= TXNS * OBJECTS_PER_TXN / OBJECTS_PER_TURN - 1,
            "{turns} turns: {query} as {accept}"
        );
        answer
    };
    for query in ["", "&limit=1"] {
        assert_eq!(brief(&check(query, "application/json").await), "z");
        let packed = check(query, "application/vnd.svc.protobuf").await;
        // The name with its tag and its length.
        assert!(packed.status == 200 && packed.body.windows(3).any(|bytes| bytes == b"\n\x01z"));
    }
}

#[tokio::test]
async fn across_namespaces_in_order_of_keys() {
    let server = maps(&["b", "a"]).await;
    server.namespace("0").await;
    server.create("0", "z", &[]).await;
    let all = server.get("/api/v1/configmaps").await;
    let places: Vec<String> = all.json()["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| {
            format!(
                "{}/{}",
                item["metadata"]["namespace"].as_str().unwrap(),
                item["metadata"]["name"].as_str().unwrap()
            )
        })
        .collect();
    assert_eq!(places, ["0/z", "a/a", "a/b"]);
    assert_eq!(server.get("/api/v1/namespaces/").await.names(), ["0", "a"]);
}

/// Large objects are not copied into a list; where they begin and end must not show.
#[tokio::test]
async fn large_objects_among_small_ones() {
    let server = Server::with_namespace().await;
    let sizes = [10, 200_000, 10, 200_000, 130_000, 1000, 300_000];
    for (index, size) in sizes.into_iter().enumerate() {
        let data = serde_json::json!({"k": "v".repeat(size)});
        let body = serde_json::json!({"metadata": {"name": format!("m{index}")}, "data": data});
        let answer = server.send(http::Method::POST, MAPS, &[], &body.to_string()).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
    }
    let whole = ls(&server, "").await.json()["items"].as_array().unwrap().clone();
    let lengths: Vec<_> =
        whole.iter().map(|item| item["data"]["k"].as_str().unwrap().len()).collect();
    assert_eq!(lengths, sizes);
    for limit in 1..=sizes.len() {
        let mut items = Vec::new();
        let mut query = format!("limit={limit}");
        loop {
            let page = ls(&server, &query).await.json();
            items.extend(page["items"].as_array().unwrap().iter().cloned());
            assert!(items.len() % limit == 0 || items.len() == sizes.len());
            match page["metadata"]["continue"].as_str() {
                Some(token) => query = format!("limit={limit}&continue={token}"),
                None => break,
            }
        }
        assert!(items == whole, "pages of {limit}");
    }
    let only = ls(&server, "fieldSelector=metadata.name%3Dm6").await.json()["items"].clone();
    assert!(only.as_array().unwrap().as_slice() == &whole[6..]);
    let yaml = server.get_as(MAPS, "application/yaml").await;
    assert!(yaml.status == 200 && yaml.body.len() > sizes.iter().sum());
}

#[tokio::test]
async fn a_long_list_streams_and_compresses() {
    const GZIP: (&str, &str) = ("accept-encoding", "gzip, deflate");
    let server = Server::with_namespace().await;
    fill(&server).await;
    let plain = ls(&server, "").await;
    assert!(plain.body.len() > 300_000 && plain.header("content-encoding").is_empty());
    assert_eq!(plain.names().len(), 300);
    for accept in ["application/json", "application/vnd.svc.protobuf"] {
        let packed = server.send(http::Method::GET, MAPS, &[GZIP, ("accept", accept)], "").await;
        assert_eq!(
            (packed.header("content-encoding"), packed.header("vary")),
            ("gzip", "Accept-Encoding")
        );
        assert!(packed.body.len() < plain.body.len() / 5 && packed.body.starts_with(&[0x1f, 0x8b]));
    }
    let small = server.send(http::Method::GET, &format!("{MAPS}?limit=1"), &[GZIP], "").await;
    assert_eq!(small.header("content-encoding"), "");
}

#[tokio::test]
async fn nothing_is_compressed_where_that_is_switched_off() {
    let server = Server::with_gates("APIResponseCompression=false").await;
    fill(&server).await;
    let list = server.send(http::Method::GET, MAPS, &[("accept-encoding", "gzip")], "").await;
    assert_eq!((list.header("content-encoding"), list.names().len()), ("", 300));
}

#[tokio::test]
async fn answers_of_writes_are_not_compressed() {
    let server = Server::with_namespace().await;
    let body = serde_json::json!({"metadata": {"name": "m"}, "data": {"k": "v".repeat(300_000)}})
        .to_string();
    let headers = [("accept-encoding", "gzip")];
    let made = server.send(http::Method::POST, MAPS, &headers, &body).await;
    assert_eq!((made.status.as_u16(), made.header("content-encoding")), (201, ""));
    let read = server.send(http::Method::GET, &format!("{MAPS}/m"), &headers, "").await;
    assert_eq!(read.header("content-encoding"), "gzip");
}

/// Makes a collection that is worth compressing.
async fn fill(server: &Server) {
    let value = "v".repeat(1000);
    for index in 0..300 {
        let body =
            serde_json::json!({"metadata": {"name": format!("m{index:03}")}, "data": {"k": value}});
        server.send(http::Method::POST, MAPS, &[], &body.to_string()).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_takes_at_most_as_long_as_its_client_says() {
    let server = Server::with_namespace().await;
    for seconds in [1, 5] {
        // A state that is far off is waited for three seconds, or less for who has less time.
        let begin = tokio::time::Instant::now();
        let answer =
            server.get(&format!("{MAPS}?resourceVersion=1000000&timeoutSeconds={seconds}")).await;
        assert_eq!(answer.status, 504, "{}", answer.text());
        assert!(answer.text().contains("Too large resource version"), "{}", answer.text());
        assert_eq!(begin.elapsed() < std::time::Duration::from_secs(2), seconds == 1);
    }
    assert_eq!(server.get(&format!("{MAPS}?timeoutSeconds=0")).await.status, 200);
    assert_eq!(server.get(&format!("{MAPS}?timeoutSeconds=-1")).await.status, 200);
}
