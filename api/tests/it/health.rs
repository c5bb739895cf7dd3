//! Health endpoints: `/livez`, `/readyz` and `/healthz`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::Method;
use quorate_api::health::{AUTOREGISTER_COMPLETION, LOG, Probes, STORE};
use quorate_meta::Naming;
use quorate_store::Retention;

use crate::harness::Server;

const BOOTSTRAP: &str = "poststarthook/bootstrap-controller";

/// Adds a check that passes while the switch is on.
fn add(server: &Server, name: &str) -> Arc<AtomicBool> {
    let switch = Arc::new(AtomicBool::new(true));
    let probe = switch.clone();
    let probes = Probes::of(move || probe.load(Ordering::Relaxed));
    server.api.health.add(name, probes).unwrap();
    switch
}

#[tokio::test]
async fn short_and_verbose() {
    let server = Server::new();
    // Whatever the order in which they come, the report has its own.
    for name in [BOOTSTRAP, STORE, AUTOREGISTER_COMPLETION, LOG] {
        add(&server, name);
    }
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
    let start = format!("[+]{BOOTSTRAP} ok\n[+]autoregister-completion ok\n");
    let expect = format!("[+]ping ok\n[+]log ok\n[+]etcd ok\n{start}healthz check passed\n");
    assert_eq!(server.get("/livez?verbose").await.text(), expect);
    let text = server.get("/readyz?verbose&exclude=ping&exclude=log&exclude=zz").await.text();
    let excluded = "[+]ping excluded: ok\n[+]log excluded: ok\n";
    let warning = "warn: some health checks cannot be excluded: no matches for \"zz\"\n";
    let expect =
        format!("{excluded}[+]etcd ok\n{start}[+]shutdown ok\n{warning}healthz check passed\n");
    assert_eq!(text, expect);
    assert_eq!(server.get("/readyz/autoregister-completion").await.text(), "ok");
    assert_eq!(server.get("/livez/no-such-check").await.status, 404);
    assert!(server.api.health.add("poststarthook/no-such-check", Probes::of(|| true)).is_err());
}

#[tokio::test]
async fn every_method_is_answered_the_same() {
    let server = Server::new();
    for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PURGE"] {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let check = async |path: &str, expect: (u16, &str)| {
            let answer = server.send(method.clone(), path, &[], "{}").await;
            let text = answer.text();
            let text = if answer.status == 200 { text.as_str() } else { "" };
            assert_eq!((answer.status.as_u16(), text), expect, "{method} {path}");
        };
        for path in ["/livez", "/readyz", "/healthz", "/livez/ping", "/readyz/shutdown"] {
            check(path, (200, "ok")).await;
        }
        for path in ["/livez/", "/livez//", "/livez//ping", "/livez/ping/", "/livez/no", "/livezz"]
        {
            check(path, (404, "")).await;
        }
    }
    let head = server.send(Method::HEAD, "/livez", &[], "").await;
    assert_eq!((head.status.as_u16(), head.body.len()), (200, 0));
}

#[tokio::test]
async fn the_other_profile_has_other_names() {
    let server = Server::with(Naming::Kubernetes, Retention::default());
    add(&server, "poststarthook/start-apiserver-admission-initializer");
    let text = server.get("/readyz?verbose").await.text();
    let expect = "[+]ping ok\n[+]etcd-readiness ok\n\
                  [+]poststarthook/start-apiserver-admission-initializer ok\n\
                  [+]shutdown ok\nreadyz check passed\n";
    assert_eq!(text, expect);
    let server = Server::new();
    add(&server, "poststarthook/start-apiserver-admission-initializer");
    // Known to the other profile only.
    add(&server, "poststarthook/start-system-namespaces-controller");
    let text = server.get("/livez?verbose").await.text();
    let hook = "[+]poststarthook/start-kube-apiserver-admission-initializer ok\n";
    assert_eq!(text, format!("[+]ping ok\n{hook}healthz check passed\n"));
}

#[tokio::test]
async fn a_failing_check_and_a_drain() {
    let server = Server::new();
    let healthy = add(&server, BOOTSTRAP);
    healthy.store(false, Ordering::Relaxed);
    let answer = server.get("/livez").await;
    let expect =
        format!("[+]ping ok\n[-]{BOOTSTRAP} failed: reason withheld\nhealthz check failed\n");
    assert_eq!((answer.status.as_u16(), answer.text()), (500, expect));
    assert_eq!(server.get(&format!("/livez?exclude={BOOTSTRAP}")).await.status, 200);
    let one = server.get(&format!("/livez/{BOOTSTRAP}")).await;
    assert_eq!(
        (one.status.as_u16(), one.text().as_str()),
        (500, "internal server error: not finished\n")
    );
    healthy.store(true, Ordering::Relaxed);
    assert_eq!(server.get("/readyz").await.status, 200);
    // What has happened after the start has happened.
    healthy.store(false, Ordering::Relaxed);
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

#[tokio::test]
async fn what_lasts_is_checked_each_time() {
    let server = Server::new();
    let log = add(&server, LOG);
    for works in [true, false, true] {
        log.store(works, Ordering::Relaxed);
        let expect = if works { 200 } else { 500 };
        for path in ["/livez", "/readyz", "/healthz", "/readyz/log"] {
            assert_eq!(server.get(path).await.status, expect, "{path}");
        }
    }
}

#[tokio::test]
async fn liveness_waits_for_no_other_node() {
    let server = Server::new();
    let probes = Probes::of(|| false).while_alive(|| true);
    server.api.health.add(BOOTSTRAP, probes).unwrap();
    assert_eq!(server.get("/livez").await.status, 200);
    assert_eq!(server.get("/healthz").await.status, 200);
    assert_eq!(server.get("/readyz").await.status, 500);
}

#[tokio::test(start_paused = true)]
async fn a_period_of_grace_is_for_liveness_and_the_start() {
    let server = Server::new();
    let (hook, log) = (add(&server, BOOTSTRAP), add(&server, LOG));
    hook.store(false, Ordering::Relaxed);
    server.api.health.begin_grace(Duration::from_secs(30));
    let check = async |path: &str, expect: u16| {
        assert_eq!(server.get(path).await.status, expect, "{path}");
    };
    check("/livez", 200).await;
    check("/healthz", 500).await;
    check("/readyz", 500).await;
    log.store(false, Ordering::Relaxed);
    check("/livez", 500).await;
    log.store(true, Ordering::Relaxed);
    tokio::time::advance(Duration::from_secs(31)).await;
    check("/livez", 500).await;
}
