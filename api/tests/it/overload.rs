//! Overload without priority and fairness: more requests than there are places. Each class has its own places, no user takes all
//! of them, and a client that finds none is told when to come back.

use std::convert::Infallible;

use bytes::Bytes;
use futures::stream::{self, Stream};
use http::{Method, Request, StatusCode};
use http_body::Frame;
use http_body_util::StreamBody;
use quorate_access::authentication::{ConnectionIdentity, User};
use quorate_api::body::Body;
use quorate_api::filters;
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::{Duration, Instant, sleep};

use crate::harness::{Answer, Server};

const MAPS: &str = "/api/v1/namespaces/a/configmaps";
/// Places of each class, of which one identity gets half; see the harness.
const SHARE: usize = 2;
/// Time that a request waits for a place before it is refused.
const WAIT: Duration = Duration::from_secs(5);
/// How long a request may take, its body included.
const DEADLINE: Duration = Duration::from_secs(60);
/// How long what is left of a refused request's body is read away.
const DRAIN_TIME: Duration = Duration::from_secs(5);

/// A server on which every user may do everything, with a list that takes several buffers.
async fn server() -> Server {
    let server = Server::with_plain_limits();
    server.namespace("a").await;
    server.defaults().await.stop();
    let group = server.api.names.group("rbac.authorization");
    let binding = json!({
        "metadata": { "name": "all" },
        "roleRef": { "apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin" },
        "subjects": [{ "apiGroup": group, "kind": "Group", "name": "crew" }],
    });
    let bindings = format!("/apis/{group}/v1/clusterrolebindings");
    let answer = server.send(Method::POST, &bindings, &[], &binding.to_string()).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    for name in ["x", "y", "z"] {
        let body = json!({ "metadata": { "name": name }, "data": { "fill": "f".repeat(200_000) } });
        let answer = server.send(Method::POST, MAPS, &[], &body.to_string()).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
    }
    server
}

fn user(name: &str) -> User {
    User::new(name, ["crew".to_owned()])
}

