//! Health endpoints: `/livez`, `/readyz` and `/healthz`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::harness::Server;

/// Lines of the verbose health report about the start of the server.
const STARTED: &str = "[+]poststarthook/generic-apiserver-start-informers ok\n\
                       [+]poststarthook/start-kube-apiserver-admission-initializer ok\n\
                       [+]autoregister-completion ok\n";

#[tokio::test]
async fn short_and_verbose() {
    let server = Server::new();
    for path in [
        "/livez",
        "/readyz",
        "/healthz",
        "/livez/ping",
        "/readyz/shutdown",
        "/livez?exclude=no-such-check",
    ] {
        let answer = server.get_as(path, "application/xml").await;
        assert_eq!((answer.status.as_u16(), answer.text().as_str()), (200, "ok"), "{path}");
        assert_eq!(answer.header("content-type"), "text/plain; charset=utf-8");
    }
    let expect = format!("[+]ping ok\n[+]log ok\n[+]etcd ok\n{STARTED}livez check passed\n");
    assert_eq!(server.get("/livez?verbose").await.text(), expect);
    let text = server.get("/readyz?verbose&exclude=ping&exclude=log&exclude=zz").await.text();
    let excluded = "[+]ping excluded: ok\n[+]log excluded: ok\n";
    let warning = "warn: some health checks cannot be excluded: no matches for \"zz\"\n";
    let expect = format!(
        "{excluded}[+]etcd ok\n[+]quorum ok\n{STARTED}[+]shutdown ok\n{warning}readyz check passed\n"
    );
    assert_eq!(text, expect);
    assert_eq!(server.get("/readyz/autoregister-completion").await.text(), "ok");
    assert_eq!(server.get("/livez/no-such-check").await.status, 404);
}

#[tokio::test]
async fn a_failing_check_and_a_drain() {
    let server = Server::new();
    let healthy = Arc::new(AtomicBool::new(false));
    let probe = healthy.clone();
    server.api.health.add("poststarthook/x", Arc::new(move || probe.load(Ordering::Relaxed)));
    let answer = server.get("/livez").await;
    let expect = format!(
        "[+]ping ok\n[+]log ok\n[+]etcd ok\n{STARTED}[-]poststarthook/x failed: reason withheld\nlivez check failed\n"
    );
    assert_eq!((answer.status.as_u16(), answer.text()), (500, expect));
    assert_eq!(server.get("/livez?exclude=poststarthook/x").await.status, 200);
    let one = server.get("/livez/poststarthook/x").await;
    assert_eq!(
        (one.status.as_u16(), one.text().as_str()),
        (500, "internal server error: not finished\n")
    );
    healthy.store(true, Ordering::Relaxed);
    assert_eq!(server.get("/readyz").await.status, 200);
    server.api.lifecycle.stop_being_ready();
    assert_eq!(server.get("/readyz").await.status, 500);
    let one = server.get("/readyz/shutdown").await;
    assert_eq!(
        (one.status.as_u16(), one.text().as_str()),
        (500, "internal server error: process is shutting down\n")
    );
    assert_eq!(server.get("/livez").await.status, 200);
}
