//! Intruders' connections: certificates of others, ambiguous paths, oversized or slow peers, old
//! protocol versions.

use std::io;
use std::sync::Arc;

use quorate_env::SystemEnv;
use rcgen::{CertificateParams, date_time_ymd};
use rustls::AlertDescription;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::{ATTEMPTS, Castle, PATIENCE, SECRET, Subject};
use crate::tls::{Authority, self_issued};

/// A code, or the alert that ends the connection (RFC 8446, section 6.2).
type Verdict = Result<u16, AlertDescription>;

impl Castle {
    /// The answer to a client that asks for the secret with nothing but this certificate. A client
    /// that gets no answer tries again.
    async fn verdict(&self, subject: &Subject) -> Option<Verdict> {
        for _ in 0..ATTEMPTS {
            let attempt = timeout(PATIENCE, self.verdict_once(subject.clone()));
            if let Some(verdict) = attempt.await.expect("an attempt ends") {
                return Some(verdict);
            }
        }
        None
    }

    async fn verdict_once(&self, subject: Subject) -> Option<Verdict> {
        let io = SystemEnv::env().network.connect(self.handle.address()).await.ok()?;
        let connector = TlsConnector::from(Arc::new(self.config(subject)));
        let mut stream =
            match connector.connect(ServerName::try_from("localhost").unwrap(), io).await {
                Ok(stream) => stream,
                Err(error) => return alert(&error).map(Err),
            };
        let text = format!("GET {SECRET} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        // The server may hang up while the text is still on its way.
        let _ = stream.write_all(text.as_bytes()).await;
        let mut answer = Vec::new();
        match stream.read_to_end(&mut answer).await {
            Err(error) if answer.is_empty() => alert(&error).map(Err),
            _ => {
                let text = String::from_utf8_lossy(&answer);
                let code: u16 = text.split(' ').nth(1)?.parse().ok()?;
                Some(Ok(code))
            }
        }
    }
}

/// The alert that a connection ended with, if it was one.
fn alert(error: &io::Error) -> Option<AlertDescription> {
    match error.get_ref()?.downcast_ref::<rustls::Error>()? {
        rustls::Error::AlertReceived(alert) => Some(*alert),
        _ => None,
    }
}

#[tokio::test]
async fn certificates_of_others() {
    let castle = Castle::new().await;
    let masters = Some("system:masters");
    let good = Some(castle.authority.issue("admin", masters));
    assert_eq!(castle.verdict(&good).await, Some(Ok(200)), "the good one lets in");
    let foreign = Authority::new("client CA");
    let (certificate, _) = castle.authority.issue("admin", masters);
    let admin_with_another_key = Some((certificate, castle.authority.issue("joe", masters).1));
    let past = |params: &mut CertificateParams| params.not_after = date_time_ymd(2020, 1, 1);
    let future = |params: &mut CertificateParams| params.not_before = date_time_ymd(4000, 1, 1);
    let attempts: [(&str, Subject, Verdict); 8] = [
        // The name fits, and the signature does not.
        ("an authority of the same name", Some(foreign.issue("admin", masters)), Ok(401)),
        // A proxy that names no user.
        ("the proxies' authority", Some(castle.proxies.issue("admin", masters)), Ok(401)),
        ("the peers' authority", Some(Authority::new("peer CA").issue("node-1", masters)), Ok(401)),
        ("nobody's name", Some(castle.authority.issue("", masters)), Ok(401)),
        ("itself", Some(self_issued("admin", "system:masters")), Ok(401)),
        ("the past", Some(castle.authority.issue_with("admin", masters, past)), Ok(401)),
        ("the future", Some(castle.authority.issue_with("admin", masters, future)), Ok(401)),
        // A client that has seen a certificate does not have its key.
        ("another key", admin_with_another_key, Err(AlertDescription::DecryptError)),
    ];
    let mut count = 0;
    for (what, subject, expect) in attempts {
        assert_eq!(castle.verdict(&subject).await, Some(expect), "{what}");
        count += 1;
    }
    println!("{count} attempts with certificates, none got in");
    assert_eq!(count, 8);
}

/// Paths to the secret that a proxy or filter might read in another way than the server does.
pub(super) fn twisted_paths() -> Vec<String> {
    let tail = "api/v1/namespaces/a/secrets/treasure";
    let mut paths: Vec<String> = [
        "/livez/../",
        "/livez/%2e%2e/",
        "/livez/..%2f",
        "/livez%2f..%2f",
        "/livez//../",
        "/healthz;/../",
    ]
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
    let castle = Castle::open().await;
    let joe = || Some(castle.authority.issue("joe", Some("dev")));
    assert_eq!(castle.get(None, "/livez", &[]).await, 200, "health needs no credentials here");
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
    let admin = || Some(castle.authority.issue("admin", Some("system:masters")));
    let (long, blanks) = ("x".repeat(300_000), " ".repeat(300_000));
    let credential = |blanks: &str| format!("Bearer {blanks}reader-secret");
    let few = credential(&blanks[..1000]);
    assert_eq!(
        castle.get(None, SECRET, &[("authorization", &few)]).await,
        200,
        "blanks do no harm"
    );
    let path = |length: usize| format!("{SECRET}?{}", &long[..length]);
    assert_eq!(castle.get(admin(), &path(1000), &[]).await, 200, "nor does a query");
    let many: Vec<String> = (0..2000).map(|at| format!("x-{at}")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|name| (name.as_str(), "y")).collect();
    let attempts = [
        ("a long header", castle.get(admin(), SECRET, &[("x-long", &long)]).await, 431),
        (
            "a long credential",
            castle.get(None, SECRET, &[("authorization", &credential(&blanks))]).await,
            431,
        ),
        ("many headers", castle.get(admin(), SECRET, &many).await, 431),
        ("a long path", castle.get(admin(), &path(100_000), &[]).await, 414),
        ("a longer path", castle.get(admin(), &path(300_000), &[]).await, 431),
    ];
    let mut count = 0;
    for (what, code, expect) in attempts {
        // A client whose connection is closed while it still sends may miss the answer.
        assert!(code == 0 || code == expect, "{what} got {code}");
        count += 1;
    }
    for text in
        ["GET ", "GET / HTTP/1.1\r\nslow: ", "\r\n\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"]
    {
        let answer = castle.say(admin(), text).await;
        assert!(!answer.starts_with("HTTP/1.1 2"), "{text:?}: {answer}");
        count += 1;
    }
    println!("{count} attempts that waste room or time, none got in");
    assert_eq!(count, 9);
}

/// Extensions of every ClientHello: signature algorithms, groups, and the form of points.
const EXTENSIONS: &[u8] =
    &[0, 13, 0, 8, 0, 6, 4, 3, 8, 4, 4, 1, 0, 10, 0, 6, 0, 4, 0, 29, 0, 23, 0, 11, 0, 2, 1, 0];

/// A ClientHello of this version (RFC 5246, section 7.4.1.2; the versions before are alike) in
/// which nothing else is amiss.
fn hello(version: [u8; 2], more: &[u8]) -> Vec<u8> {
    let mut body = version.to_vec();
    body.extend([7; 32]);
    // No session; five cipher suites, new ones and old ones; no compression.
    body.extend([0, 0, 10, 0xc0, 0x2b, 0xc0, 0x2f, 0xc0, 0x09, 0xc0, 0x13, 0, 0x2f, 1, 0]);
    let extensions = [EXTENSIONS, more].concat();
    body.extend([0, u8::try_from(extensions.len()).unwrap()]);
    body.extend(extensions);
    let mut message = vec![1, 0, 0, u8::try_from(body.len()).unwrap()];
    message.extend(body);
    let mut record = vec![22, 3, 1, 0, u8::try_from(message.len()).unwrap()];
    record.extend(message);
    record
}

impl Castle {
    /// The server's answer to these bytes over bare TCP.
    async fn say_plainly(&self, bytes: &[u8]) -> Vec<u8> {
        let mut io = SystemEnv::env().network.connect(self.handle.address()).await.unwrap();
        io.write_all(bytes).await.unwrap();
        let mut answer = Vec::new();
        let _ = timeout(PATIENCE, io.read_to_end(&mut answer)).await.expect("the server hangs up");
        answer
    }
}

#[tokio::test]
async fn protocols_that_are_too_old() {
    let castle = Castle::new().await;
    let answer = castle.say_plainly(&hello([3, 3], &[])).await;
    assert!(matches!(answer.as_slice(), [22, ..]), "TLS 1.2 begins with a handshake: {answer:?}");
    // The last says that it is TLS 1.2, and offers 1.1 and 1.0 (RFC 8446, section 4.2.1).
    let older = [0, 43, 0, 5, 4, 3, 2, 3, 1];
    let attempts: [([u8; 2], &[u8]); 5] =
        [([2, 0], &[]), ([3, 0], &[]), ([3, 1], &[]), ([3, 2], &[]), ([3, 3], &older)];
    let mut count = 0;
    for (version, more) in attempts {
        let answer = castle.say_plainly(&hello(version, more)).await;
        // A fatal alert because of the version (RFC 8446, section 6).
        assert!(matches!(answer.as_slice(), [21, _, _, 0, 2, 2, 70]), "{version:?}: {answer:?}");
        count += 1;
    }
    let answer = castle.say_plainly(b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert!(!answer.starts_with(b"HTTP"));
    count += 1;
    println!("{count} attempts with old protocols, none got in");
    assert_eq!(count, 6);
}
