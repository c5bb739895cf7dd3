//! Webhooks that are kind, slow, and hostile.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use quorate_env::{Network, SystemEnv, VanishingNetwork};
use quorate_meta::Value;
use serde_json::json;

use super::*;
use crate::testing::{Does, Server};

const LIMIT: usize = 1 << 20;

/// Knows the Service `hook`.
#[derive(Debug)]
struct Services(String);

#[async_trait]
impl ServiceResolver for Services {
    async fn resolve(&self, _: &str, name: &str, _: u16) -> Result<String, String> {
        if name == "hook" { Ok(self.0.clone()) } else { Err(format!("service {name:?} not found")) }
    }
}

fn clients(server: &Server) -> Clients {
    clients_over(SystemEnv::env().network, server)
}

fn clients_over(network: Arc<dyn Network>, server: &Server) -> Clients {
    let services = Arc::new(Services(server.address.clone()));
    Clients::new(Outside { network, clock: SystemEnv::env().clock, services, roots: Vec::new() })
}

async fn post(clients: &Clients, config: &Value, millis: u64) -> Result<Answer, CallError> {
    let client = clients.client(&ClientConfig::read(config)?)?;
    let call = Call {
        body: Bytes::from_static(b"{}"),
        query: Some("timeout=1s"),
        timeout: Duration::from_millis(millis),
        max_answer: LIMIT,
    };
    client.post(call).await
}

