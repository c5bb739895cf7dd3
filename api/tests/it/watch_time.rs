//! Watch timeouts and batches: how long a watch lasts whose client sets no timeout, and how many
//! events share a write.

use http::Method;
use http_body_util::BodyExt;
use quorate_api::body::Body;
use tokio::time::Instant;

use crate::harness::Server;

const MAPS: &str = "/api/v1/namespaces/a/configmaps";
/// Objects that are written in quick succession.
const MANY: usize = 50;

async fn open(server: &Server, query: &str) -> Body {
    let (status, _, body) =
        server.open(Method::GET, &format!("{MAPS}?watch=1&{query}"), &[], "").await;
    assert_eq!(status, 200, "{query}");
    body
}

#[tokio::test(start_paused = true)]
async fn without_a_timeout_it_ends_within_an_hour_and_not_together_with_others() {
    let server = Server::with_namespace().await;
    server.create("a", "m", &[]).await;
    let mut lasted = Vec::new();
    for query in ["", "timeoutSeconds=0", "resourceVersion=1", "", "allowWatchBookmarks=true"] {
        let begin = Instant::now();
        let told = open(&server, query).await.collect().await.unwrap().to_bytes();
        assert!(told.starts_with(b"{\"type\":\"ADDED\""), "{query}");
        let seconds = begin.elapsed().as_secs();
        assert!((1800..=3600).contains(&seconds), "{query}: {seconds} s");
        lasted.push(seconds);
    }
    assert!(lasted.iter().any(|other| *other != lasted[0]), "{lasted:?}");
    let begin = Instant::now();
    let (one, other) = (open(&server, "").await, open(&server, "").await);
    let ends = async |body: Body| {
        body.collect().await.unwrap();
        begin.elapsed().as_secs()
    };
    let (one, other) = tokio::join!(ends(one), ends(other));
    assert_ne!(one, other, "they came together and do not come back together");
}

#[tokio::test(start_paused = true)]
async fn a_timeout_is_kept_to() {
    let server = Server::with_namespace().await;
    for seconds in [1, 100, 7200] {
        let begin = Instant::now();
        open(&server, &format!("timeoutSeconds={seconds}")).await.collect().await.unwrap();
        assert_eq!(begin.elapsed().as_secs(), seconds);
    }
}

/// The lines of each frame, until all events have come.
async fn frames(mut body: Body) -> Vec<usize> {
    let mut frames: Vec<usize> = Vec::new();
    while frames.iter().sum::<usize>() < MANY {
        let frame = body.frame().await.expect("a further frame").unwrap().into_data().unwrap();
        assert!(frame.ends_with(b"\n"), "a frame has whole lines");
        frames.push(frame.iter().filter(|byte| **byte == b'\n').count());
    }
    frames
}

#[tokio::test(start_paused = true)]
async fn events_that_wait_share_a_write() {
    let server = Server::with_namespace().await;
    let body = open(&server, "resourceVersion=1").await;
    for number in 0..MANY {
        server.create("a", &format!("m{number:02}"), &[]).await;
    }
    assert_eq!(frames(body).await, [MANY]);
}

#[tokio::test(start_paused = true)]
async fn events_that_come_all_the_time_share_writes() {
    let server = Server::with_namespace().await;
    let reader = tokio::spawn(frames(open(&server, "resourceVersion=1").await));
    for number in 0..MANY {
        server.create("a", &format!("m{number:02}"), &[]).await;
        tokio::task::yield_now().await;
    }
    let frames = reader.await.unwrap();
    assert_eq!(frames.iter().sum::<usize>(), MANY, "{frames:?}");
    assert!(frames.len() < MANY && frames.iter().any(|lines| *lines > 1), "{frames:?}");
}
