//! The table of hostile requests: what they do, and what their bodies are made of.

use std::fmt::Write as _;

use http::Method;

use super::growth;
use crate::harness::Server;

/// Elements of the shorter of two bodies.
const SMALL: usize = 500;
/// Bytes for which the time is printed and bounded, when this variable names them.
pub(super) const BYTES: &str = "HOSTILE_BYTES";
/// Milliseconds of work that a body of so many bytes may make.
pub(super) const MOST_MS: u64 = 1000;

pub(super) const JSON_PATCH: &str = "application/json-patch+json";
pub(super) const MERGE: &str = "application/merge-patch+json";
pub(super) const STRATEGIC: &str = "application/strategic-merge-patch+json";
pub(super) const APPLY: &str = "application/apply-patch+yaml";

/// One kind of request.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) method: Method,
    pub(super) path: &'static str,
    pub(super) media: &'static str,
    /// The body for a number of elements.
    pub(super) body: fn(usize) -> String,
}

/// Runs every case; none may make work out of proportion.
pub(super) async fn check(server: &Server, cases: &[Case]) {
    let mut found = Vec::new();
    for case in cases {
        let work = |count: usize| {
            let body = (case.body)(count);
            async move {
                send(server, case, &body).await;
            }
        };
        found.extend(growth::excess(case.name, SMALL, work).await);
        if let Some(bytes) = std::env::var(BYTES).ok().and_then(|text| text.parse().ok()) {
            found.extend(slowness(server, case, bytes).await);
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

async fn send(server: &Server, case: &Case, body: &str) -> (u16, usize) {
    let separator = if case.path.contains('?') { '&' } else { '?' };
    let path = format!("{}{separator}dryRun=All&fieldManager=hostile", case.path);
    let answer =
        server.send(case.method.clone(), &path, &[("content-type", case.media)], body).await;
    (answer.status.as_u16(), answer.body.len())
}

/// Prints how long a body of so many bytes takes, and says so when that is too long.
async fn slowness(server: &Server, case: &Case, bytes: usize) -> Option<String> {
    let each = ((case.body)(2 * SMALL).len() - (case.body)(SMALL).len()).div_ceil(SMALL).max(1);
    let mut count = bytes / each;
    while (case.body)(count).len() > bytes {
        count = count * 9 / 10;
    }
    let body = (case.body)(count);
    let begin = growth::worked();
    let (status, length) = send(server, case, &body).await;
    let ms = (growth::worked() - begin) / 1_000_000;
    let took = format!("{}: {} bytes, {count} elements: {ms} ms of work", case.name, body.len());
    println!("{took}, {status}, answer of {length} bytes");
    (ms > MOST_MS).then_some(took)
}

/// `element` for each number, with commas between.
pub(super) fn many(count: usize, element: impl Fn(usize) -> String) -> String {
    let mut text = String::new();
    for at in 0..count {
        let comma = if at == 0 { "" } else { "," };
        write!(text, "{comma}{}", element(at)).unwrap();
    }
    text
}
