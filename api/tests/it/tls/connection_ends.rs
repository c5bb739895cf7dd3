//! When the server ends a connection: it drains, or the client takes nothing, says nothing or is never
//! let in.

use super::*;

#[tokio::test]
async fn a_drain_ends_watches_and_connections() {
    let running = start().await;
    let admin = running.authority.issue("admin", Some("system:masters"));
    let stream = running.connect(Some(admin), b"h2").await.unwrap();
    let (mut client, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .unwrap();
    let connection = tokio::spawn(connection);
    let answer = client.send_request(request("/api/v1/namespaces?watch=1")).await.unwrap();
    let mut body = answer.into_body();
    assert!(
        body.frame()
            .await
            .unwrap()
            .unwrap()
            .into_data()
            .unwrap()
            .starts_with(b"{\"type\":\"ADDED\"")
    );
    running.handle.shutdown();
    assert!(body.collect().await.unwrap().to_bytes().is_empty(), "the watch ends cleanly");
    let limit = Duration::from_secs(5);
    timeout(limit, running.task).await.expect("the server stops").unwrap();
    timeout(limit, connection).await.expect("the connection ends").unwrap().unwrap();
}

#[tokio::test]
async fn who_watches_may_take_nothing_for_longer_than_others() {
    const OBJECTS: usize = 40;
    /// All of them together are more than sockets hold.
    const VALUE_BYTES: usize = 500_000;
    let short = Duration::from_millis(300);
    let running = start_with(Limits {
        stall: short,
        watch_stall: Duration::from_secs(60),
        ..Limits::default()
    })
    .await;
    let admin = running.authority.issue("admin", Some("system:masters"));
    let ask = async |query: &str| {
        let mut stream = running.connect(Some(admin.clone()), b"http/1.1").await.unwrap();
        let head = format!(
            "GET /api/v1/namespaces/a/configmaps{query} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream
    };
    let mut watch = ask("?watch=1&resourceVersion=1").await;
    let value = "x".repeat(VALUE_BYTES);
    for number in 0..OBJECTS {
        let object =
            json!({"metadata": {"name": format!("m{number}")}, "data": {"k": value}}).to_string();
        let answer =
            running.server.send(Method::POST, "/api/v1/namespaces/a/configmaps", &[], object).await;
        assert_eq!(answer.status, StatusCode::CREATED);
    }
    let mut list = ask("").await;
    sleep(short * 4).await;
    let mut text = Vec::new();
    let _ =
        timeout(Duration::from_secs(60), list.read_to_end(&mut text)).await.expect("the list ends");
    assert!(text.len() < OBJECTS * VALUE_BYTES, "before its end");
    let (mut seen, mut buffer) = (0, vec![0; 1 << 20]);
    while seen < OBJECTS * VALUE_BYTES {
        let read = timeout(Duration::from_secs(60), watch.read(&mut buffer))
            .await
            .expect("the watch goes on")
            .unwrap();
        assert_ne!(read, 0, "the watch has ended after {seen} bytes");
        seen += buffer[..read].iter().filter(|byte| **byte == b'x').count();
    }
}

#[tokio::test]
async fn who_says_nothing_is_hung_up_on() {
    let short = Duration::from_millis(200);
    let running = start_with(Limits { handshake: short, header: short, ..Limits::default() }).await;
    let limit = Duration::from_secs(10);
    let mut silent = SystemEnv::env().network.connect(running.handle.address()).await.unwrap();
    let ended = timeout(limit, silent.read(&mut [0; 1])).await.expect("the handshake has a limit");
    assert!(matches!(ended, Ok(0) | Err(_)));
    let mut slow = running.connect(None, b"http/1.1").await.unwrap();
    slow.write_all(b"GET /version HTTP/1.1\r\nhost: x\r\nslow: ").await.unwrap();
    let mut answer = Vec::new();
    let _ = timeout(limit, slow.read_to_end(&mut answer)).await.expect("the header has a limit");
    assert!(!String::from_utf8_lossy(&answer).starts_with("HTTP/1.1 2"));
    let mut mute = running.connect(None, b"h2").await.unwrap();
    mute.write_all(b"PRI * HTTP").await.unwrap();
    let _ = timeout(limit, mute.read_to_end(&mut answer))
        .await
        .expect("the preface of HTTP/2 has a limit");
}

/// The places that watches take.
async fn watches(running: &Running) -> String {
    let text = running.server.get("/metrics").await.text();
    let name = "apiserver_longrunning_requests{verb=\"WATCH\"";
    let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    line.rsplit(' ').next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn who_has_vanished_is_found_out() {
    let short = Duration::from_millis(300);
    let running = start_with(Limits { ping: short, pong: short, ..Limits::default() }).await;
    let network = VanishingNetwork::over(SystemEnv::env().network);
    let subject = running.authority.issue("admin", Some("system:masters"));
    let mut config = client_config(&running.authority.pem, Some(subject));
    config.alpn_protocols = vec![b"h2".to_vec()];
    let config = Arc::new(config);
    let mut watchers = Vec::new();
    for _ in 0..3 {
        let io = network.connect(running.handle.address()).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let stream = TlsConnector::from(config.clone()).connect(name, io).await.unwrap();
        let (mut client, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
                .await
                .unwrap();
        tokio::spawn(connection);
        let answer = client.send_request(request("/api/v1/namespaces?watch=1")).await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
        watchers.push((client, answer));
    }
    sleep(short * 5).await;
    assert_eq!(watches(&running).await, "3", "who answers may be silent");
    network.vanish();
    let gone = async {
        while watches(&running).await != "0" {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(short * 20, gone).await.expect("their places are free again");
}

#[tokio::test]
async fn who_is_never_let_in_is_hung_up_on() {
    let header = Duration::from_secs(2);
    let running = start_with(Limits { header, ..Limits::default() }).await;
    for requests in [0, 2] {
        let stream = running.connect(None, b"h2").await.unwrap();
        let (mut client, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
                .await
                .unwrap();
        let connection = tokio::spawn(connection);
        for _ in 0..requests {
            assert_eq!(code(&mut client).await, 401);
        }
        let ended =
            timeout(header * 10, connection).await.expect("places of strangers have a limit");
        ended.unwrap().expect("the server takes its leave");
    }
    let mut config =
        client_config(&running.authority.pem, Some(running.authority.issue("joe", None)));
    config.alpn_protocols = vec![b"h2".to_vec()];
    let (mut known, _) = running.client(&Arc::new(config)).await;
    assert_eq!(code(&mut known).await, 403);
    sleep(header * 3).await;
    assert_eq!(code(&mut known).await, 403, "who is known may be silent");
}

#[tokio::test]
async fn a_refusal_reaches_a_client_that_is_still_sending() {
    let running = start().await;
    let admin = || Some(running.authority.issue("admin", Some("system:masters")));
    let length = 4 << 20;
    for (subject, path, expect) in [
        (admin(), "/api/v1/namespaces/a/configmaps", "HTTP/1.1 413 "),
        (admin(), "/api/v1/namespaces/a/nothing", "HTTP/1.1 404 "),
        (None, "/api/v1/namespaces/a/configmaps", "HTTP/1.1 401 "),
    ] {
        let mut stream = running.connect(subject, b"http/1.1").await.unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&vec![b' '; length]).await.expect("the server takes the body");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.expect("an answer and a clean end");
        assert!(answer.starts_with(expect.as_bytes()), "{}", String::from_utf8_lossy(&answer));
    }
}