/// The answer's status and text, or the error.
async fn told(clients: &Clients, config: &Value) -> String {
    match post(clients, config, 5000).await {
        Ok(answer) => {
            format!("{} {}", answer.status.as_u16(), String::from_utf8_lossy(&answer.body))
        }
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn both_protocols_reuse_a_connection() {
    for (protocols, version) in [
        (&[&b"h2"[..], b"http/1.1"][..], http::Version::HTTP_2),
        (&[&b"http/1.1"[..]], http::Version::HTTP_11),
    ] {
        let server = Server::start_with(protocols).await;
        let clients = clients(&server);
        server.then(&[Does::Answers(200, "one"), Does::Answers(500, "two")]);
        let config = server.url("/a?b=c");
        assert_eq!(told(&clients, &config).await, "200 one");
        assert_eq!(told(&clients, &config).await, "500 two");
        let asked = server.asked();
        assert!(asked.iter().all(|asked| asked.version == version), "{asked:?}");
        assert_eq!(asked[0].uri, "/a?b=c&timeout=1s");
        assert_eq!(
            (asked[0].content_type.as_str(), &asked[0].body[..]),
            ("application/json", &b"{}"[..])
        );
        assert_eq!(server.connections(), 1, "{version:?}");
    }
}

#[tokio::test]
async fn a_service_is_resolved_and_has_its_own_name() {
    let server = Server::start().await;
    let clients = clients(&server);
    server.then(&[Does::Answers(200, "yes")]);
    assert_eq!(told(&clients, &server.service("hook")).await, "200 yes");
    assert_eq!(server.asked()[0].version, http::Version::HTTP_11);
    let expect = r#"Post "https://other.ns.svc:443/convert?timeout=1s": service "other" not found"#;
    assert_eq!(told(&clients, &server.service("other")).await, expect);
}

#[tokio::test]
async fn a_changed_configuration_has_its_own_connections() {
    let server = Server::start().await;
    let clients = clients(&server);
    server.then(&[Does::Answers(200, ""), Does::Answers(200, ""), Does::Answers(200, "")]);
    told(&clients, &server.url("/a")).await;
    told(&clients, &server.url("/b")).await;
    told(&clients, &server.url("/a")).await;
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn servers_that_are_not_believed() {
    let (server, other) = (Server::start().await, Server::start().await);
    let clients = clients(&server);
    let check = async |config: Value, expect: &str| {
        let told = told(&clients, &config).await;
        assert!(told.ends_with(expect), "{told}");
    };
    let unknown =
        "tls: failed to verify certificate: x509: certificate signed by unknown authority";
    let with = |field: &str, value: Value| {
        let mut config = server.url("/");
        config.set_at(&[field], value);
        config
    };
    check(with("caBundle", other.url("/").get("caBundle").unwrap().clone()), unknown).await;
    check(with("caBundle", Value::Null), unknown).await;
    check(
        with("caBundle", "bm90aGluZw==".into()),
        "unable to load root certificates: unable to parse bytes as PEM block",
    )
    .await;
    let port = server.address.rsplit_once(':').unwrap().1;
    check(
        with("url", format!("https://localhost:{port}/").into()),
        "x509: certificate is valid for 127.0.0.1, hook.ns.svc, not localhost",
    )
    .await;
    assert_eq!(server.asked(), vec![]);
}

#[tokio::test]
async fn nobody_listens() {
    let server = Server::start().await;
    let (clients, config) = (clients(&server), server.url("/"));
    let address = server.address.clone();
    drop(server);
    // The task that listened ends a moment later.
    for _ in 0..1000 {
        let told = told(&clients, &config).await;
        let expect = format!(
            r#"Post "https://{address}/?timeout=1s": dial tcp {address}: connect: connection refused"#
        );
        if told == expect {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("the port is still served");
}

#[tokio::test]
async fn hostile_answers_end_in_an_error() {
    for protocols in [&[&b"h2"[..]][..], &[&b"http/1.1"[..]]] {
        let server = Server::start_with(protocols).await;
        let (clients, config) = (clients(&server), server.url("/"));
        let check = async |does: Does, millis: u64, expect: Failure| {
            server.then(std::slice::from_ref(&does));
            let error = post(&clients, &config, millis).await.expect_err("it is hostile");
            assert_eq!(error.failure(), expect, "{does:?}: {error}");
            assert!(error.to_string().starts_with("Post \"https://127.0.0.1:"), "{error}");
        };
        check(Does::Hangs, 30, Failure::Timeout).await;
        check(Does::Trickles, 30, Failure::Timeout).await;
        check(Does::Fills(LIMIT + 1), 5000, Failure::TooLarge).await;
        check(Does::Breaks, 5000, Failure::Broken).await;
        // The next call does not suffer for it.
        server.then(&[Does::Answers(200, "fine")]);
        assert_eq!(told(&clients, &config).await, "200 fine");
    }
}

#[tokio::test]
async fn what_is_no_http_is_an_error() {
    let server = Server::start_with(&[b"http/1.1"]).await;
    let (clients, config) = (clients(&server), server.url("/"));
    for bytes in [&b""[..], b"HTTP/1.1 200", b"hello, this is no HTTP\r\n\r\n"] {
        server.then(&[Does::Writes(bytes)]);
        let error = post(&clients, &config, 5000).await.expect_err("it is no HTTP");
        assert_eq!(error.failure(), Failure::Broken, "{error}");
    }
}

#[tokio::test]
async fn a_used_connection_that_broke_is_replaced_once() {
    let server = Server::start_with(&[b"http/1.1"]).await;
    let (clients, config) = (clients(&server), server.url("/"));
    let closing = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
    server.then(&[Does::Writes(closing), Does::Answers(200, "again")]);
    assert_eq!(told(&clients, &config).await, "200 ok");
    assert_eq!(told(&clients, &config).await, "200 again");
    assert_eq!(server.connections(), 2);
}

/// kubernetes#48610 and its like: clients kept sending to a server that was gone, on the connection
/// that they had, for a quarter of an hour.
#[tokio::test]
async fn a_server_that_vanished_is_left_for_another_connection() {
    for (protocols, survives) in [(&[&b"h2"[..]][..], true), (&[&b"http/1.1"[..]], false)] {
        let server = Server::start_with(protocols).await;
        let network = Arc::new(VanishingNetwork::over(SystemEnv::env().network));
        let (clients, config) = (clients_over(network.clone(), &server), server.url("/"));
        server.then(&[
            Does::Answers(200, "one"),
            Does::Answers(200, "two"),
            Does::Answers(200, "three"),
        ]);
        assert_eq!(told(&clients, &config).await, "200 one");
        network.vanish();
        // HTTP/2 asks whether the server lives, and within the time that webhooks have by default
        // the call is made once more.
        let limit = if survives { 10_000 } else { 300 };
        let first = post(&clients, &config, limit).await.map(|answer| answer.body);
        match first {
            Ok(body) => assert_eq!((survives, &body[..]), (true, &b"two"[..])),
            Err(error) => assert_eq!((survives, error.failure()), (false, Failure::Timeout)),
        }
        let next = if survives { "200 three" } else { "200 two" };
        assert_eq!(told(&clients, &config).await, next, "no later call is slow");
        assert_eq!(server.connections(), 2);
    }
}

/// Remembers what it is told.
#[derive(Debug, Default)]
struct Calls(parking_lot::Mutex<Vec<String>>);

impl CallMetrics for Calls {
    fn ended(&self, call: &CallEnd<'_>) {
        let status = call.status.map_or("none".to_owned(), |status| status.as_u16().to_string());
        let line = format!("{status} {} {} {}", call.sent, call.received, !call.took.is_zero());
        self.0.lock().push(line);
    }

    fn sent_again(&self, _: &str) {
        self.0.lock().push("again".to_owned());
    }
}

#[tokio::test]
async fn calls_are_counted() {
    let server = Server::start_with(&[b"http/1.1"]).await;
    let calls = Arc::<Calls>::default();
    let clients = clients(&server).counted_by(calls.clone());
    let config = server.url("/");
    let closing = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
    server.then(&[Does::Writes(closing), Does::Answers(500, "again")]);
    told(&clients, &config).await;
    told(&clients, &config).await;
    let nowhere = json!({"url": "https://127.0.0.1:1/"}).into();
    told(&clients, &nowhere).await;
    // Whether the end of the first connection is known before the second call is the system's to say.
    let mut told = calls.0.lock().clone();
    told.retain(|line| line != "again");
    assert_eq!(told, ["200 2 2 true", "500 2 5 true", "none 2 0 true"]);
}

#[tokio::test]
async fn large_answers_share_one_room() {
    let server = Server::start().await;
    let config = server.url("/");
    let place = ClientConfig::read(&config).unwrap().place;
    let verifier = ServerVerifier::new(certificates(server.authority.as_bytes())).unwrap();
    let env = SystemEnv::env();
    let client = Client::new(ClientOptions {
        place,
        tls: client_tls(verifier, None, &HTTP_2, env.clock).unwrap(),
        authorization: None,
        network: env.network,
        services: None,
        room: AnswerRoom::new(LIMIT),
    });
    let post = async || {
        let timeout = Duration::from_secs(5);
        let call = Call { body: Bytes::new(), query: None, timeout, max_answer: LIMIT };
        client.post(call).await
    };
    let large = LIMIT - LIMIT / 4;
    server.then(&[
        Does::Fills(large),
        Does::Fills(large),
        Does::Answers(200, ""),
        Does::Fills(large),
    ]);
    let first = post().await.unwrap();
    assert_eq!(post().await.unwrap_err().failure(), Failure::TooLarge);
    assert_eq!(post().await.unwrap().body.len(), 0, "small ones need no room");
    assert_eq!(first.body.len(), large);
    drop(first);
    assert_eq!(post().await.unwrap().body.len(), large);
}

#[test]
fn configurations_that_say_nothing() {
    let check = |config: serde_json::Value, expect: &str| {
        let error = ClientConfig::read(&config.into()).unwrap_err();
        assert_eq!((error.to_string().as_str(), error.failure()), (expect, Failure::Config));
    };
    check(json!({}), "neither url nor service is set");
    check(json!({"url": "http://a"}), "the server 'http://a' is no https:// URL");
}
