//! Connections: whose certificate, which headers, which path, how much and how slow, and how old.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use quorate_store::env::SystemEnv;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;

use super::{Castle, PATIENCE, SECRET, Subject};
use crate::tls::{Authority, self_issued};

#[tokio::test]
async fn certificates_of_others() {
    let castle = Castle::new().await;
    let masters = Some("system:masters");
    let good = Some(castle.authority.issue("admin", masters));
    assert_eq!(castle.get(good, "/api/v1/namespaces", &[]).await, 200, "the good one lets in");
    let foreign = Authority::new("client CA");
    let attempts: [(&str, Subject); 5] = [
        ("an authority of the same name", Some(foreign.issue("admin", masters))),
        ("the proxies' authority", Some(castle.proxies.issue("admin", masters))),
        ("the peers' authority", Some(Authority::new("peer CA").issue("node-1", masters))),
        ("nobody's name", Some(castle.authority.issue("", masters))),
        ("itself", Some(self_issued("admin", "system:masters"))),
    ];
    let mut count = 0;
    for (what, subject) in attempts {
        count += Castle::refused(what, castle.get(subject, SECRET, &[]).await);
    }
    println!("{count} attempts with certificates, none got in");
    assert_eq!(count, 5);
}

/// What a proxy says about whom it speaks for.
pub(super) const CLAIMS: &[(&str, &str)] = &[("X-Remote-User", "admin"), ("X-Remote-Group", "system:masters")];
const IMPERSONATE: &[(&str, &str)] = &[("Impersonate-User", "admin"), ("Impersonate-Group", "system:masters")];
const ANN: (&str, &str) = ("Authorization", "Bearer static-secret");

type Headers = Vec<(&'static str, &'static str)>;

impl Castle {
    /// Headers that only others may send, and who sends them.
    pub(super) fn pretenders(&self) -> Vec<(Subject, Headers)> {
        let joe = || Some(self.authority.issue("joe", Some("dev")));
        let admin = || Some(self.authority.issue("admin", Some("system:masters")));
        vec![
            (None, CLAIMS.to_vec()),
            (joe(), CLAIMS.to_vec()),
            (None, [CLAIMS, &[ANN]].concat()),
            (None, IMPERSONATE.to_vec()),
            (joe(), IMPERSONATE.to_vec()),
            (joe(), IMPERSONATE[1..].to_vec()),
            (joe(), vec![("Impersonate-User", ""), IMPERSONATE[1]]),
            (joe(), vec![("impersonate-user", "joe"), IMPERSONATE[1]]),
            (joe(), vec![("Impersonate-Uid", "1")]),
            (joe(), vec![("Impersonate-Extra-Scopes", "all")]),
            (admin(), [IMPERSONATE, &[("Impersonate-User", "joe")]].concat()),
            (admin(), [IMPERSONATE, &[("Impersonate-Uid", "1"), ("Impersonate-Uid", "2")]].concat()),
            (None, [IMPERSONATE, &[ANN]].concat()),
            (None, vec![ANN, ("Authorization", "Bearer other")]),
            (None, vec![("Authorization", "Basic YWRtaW46YWRtaW4="), ANN]),
            (None, vec![("Proxy-Authorization", "Bearer static-secret")]),
            (None, vec![("X-Original-URL", "/livez"), ("X-Forwarded-User", "admin")]),
            (None, vec![("X-HTTP-Method-Override", "GET"), ("X-Forwarded-Client-Cert", "Subject=\"CN=admin\"")]),
            (Some(self.proxies.issue("front", Some("system:masters"))), Vec::new()),
            (Some(self.proxies.issue("front", None)), CLAIMS[1..].to_vec()),
        ]
    }
}

#[tokio::test]
async fn headers_that_only_a_proxy_may_send() {
    let castle = Castle::new().await;
    let proxy = Some(castle.proxies.issue("front", None));
    assert_eq!(castle.get(proxy, "/api/v1/namespaces", CLAIMS).await, 200, "a proxy may");
    let mut count = 0;
    for (subject, headers) in castle.pretenders() {
        count += Castle::refused(&format!("{headers:?}"), castle.get(subject, SECRET, &headers).await);
    }
    println!("{count} attempts with headers, none got in");
    assert_eq!(count, 20);
}

/// Paths to the secret that somebody might read in another way than the server does.
pub(super) fn twisted_paths() -> Vec<String> {
    let tail = "api/v1/namespaces/a/secrets/treasure";
    let mut paths: Vec<String> =
        ["/livez/../", "/livez/%2e%2e/", "/livez/..%2f", "/livez%2f..%2f", "/livez//../", "/healthz;/../"]
            .iter()
            .chain(&[
                "//",
                "/./",
                "/%2f",
                "/../",
                "/apis/../",
                "/apis/%2e%2e/",
                "/openapi/v3/../../",
                "/version/../",
                "/api/../",
            ])
            .map(|head| format!("{head}{tail}"))
            .collect();
    paths.extend(
        [
            "/api//v1/namespaces/a/secrets/treasure",
            "/api/v1//namespaces/a/secrets/treasure",
            "/api/v1/namespaces//secrets/treasure",
            "/api/v1/namespaces/a//secrets/treasure",
            "/api/v1/namespaces/a/secrets//treasure",
            "/api/v1/namespaces/a%2fsecrets/treasure",
            "/api/v1/namespaces/a/secrets%2ftreasure",
            "/api/v1/namespaces/a/configmaps/../secrets/treasure",
            "/api/v1/namespaces/a/configmaps/%2e%2e/secrets/treasure",
            "/api/v1/namespaces/a/configmaps/x%2f..%2f..%2fsecrets%2ftreasure",
            "/api/v1/namespaces/a/secrets/treasure%00",
            "/api/v1/namespaces/a/secrets/treasure?/livez",
            "/API/V1/namespaces/a/secrets/treasure",
            "/api/v1/watch/namespaces/a/secrets/treasure",
            "/api/v1/namespaces/a/secrets?watch=1&timeoutSeconds=1",
            "https://localhost/api/v1/namespaces/a/secrets/treasure",
            "/\\..\\api/v1/namespaces/a/secrets/treasure",
        ]
        .map(str::to_owned),
    );
    paths
}