/// A request that has a place until it is dropped.
enum Held {
    /// An answer whose client does not read on.
    Answer(#[expect(dead_code, reason = "kept for its place")] Body),
    /// A request whose body does not come.
    Sending(JoinHandle<StatusCode>),
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Self::Sending(task) = self {
            task.abort();
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    ReadOnly,
    Mutating,
    LongRunning,
}

const CLASSES: [Class; 3] = [Class::ReadOnly, Class::Mutating, Class::LongRunning];

/// Takes a place of a class and keeps it.
async fn hold(server: &Server, class: Class, name: &str) -> Held {
    match class {
        Class::Mutating => Held::Sending(send(server, name, stream::pending()).await),
        _ => {
            let path =
                if class == Class::ReadOnly { MAPS.to_owned() } else { format!("{MAPS}?watch=1") };
            let (status, _, body) =
                server.by(Some(user(name))).open(Method::GET, &path, &[], "").await;
            assert_eq!(status, 200, "{class:?} {name}");
            Held::Answer(body)
        }
    }
}

/// Begins a create with this body; requests that wait get to run before this returns.
async fn send<B>(server: &Server, name: &str, body: B) -> JoinHandle<StatusCode>
where
    B: Stream<Item = Result<Frame<Bytes>, Infallible>> + Send + 'static,
{
    let (api, identity) = (server.api.clone(), ConnectionIdentity::of_user(user(name)));
    let task = tokio::spawn(async move {
        let request =
            Request::builder().method(Method::POST).uri(MAPS).body(StreamBody::new(body)).unwrap();
        filters::handle(&api, &identity, request).await.status()
    });
    sleep(Duration::from_millis(1)).await;
    task
}

/// Does something of a class to its end.
async fn ask(server: &Server, class: Class, name: &str) -> Answer {
    let server = server.by(Some(user(name)));
    match class {
        Class::ReadOnly => server.get(&format!("{MAPS}/x")).await,
        Class::Mutating => server.send(Method::DELETE, &format!("{MAPS}/none"), &[], "").await,
        Class::LongRunning => {
            server.get(&format!("{MAPS}?watch=1&resourceVersion=1&timeoutSeconds=1")).await
        }
    }
}

fn assert_passes(answer: &Answer, what: &str) {
    // The object does not exist; a 404 takes a place as well.
    assert!(
        matches!(answer.status, StatusCode::OK | StatusCode::NOT_FOUND),
        "{what}: {}",
        answer.text()
    );
}

#[tokio::test(start_paused = true)]
async fn each_class_has_its_places_and_nobody_takes_them_all() {
    let server = server().await;
    for class in CLASSES {
        let mut held = Vec::new();
        for _ in 0..SHARE {
            held.push(hold(&server, class, "greedy").await);
        }
        let before = Instant::now();
        let refused = ask(&server, class, "greedy").await;
        assert_eq!(
            (refused.status.as_u16(), refused.header("retry-after")),
            (429, "1"),
            "{class:?}"
        );
        let status = refused.json();
        assert_eq!(
            (&status["reason"], &status["details"]["retryAfterSeconds"]),
            (&json!("TooManyRequests"), &json!(1))
        );
        let waited = if class == Class::LongRunning { Duration::ZERO } else { WAIT };
        assert_eq!(before.elapsed().as_secs(), waited.as_secs(), "{class:?}");

        assert_passes(&ask(&server, class, "calm").await, "somebody else");
        for other in CLASSES.into_iter().filter(|other| *other != class) {
            assert_passes(&ask(&server, other, "greedy").await, "another class");
        }
        assert_eq!(server.by(Some(user("greedy"))).get("/readyz").await.status, 200);
        for _ in 0..SHARE {
            held.push(hold(&server, class, "second").await);
        }
        assert_eq!(ask(&server, class, "calm").await.status, 429, "no place is left of {class:?}");
        let master = server.send(Method::GET, MAPS, &[], "").await;
        assert_eq!(master.status, 200, "operators need no place");
        drop(held);
        sleep(Duration::from_millis(1)).await;
        assert_passes(&ask(&server, class, "greedy").await, "the places are free again");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_nobody_takes_gives_its_place_back_but_a_watch_stays() {
    let server = server().await;
    for (class, given_back) in [(Class::ReadOnly, true), (Class::LongRunning, false)] {
        let mut held = Vec::new();
        for _ in 0..SHARE {
            held.push(hold(&server, class, "greedy").await);
        }
        sleep(Duration::from_secs(50)).await;
        assert_eq!(ask(&server, class, "greedy").await.status, 429, "{class:?}");
        sleep(Duration::from_secs(20)).await;
        assert_eq!(ask(&server, class, "greedy").await.status != 429, given_back, "{class:?}");
        drop(held);
        sleep(Duration::from_millis(1)).await;
    }
}

/// A body that comes for ever, a blank a second.
fn drops() -> impl Stream<Item = Result<Frame<Bytes>, Infallible>> + Send + 'static {
    stream::unfold((), |()| async {
        sleep(Duration::from_secs(1)).await;
        Some((Ok::<_, Infallible>(Frame::data(Bytes::from_static(b" "))), ()))
    })
}

#[tokio::test(start_paused = true)]
async fn a_body_that_never_ends_gives_its_place_back() {
    let server = server().await;
    let begin = Instant::now();
    let sending =
        [send(&server, "greedy", stream::pending()).await, send(&server, "greedy", drops()).await];
    assert_eq!(sending.len(), SHARE);
    sleep(DEADLINE - WAIT * 2).await;
    assert_eq!(
        ask(&server, Class::Mutating, "greedy").await.status,
        429,
        "both places are still taken"
    );
    sleep(WAIT + Duration::from_secs(1)).await;
    assert_passes(&ask(&server, Class::Mutating, "greedy").await, "after the deadline");
    assert!(begin.elapsed() < DEADLINE + DRAIN_TIME, "nobody waits for what is read away");
    for task in sending {
        assert_eq!(task.await.unwrap(), StatusCode::GATEWAY_TIMEOUT);
    }
    assert_eq!(begin.elapsed().as_secs(), (DEADLINE + DRAIN_TIME).as_secs());
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_one_identity_lets_nobody_else_wait() {
    let server = server().await;
    let flood: Vec<_> = (0..40)
        .map(|_| {
            let greedy = server.by(Some(user("greedy")));
            tokio::spawn(async move {
                loop {
                    // Refused or not, it comes again at once.
                    let answer = greedy.open(Method::GET, MAPS, &[], "").await;
                    sleep(Duration::from_secs(1)).await;
                    drop(answer);
                }
            })
        })
        .collect();
    for turn in 0..20 {
        sleep(Duration::from_millis(700)).await;
        let before = Instant::now();
        for class in [Class::ReadOnly, Class::Mutating] {
            assert_passes(&ask(&server, class, "calm").await, "somebody else");
        }
        assert_eq!(before.elapsed(), Duration::ZERO, "turn {turn}");
    }
    flood.iter().for_each(JoinHandle::abort);
}
