//! The `timeout` parameter: how long a request may take, as its client says.

use std::time::Duration;

use tokio::time::Instant;

use crate::harness::Server;

const MAPS: &str = "/api/v1/namespaces/a/configmaps";

#[tokio::test]
async fn what_is_no_duration_is_refused() {
    let server = Server::with_namespace().await;
    let check = async |path: &str, expect: Result<(), &str>| {
        let answer = server.get(path).await;
        let status = answer.status.as_u16();
        let Err(problem) = expect else {
            return assert_eq!(status, 200, "{path}: {}", answer.text());
        };
        let message = format!("invalid timeout specified in the request URL - time: {problem}");
        let body = answer.json();
        assert_eq!(
            (status, &body["reason"], &body["message"]),
            (400, &"BadRequest".into(), &message.into()),
            "{path}"
        );
    };
    for path in [MAPS, "/healthz", "/version", "/api", "/api/v1/namespaces/a"] {
        check(&format!("{path}?timeout=abc"), Err("invalid duration \"abc\"")).await;
        check(&format!("{path}?timeout=5"), Err("missing unit in duration \"5\"")).await;
        check(&format!("{path}?timeout=5x"), Err("unknown unit \"x\" in duration \"5x\"")).await;
        for fine in ["", "0", "0s", "-1s", "32s", "1h"] {
            check(&format!("{path}?timeout={fine}"), Ok(())).await;
        }
    }
    check(&format!("{MAPS}?watch=1&timeout=abc&timeoutSeconds=-1"), Ok(())).await;
}

#[tokio::test(start_paused = true)]
async fn a_request_takes_no_longer() {
    let server = Server::with_namespace().await;
    for path in [MAPS, "/api/v1/namespaces/a/configmaps/m"] {
        let begin = Instant::now();
        let answer = server.get(&format!("{path}?resourceVersion=1000000&timeout=1s")).await;
        assert_eq!(answer.status, 504, "{}", answer.text());
        assert!(begin.elapsed() <= Duration::from_secs(1), "{path}");
    }
}
