//! Intruders' HTTP/2 streams, frame by frame: what HTTP/1.1 has as well, what a well-behaved client
//! would not send, and more of it than is good.

use std::iter;

use futures::future::join_all;
use tokio::time::timeout;

use super::connections::twisted_paths;
use super::frames::{CONTINUATION, END_HEADERS, END_STREAM, FRAME_BYTES, HEADERS, RESET};
use super::frames::{block, frame, get, put, request};
use super::headers::CLAIMS;
use super::{Castle, EVE, PATIENCE, SECRET};

#[tokio::test]
async fn headers_of_others_in_frames() {
    let castle = Castle::new().await;
    let lower = |headers: &[(&'static str, &'static str)]| -> Vec<(String, &'static str)> {
        headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), *value)).collect()
    };
    let with = |headers: &[(&'static str, &'static str)]| {
        let headers = lower(headers);
        let mut fields = get(SECRET);
        fields.extend(headers.iter().map(|(name, value)| (name.as_str(), *value)));
        request(1, &block(&fields))
    };
    castle.serves().await;
    let proxy = Some(castle.proxies.issue("front", None));
    assert_eq!(castle.send(proxy, &with(CLAIMS)).await, 200, "a proxy may");
    let eve = Some(castle.authority.issue("eve", None));
    assert_eq!(castle.send(eve, &with(&[])).await, 200, "eve may");
    assert_eq!(castle.send(None, &with(&[EVE])).await, 200, "with her token as well");
    let mut count = 0;
    for (subject, headers, expect) in castle.pretenders() {
        let code = castle.send(subject, &with(&headers)).await;
        count += Castle::refused_with(&format!("{headers:?}"), code, expect);
    }
    println!("{count} attempts with headers over HTTP/2, none got in");
    assert_eq!(count, 22);
}

#[tokio::test]
async fn paths_in_frames() {
    let castle = Castle::new().await;
    castle.serves().await;
    let joe = Some(castle.authority.issue("joe", Some("dev")));
    let mut paths = twisted_paths();
    paths.extend(["", "*", &SECRET[1..], "//localhost/livez/../x"].map(str::to_owned));
    paths.push(format!("{SECRET}#/livez"));
    let mut count = 0;
    for path in &paths {
        for subject in [None, joe.clone()] {
            count += Castle::refused(path, castle.ask(subject, &get(path)).await);
        }
    }
    println!("{count} attempts with paths over HTTP/2, none got in");
    assert_eq!(count, 74);
}

#[tokio::test]
async fn authorities_that_are_not_the_host() {
    let castle = Castle::new().await;
    castle.serves().await;
    let joe = Some(castle.authority.issue("joe", Some("dev")));
    let (method, scheme, path) = ((":method", "GET"), (":scheme", "https"), (":path", SECRET));
    let attempts = [
        vec![method, scheme, (":authority", "elsewhere"), path, ("host", "localhost")],
        vec![method, scheme, (":authority", "localhost"), path, ("host", "elsewhere")],
        vec![
            method,
            scheme,
            (":authority", "localhost"),
            path,
            ("host", "localhost"),
            ("host", "elsewhere"),
        ],
        vec![method, scheme, (":authority", "admin:admin@localhost"), path],
        vec![method, scheme, (":authority", "localhost/livez?"), path],
        vec![method, scheme, (":authority", ""), path],
        vec![method, scheme, path, ("host", "localhost/livez")],
        vec![method, scheme, path],
        vec![method, (":scheme", "http"), (":authority", "localhost"), path],
        vec![method, (":scheme", "file"), (":authority", ""), path],
        vec![(":method", "get"), scheme, (":authority", "localhost"), path],
        vec![(":method", "CONNECT"), (":authority", "localhost")],
    ];
    let mut count = 0;
    for fields in &attempts {
        for subject in [None, joe.clone()] {
            count += Castle::refused(&format!("{fields:?}"), castle.ask(subject, fields).await);
        }
    }
    println!("{count} attempts with authorities over HTTP/2, none got in");
    assert_eq!(count, 24);
}

/// Malformed requests: one that could be read in two ways is refused, for every client.
#[tokio::test]
async fn malformed_requests() {
    let castle = Castle::new().await;
    castle.serves().await;
    let admin = castle.admin();
    let further = [
        (":path", "/livez"),
        (":method", "GET"),
        (":authority", "elsewhere"),
        (":status", "200"),
        (":protocol", "websocket"),
        (":admin", "true"),
        ("connection", "x-remote-user"),
        ("transfer-encoding", "chunked"),
        ("upgrade", "h2c"),
        ("te", "gzip"),
        ("content-length", "5"),
        ("content-length", "-1"),
        ("X-Upper", "case"),
        ("x-two\r\nx-lines", "a"),
        ("x-lines", "a\r\nx-remote-user: admin"),
        ("x-nothing", "\0"),
    ];
    let mut attempts: Vec<Vec<(&str, &str)>> =
        further.iter().map(|field| [get(SECRET).as_slice(), &[*field]].concat()).collect();
    for missing in [0, 1, 3] {
        let mut fields = get(SECRET);
        fields.remove(missing);
        attempts.push(fields);
    }
    let mut late = get(SECRET);
    late.insert(3, ("x-early", "a"));
    attempts.push(late);
    let mut count = 0;
    for fields in &attempts {
        count += Castle::refused(&format!("{fields:?}"), castle.ask(admin.clone(), fields).await);
    }
    for stream in [0, 2] {
        let frames = request(stream, &block(&get(SECRET)));
        count +=
            Castle::refused("a stream of the server's", castle.send(admin.clone(), &frames).await);
    }
    println!("{count} malformed attempts over HTTP/2, none got in");
    assert_eq!(count, 22);
}