#[tokio::test]
async fn paths_that_mean_to_be_read_twice() {
    let castle = Castle::new().await;
    let joe = || Some(castle.authority.issue("joe", Some("dev")));
    assert_ne!(castle.get(None, "/livez", &[]).await, 401, "health needs no credentials here");
    let mut count = 0;
    for path in &twisted_paths() {
        for subject in [None, joe()] {
            count += Castle::refused(path, castle.get(subject, path, &[]).await);
        }
    }
    println!("{count} attempts with paths, none got in");
    assert_eq!(count, 64);
}

#[tokio::test]
async fn peers_that_waste_room_and_time() {
    let castle = Castle::new().await;
    let long = "x".repeat(300_000);
    let many: Vec<String> = (0..2000).map(|at| format!("x-{at}")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|name| (name.as_str(), "y")).collect();
    let admin = || Some(castle.authority.issue("admin", Some("system:masters")));
    let mut count = 0;
    count += Castle::refused("a long header", castle.get(admin(), SECRET, &[("x-long", &long)]).await);
    count += Castle::refused("a long credential", castle.get(None, SECRET, &[("authorization", &long)]).await);
    count += Castle::refused("many headers", castle.get(admin(), SECRET, &many).await);
    count += Castle::refused("a long path", castle.get(admin(), &format!("{SECRET}{long}"), &[]).await);
    for text in ["GET ", "GET / HTTP/1.1\r\nslow: ", "\r\n\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"] {
        let answer = castle.say(admin(), text).await;
        assert!(!answer.starts_with("HTTP/1.1 2"), "{text:?}: {answer}");
        count += 1;
    }
    println!("{count} attempts that waste room or time, none got in");
    assert_eq!(count, 8);
}

impl Castle {
    /// Sends a request's header drop by drop, for as long as the server takes it.
    async fn drip(&self) {
        let io = SystemEnv::env().network.connect(self.handle.address()).await.unwrap();
        let connector = TlsConnector::from(Arc::new(self.config(None)));
        // So many handshakes at once may take longer than the server allows, which is refusal enough.
        let Ok(stream) = connector.connect(ServerName::try_from("localhost").unwrap(), io).await else { return };
        let (mut reader, mut writer) = tokio::io::split(stream);
        let drops = async {
            let mut line = "GET / HTTP/1.1\r\n";
            while writer.write_all(line.as_bytes()).await.is_ok() {
                line = "x: y\r\n";
                sleep(Duration::from_millis(100)).await;
            }
        };
        let mut answer = Vec::new();
        tokio::select! {
            () = drops => {}
            _ = reader.read_to_end(&mut answer) => {}
        }
        assert!(!answer.starts_with(b"HTTP/1.1 2"));
    }
}

#[tokio::test]
async fn many_who_never_finish_keep_nobody_out() {
    const MANY: usize = 64;
    let castle = Castle::new().await;
    let drips = join_all((0..MANY).map(|_| castle.drip()));
    let admin = castle.authority.issue("admin", Some("system:masters"));
    let (_, served) = tokio::join!(
        async { timeout(PATIENCE, drips).await.expect("the server hangs up on each of them") },
        castle.get(Some(admin), "/api/v1/namespaces", &[])
    );
    assert_eq!(served, 200);
    println!("{MANY} attempts to take the server's time, none kept anybody out");
}

/// A ClientHello that offers nothing newer than this version (RFC 5246, appendix A.4; the versions before are alike).
fn hello(version: [u8; 2]) -> Vec<u8> {
    let mut body = version.to_vec();
    body.extend([7; 32]);
    // No session; four old cipher suites; no compression; no extensions.
    body.extend([0, 0, 8, 0xc0, 0x13, 0xc0, 0x14, 0, 0x2f, 0, 0x35, 1, 0]);
    let mut message = vec![1, 0, 0, u8::try_from(body.len()).unwrap()];
    message.extend(body);
    let mut record = vec![22, 3, 1, 0, u8::try_from(message.len()).unwrap()];
    record.extend(message);
    record
}

#[tokio::test]
async fn protocols_that_are_too_old() {
    let castle = Castle::new().await;
    let mut count = 0;
    for version in [[2, 0], [3, 0], [3, 1], [3, 2]] {
        let mut io = SystemEnv::env().network.connect(castle.handle.address()).await.unwrap();
        io.write_all(&hello(version)).await.unwrap();
        let mut answer = Vec::new();
        let _ = timeout(PATIENCE, io.read_to_end(&mut answer)).await.expect("the server hangs up");
        // An alert or nothing, never a handshake message.
        assert!(answer.first().is_none_or(|kind| *kind == 21), "{version:?}: {answer:?}");
        count += 1;
    }
    let mut plain = SystemEnv::env().network.connect(castle.handle.address()).await.unwrap();
    plain.write_all(b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    let _ = timeout(PATIENCE, plain.read_to_end(&mut answer)).await.expect("the server hangs up");
    assert!(!answer.starts_with(b"HTTP"));
    count += 1;
    println!("{count} attempts with old protocols, none got in");
    assert_eq!(count, 5);
}
