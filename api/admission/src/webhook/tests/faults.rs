//! Webhooks that hang, break, answer nonsense, and whose certificate is not trusted.

use std::io::Write;

use tokio::time::timeout;

use super::*;

/// How much later than its timeout a call may end.
const SLACK: Duration = Duration::from_millis(100);

/// Checks what a write is told where a webhook does this, and that its failure policy is followed.
async fn check(does: &[Does], expect: &str) {
    for policy in ["Fail", "Ignore"] {
        for kind in ["Validating", "Mutating"] {
            let (server, cluster) = (Server::start().await, Cluster::new().await);
            let hook = webhook("a", server.url("/"), json!({"failurePolicy": policy}));
            cluster.configure(kind, "c", vec![hook]).await;
            server.then(does);
            let told = cluster.refusal("x").await;
            let failed =
                "Internal error occurred: failed calling webhook \"a.hooks.example.com\": ";
            if policy == "Fail" {
                assert!(told.starts_with(failed) && told.contains(expect), "{told}");
            } else {
                assert_eq!(told, "", "{kind}");
                assert_eq!(
                    cluster
                        .notes()
                        .annotations
                        .keys()
                        .filter(|key| key.starts_with("failed-open."))
                        .count(),
                    1
                );
            }
        }
    }
}

#[tokio::test]
async fn answers_that_are_none() {
    check(&[Does::Answers(500, "oops")], "failed to call webhook: an error on the server").await;
    check(&[Does::Answers(302, "")], "the status code 302").await;
    check(&[Does::Answers(200, "hello")], "failed to call webhook: the answer is no JSON").await;
    check(&[Does::Answers(200, "[]")], "webhook response was absent").await;
    check(&[Does::Answers(200, r#"{"response": []}"#)], "response is a JSON array and no map")
        .await;
    check(
        &[Does::Answers(200, r#"{"response": {"uid": "other", "allowed": true}}"#)],
        "got \"other\"",
    )
    .await;
    check(
        &[Does::Makes(|review| respond(review, json!({"allowed": "s3cret"})))],
        "response.allowed is a JSON string and no boolean",
    )
    .await;
    check(
        &[Does::Makes(|review| allow(review).replace("AdmissionReview", "Other"))],
        "got admission.svc.io/v1, Kind=Other",
    )
    .await;
    check(&[Does::Fills(9 << 20)], "the answer is larger than").await;
    check(&[Does::Breaks], "failed to call webhook: Post ").await;
    check(&[Does::Writes(b""), Does::Writes(b"")], "failed to call webhook: Post ").await;
    check(
        &[Does::Writes(b"\x00garbage"), Does::Writes(b"\x00garbage")],
        "failed to call webhook: Post ",
    )
    .await;
}

#[tokio::test]
async fn certificates_that_are_not_trusted() {
    let (server, other, cluster) =
        (Server::start().await, Server::start().await, Cluster::new().await);
    let mut client = server.url("/");
    client.set_at(&["caBundle"], other.url("/").str_at(&["caBundle"]).unwrap());
    cluster.configure("Validating", "c", vec![webhook("a", client, json!({}))]).await;
    let told = cluster.refusal("x").await;
    assert!(told.contains("x509: certificate signed by unknown authority"), "{told}");
    assert_eq!(server.asked().len(), 0);
}

#[tokio::test]
async fn servers_that_are_not_there() {
    let cluster = Cluster::new().await;
    let nowhere = json!({"url": "https://127.0.0.1:1/x"}).into();
    cluster.configure("Validating", "c", vec![webhook("a", nowhere, json!({}))]).await;
    let told = cluster.refusal("x").await;
    assert!(told.ends_with("connect: connection refused"), "{told}");
    let service = json!({"service": {"namespace": "n", "name": "none"}}).into();
    cluster.configure("Validating", "c", vec![webhook("a", service, json!({}))]).await;
    let told = cluster.refusal("x").await;
    assert!(told.ends_with("service \"none\" not found"), "{told}");
}

#[tokio::test]
async fn a_webhook_that_hangs_holds_up_its_own_writes_only() {
    let (server, cluster) = (Server::start().await, Cluster::new().await);
    let hangs = webhook("a", server.url("/"), json!({"timeoutSeconds": 1}));
    cluster.configure("Validating", "c", vec![hangs]).await;
    let began = Instant::now();
    let (told, others) = tokio::join!(cluster.refusal("x"), async {
        for name in ["a", "b", "c"] {
            let secret = json!({"metadata": {"name": name}});
            cluster.write("", "secrets", secret).await.unwrap();
        }
        began.elapsed()
    });
    assert!(told.ends_with("context deadline exceeded"), "{told}");
    let took = began.elapsed();
    let timeout = Duration::from_secs(1);
    assert!(took >= timeout && took < timeout + SLACK, "{took:?}");
    assert!(others < timeout, "{others:?}");
}

#[tokio::test]
async fn a_webhook_that_writes_while_it_is_asked_is_not_held_up() {
    let (server, cluster) = (Server::start().await, Cluster::new().await);
    cluster.configure("Mutating", "c", vec![webhook("a", server.url("/"), json!({}))]).await;
    server.then(&[Does::Hangs, Does::Makes(allow)]);
    let inner = async {
        while server.asked().is_empty() {
            tokio::task::yield_now().await;
        }
        cluster.refusal("inner").await
    };
    tokio::select! {
        told = cluster.refusal("outer") => panic!("the webhook hangs, and the write says {told}"),
        told = inner => assert_eq!(told, ""),
    }
}

#[tokio::test]
async fn no_call_outlives_the_request() {
    for (policy, code) in [("Fail", 500), ("Ignore", 504)] {
        let within = Duration::from_millis(300);
        let (server, cluster) = (Server::start().await, Cluster::with_deadline(Some(within)).await);
        let hook = webhook("a", server.url("/"), json!({"failurePolicy": policy}));
        cluster.configure("Mutating", "c", vec![hook]).await;
        let began = Instant::now();
        let refused = cluster.create("x").await.unwrap_err();
        assert!(began.elapsed() < within + SLACK, "{:?}", began.elapsed());
        assert_eq!(refused.code, code, "{}", refused.message);
        assert_eq!(server.asked()[0].uri, "/?timeout=1s");
        // A request without time asks nothing.
        assert_eq!(cluster.create("y").await.unwrap_err().code, 504);
        assert_eq!(server.asked().len(), 0);
    }
}

#[tokio::test]
async fn a_write_that_is_given_up_leaves_nothing_behind() {
    let (server, cluster) = (Server::start().await, Cluster::new().await);
    cluster.configure("Validating", "c", vec![webhook("a", server.url("/"), json!({}))]).await;
    const WRITES: usize = 70;
    let writes = (0..WRITES).map(|number| {
        let cluster = &cluster;
        async move {
            let write = cluster.create("x");
            let given_up = timeout(Duration::from_millis(200), write).await.is_err();
            assert!(given_up, "{number}");
        }
    });
    futures::future::join_all(writes).await;
    // The server may read calls that were given up only now: there is an answer for each.
    server.then(&vec![Does::Makes(allow); WRITES + 1]);
    // The places of all calls are free again.
    timeout(Duration::from_secs(2), cluster.create("y")).await.unwrap().unwrap();
}

#[tokio::test]
async fn the_breaker_keeps_the_meaning_of_the_failure_policy() {
    let cluster = Cluster::new().await;
    let nowhere = || json!({"url": "https://127.0.0.1:1/x"}).into();
    let hook = |policy: &str| webhook("a", nowhere(), json!({"failurePolicy": policy}));
    cluster.configure("Validating", "c", vec![hook("Fail")]).await;
    for _ in 0..20 {
        assert_eq!(cluster.admission.open_breakers().await.unwrap(), []);
        assert!(cluster.refusal("x").await.ends_with("connection refused"));
    }
    let open = cluster.admission.open_breakers().await.unwrap();
    let state = open.first().map(|open| (open.configuration.as_str(), open.failures));
    assert_eq!((open.len(), state), (1, Some(("c", 20))));
    let told = cluster.refusal("x").await;
    assert!(
        told.contains("circuit breaker is open") && told.ends_with("connection refused"),
        "{told}"
    );
    cluster.configure("Validating", "c", vec![hook("Ignore")]).await;
    for number in 0..25 {
        assert_eq!(cluster.refusal(&format!("x{number}")).await, "");
    }
}

/// What is logged, in memory.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn the_log_quotes_neither_objects_nor_answers() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_span_events(tracing_subscriber::fmt::format::FmtSpan::FULL)
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let (server, cluster) = (Server::start().await, Cluster::new().await);
    let mut rule = webhook("a", server.url("/"), json!({}));
    rule["rules"][0]["resources"] = json!(["secrets"]);
    cluster.configure("Mutating", "c", vec![rule]).await;
    let echo: fn(&[u8]) -> String = |review| String::from_utf8_lossy(review).into_owned();
    // A place in the code that another test comes to first counts as of no interest until it is
    // asked for again: what the first round has come to is known in the second one.
    for _ in 0..2 {
        tracing::callsite::rebuild_interest_cache();
        server.then(&[
            Does::Answers(500, "hunter2"),
            Does::Answers(200, "hunter2"),
            Does::Makes(echo),
        ]);
        for _ in 0..3 {
            let secret = json!({"metadata": {"name": "s"}, "stringData": {"password": "hunter2"}});
            cluster.write("", "secrets", secret).await.unwrap_err();
        }
    }
    let text = String::from_utf8(log.0.lock().clone()).unwrap();
    let from_here: Vec<&str> = text.lines().filter(|line| line.contains("quorate")).collect();
    assert!(from_here.iter().any(|line| line.contains("a.hooks.example.com")), "{text}");
    assert!(!from_here.iter().any(|line| line.contains("hunter2")), "{text}");
}