#[tokio::test]
async fn header_lists_that_are_too_large() {
    let castle = Castle::new().await;
    let admin = castle.admin();
    let long = "x".repeat(300_000);
    let path = format!("{SECRET}?{long}");
    // Blanks do no harm.
    let credential = format!("Bearer {}reader-secret", " ".repeat(300_000));
    let good = block(&get(SECRET));
    let many: String = (0..8000).map(|at| format!("x-{at:04} ")).collect();
    let many: Vec<(&str, &str)> = many.split_whitespace().map(|name| (name, "y")).collect();
    // A field that is remembered, and then named again and again (RFC 7541, sections 6.2.1 and
    // 6.1).
    let mut bomb = vec![0x40];
    put(&mut bomb, "x-bomb");
    put(&mut bomb, &long[..4000]);
    bomb.extend([0xbe; 10_000]);
    let attempts = [
        ("a long header", admin.clone(), [good.clone(), block(&[("x-long", &long)])].concat()),
        (
            "a long credential",
            None,
            [good.clone(), block(&[("authorization", &credential)])].concat(),
        ),
        ("a long path", admin.clone(), block(&get(&path))),
        ("many headers", admin.clone(), [good.clone(), block(&many)].concat()),
        ("a header many times", admin, [good, bomb].concat()),
    ];
    let mut count = 0;
    for (what, subject, block) in attempts {
        count += Castle::refused(what, castle.send(subject, &request(1, &block)).await);
        castle.serves().await;
    }
    println!("{count} attempts that waste room over HTTP/2, none got in");
    assert_eq!(count, 5);
}

#[tokio::test]
async fn headers_without_an_end() {
    let castle = Castle::new().await;
    let good = block(&get(SECRET));
    // The length of a text that is longer than anything that comes.
    let endless = [0, 127, 0xff, 0xff, 0xff, 0x7f];
    let floods = [
        (good.clone(), Vec::new()),
        (good.clone(), block(&[("x-a", "b")])),
        (good.clone(), vec![0]),
        ([good, endless.to_vec()].concat(), vec![b'x'; FRAME_BYTES]),
    ];
    let floods = floods.iter().map(|(first, then)| {
        let first = frame(HEADERS, END_STREAM, 1, first);
        let then = frame(CONTINUATION, 0, 1, then);
        castle.flood(None, iter::once(first).chain(iter::repeat(then)))
    });
    let floods: Vec<_> = floods.collect();
    let count = floods.len();
    tokio::join!(join_all(floods), castle.serves());
    println!("{count} attempts to send headers for ever, none kept anybody out");
    assert_eq!(count, 4);
}

#[tokio::test]
async fn requests_that_are_taken_back_at_once() {
    /// Requests of one connection.
    const MANY: u32 = 2000;
    /// Requests that are sent together.
    const BATCH: u32 = 100;
    let castle = Castle::new().await;
    let fields = block(&get(SECRET));
    let batch = |number: u32| -> Vec<u8> {
        let requests = (0..BATCH).map(|at| {
            let stream = 2 * (number * BATCH + at) + 1;
            // The code says CANCEL (RFC 9113, section 7).
            [request(stream, &fields), frame(RESET, 0, stream, &[0, 0, 0, 8])].concat()
        });
        requests.flatten().collect()
    };
    let mallory = Some(castle.authority.issue("mallory", Some("system:masters")));
    let joe = Some(castle.authority.issue("joe", Some("dev")));
    let floods = [None, joe, mallory.clone(), mallory]
        .map(|who| castle.flood(who, (0..MANY / BATCH).map(batch)));
    let count = floods.len();
    tokio::join!(join_all(floods), castle.serves());
    castle.serves().await;
    println!(
        "{count} floods of {MANY} requests that are taken back at once, none kept anybody out"
    );
    assert_eq!(count, 4);
}

#[tokio::test]
async fn strangers_that_stay() {
    let castle = Castle::new().await;
    let good = block(&get(SECRET));
    let attempts = [
        (None, Vec::new()),
        (castle.admin(), Vec::new()),
        (None, request(1, &good)),
        (None, frame(HEADERS, END_HEADERS, 1, &good)),
        (castle.admin(), frame(HEADERS, END_STREAM, 1, &good)),
    ];
    let stays = attempts.iter().map(|(subject, frames)| castle.squat(subject.clone(), frames));
    let stays: Vec<_> = stays.collect();
    let count = stays.len();
    timeout(PATIENCE, join_all(stays)).await.expect("the server hangs up on each of them");
    castle.serves().await;
    println!("{count} attempts to keep a place over HTTP/2, none kept it");
    assert_eq!(count, 5);
}
