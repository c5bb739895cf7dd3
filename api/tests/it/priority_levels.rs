//! Priority levels: what they limit, who waits and who is refused, and that their objects take
//! effect at once.

use std::time::Duration;

use futures::StreamExt;
use http::Method;
use quorate_access::authentication::User;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::harness::{Answer, Server};

const FLOW: &str = "/apis/flowcontrol.apiserver.svc.io/v1";
const MAPS: &str = "/api/v1/namespaces/a/configmaps";
/// A quarter of the time of a request that names none.
const WAIT: Duration = Duration::from_secs(15);

/// A server on which the group `crew` may do everything and has the level `small`, with one seat,
/// one queue and one place in it.
async fn server() -> Server {
    let server = Server::with_namespace().await;
    server.defaults().await.stop();
    let group = server.api.names.group("rbac.authorization");
    let binding = json!({
        "metadata": { "name": "all" },
        "roleRef": { "apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin" },
        "subjects": [{ "apiGroup": group, "kind": "Group", "name": "crew" }],
    });
    create(&server, &format!("/apis/{group}/v1/clusterrolebindings"), binding).await;
    create(&server, &format!("{FLOW}/prioritylevelconfigurations"), level(0, 1)).await;
    let all = json!(["*"]);
    let rule = json!({
        "subjects": [{ "kind": "Group", "group": { "name": "crew" } }],
        "resourceRules": [{ "verbs": all, "apiGroups": all, "resources": all, "namespaces": all }],
    });
    let schema = json!({
        "metadata": { "name": "crew" },
        "spec": {
            "priorityLevelConfiguration": { "name": "small" },
            "matchingPrecedence": 5,
            "distinguisherMethod": { "type": "ByUser" },
            "rules": [rule],
        },
    });
    create(&server, &format!("{FLOW}/flowschemas"), schema).await;
    for name in ["x", "y", "z"] {
        let fill = "f".repeat(200_000);
        let map = json!({ "metadata": { "name": name }, "data": { "fill": fill } });
        create(&server, MAPS, map).await;
    }
    server
}

async fn create(server: &Server, path: &str, object: Value) {
    let answer = server.send(Method::POST, path, &[], &object.to_string()).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
}

/// A level without shares has a seat only while no request of it executes.
fn level(shares: i64, queue_length: i64) -> Value {
    let queuing = json!({ "queues": 1, "handSize": 1, "queueLengthLimit": queue_length });
    let limited = json!({
        "nominalConcurrencyShares": shares,
        "borrowingLimitPercent": 0,
        "limitResponse": { "type": "Queue", "queuing": queuing },
    });
    json!({ "metadata": { "name": "small" }, "spec": { "type": "Limited", "limited": limited } })
}

async fn set_level(server: &Server, level: Value) {
    let path = format!("{FLOW}/prioritylevelconfigurations/small");
    let answer = server.send(Method::PUT, &path, &[], &level.to_string()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

fn crew(server: &Server, name: &str) -> Server {
    server.by(Some(User::new(name, ["crew".to_owned(), "system:authenticated".to_owned()])))
}

/// A get that goes on by itself; it has begun when this returns.
async fn begin(server: &Server, name: &str) -> JoinHandle<Answer> {
    let server = crew(server, name);
    let task = tokio::spawn(async move { server.get(&format!("{MAPS}/x")).await });
    sleep(Duration::from_millis(1)).await;
    task
}

#[tokio::test(start_paused = true)]
async fn a_request_waits_for_a_seat_and_what_finds_no_queue_is_refused() {
    let server = server().await;
    // A list whose client does not read on.
    let (status, _, unread) = crew(&server, "ann").open(Method::GET, MAPS, &[], "").await;
    assert_eq!(status, 200);
    let waiting = begin(&server, "bob").await;
    let refused = crew(&server, "eve").get(&format!("{MAPS}/x")).await;
    assert_eq!((refused.status.as_u16(), refused.header("retry-after")), (429, "1"));
    assert_eq!(refused.json()["reason"], "TooManyRequests");
    assert_ne!(refused.header("x-svc-pf-prioritylevel-uid"), "");
    assert!(!waiting.is_finished());
    let levels = server.get("/debug/api_priority_and_fairness/dump_priority_levels").await.text();
    let of_level = levels.lines().find(|line| line.starts_with("small,")).expect("the level");
    let cells: Vec<&str> = of_level.split(',').map(str::trim).collect();
    assert_eq!(cells[1..8], ["1", "false", "false", "1", "1", "1", "1"], "{levels}");
    let page = async |query: &str| {
        let path = format!("/debug/api_priority_and_fairness/{query}");
        assert_eq!(crew(&server, "eve").get(&path).await.status, 200, "{path}");
        server.get(&path).await.text()
    };
    let queues = page("dump_queues").await;
    let cells = |text: &str| {
        let line = text.lines().find(|line| line.starts_with("small,")).expect("the level");
        line.split(',').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(cells(&queues)[..5], ["small", "0", "1", "1", "1"], "{queues}");
    assert_eq!(cells(&queues)[6..], ["1", "1", "0.00300000ss"], "{queues}");
    let requests = page("dump_requests").await;
    assert_eq!(cells(&requests)[..5], ["small", "crew", "0", "0", "bob"], "{requests}");
    assert_eq!(cells(&requests)[6..], ["1", "0", "0s"], "{requests}");
    let requests = page("dump_requests?includeRequestDetails=1").await;
    let expect = ["bob", "get", "/api/v1/namespaces/a/configmaps/x", "a", "x", "v1", "configmaps"];
    assert_eq!(cells(&requests)[9..16], expect, "{requests}");
    let waiting_now = "apiserver_current_inqueue_requests{request_kind=\"readOnly\"} 1";
    let told = server.get("/metrics").await.text();
    assert!(told.lines().any(|line| line == waiting_now), "{told}");
    // Operators, probes and other levels have seats.
    assert_eq!(server.get(MAPS).await.status, 200);
    for (who, path) in [("eve", "/readyz"), ("other", "/version")] {
        assert_eq!(crew(&server, who).get(path).await.status, 200, "{path}");
    }
    drop(unread);
    assert_eq!(waiting.await.unwrap().status, 200);
    assert_eq!(begin(&server, "eve").await.await.unwrap().status, 200);
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_with_a_quarter_of_the_time_of_the_request() {
    let server = server().await;
    let (_, _, _unread) = crew(&server, "ann").open(Method::GET, MAPS, &[], "").await;
    let check = async |query: &str, expect: Duration| {
        let before = Instant::now();
        let answer = crew(&server, "bob").get(&format!("{MAPS}/x{query}")).await;
        let found = (answer.status.as_u16(), answer.header("retry-after"), before.elapsed());
        assert_eq!(found, (429, "1", expect), "{query}");
    };
    check("", WAIT).await;
    check("?timeout=8s", Duration::from_secs(2)).await;
    check("?timeout=10m", WAIT).await;
    let left = begin(&server, "bob").await;
    left.abort();
    sleep(Duration::from_millis(1)).await;
    check("", WAIT).await;
}

#[tokio::test(start_paused = true)]
async fn a_change_of_a_level_takes_effect_at_once() {
    let server = server().await;
    let (_, _, _unread) = crew(&server, "ann").open(Method::GET, MAPS, &[], "").await;
    let waiting = begin(&server, "bob").await;
    set_level(&server, level(10, 1)).await;
    // The next request of any level finds the change.
    assert_eq!(crew(&server, "eve").get(&format!("{MAPS}/x")).await.status, 200);
    assert_eq!(waiting.await.unwrap().status, 200);
    set_level(&server, level(0, 2)).await;
    let two = [begin(&server, "bob").await, begin(&server, "bob").await];
    assert_eq!(crew(&server, "bob").get(&format!("{MAPS}/x")).await.status, 429);
    // Without its level, the schema matches nothing; what waits is not forgotten.
    let path = format!("{FLOW}/prioritylevelconfigurations/small");
    assert_eq!(server.send(Method::DELETE, &path, &[], "").await.status, 200);
    assert_eq!(crew(&server, "bob").get(&format!("{MAPS}/x")).await.status, 200);
    for waiting in two {
        assert_eq!(waiting.await.unwrap().status, 429, "the seat was never free");
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_has_seats_until_it_has_told_the_state() {
    let server = server().await;
    let watch = format!(
        "{MAPS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    );
    let (status, _, body) = crew(&server, "ann").open(Method::GET, &watch, &[], "").await;
    assert_eq!(status, 200);
    let waiting = begin(&server, "bob").await;
    assert!(!waiting.is_finished());
    let mut events = body.into_chunks();
    while !waiting.is_finished() {
        let told = events.next().await.expect("the watch goes on").unwrap();
        assert!(!told.is_empty());
        sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(waiting.await.unwrap().status, 200);
    // Its client takes nothing: it has no seats for longer than a minute.
    let (_, _, _untaken) = crew(&server, "ann").open(Method::GET, &watch, &[], "").await;
    assert_eq!(begin(&server, "bob").await.await.unwrap().status, 429);
    sleep(Duration::from_secs(60)).await;
    assert_eq!(begin(&server, "bob").await.await.unwrap().status, 200);
    // One that begins with changes only has none.
    let plain = format!("{MAPS}?watch=1&resourceVersion=1");
    let (_, _, _open) = crew(&server, "ann").open(Method::GET, &plain, &[], "").await;
    assert_eq!(begin(&server, "bob").await.await.unwrap().status, 200);
}
