//! Answers that are no success, in the words of Kubernetes' clients.

use http::StatusCode;
use serde::Deserialize;

/// Characters of a body that are told.
const MAX_TOLD: usize = 2048;

/// What is read of a `Status`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Told {
    kind: String,
    status: String,
    message: String,
}

/// Why an answer is no success; `None` when it is one.
pub(super) fn problem(code: StatusCode, body: &[u8]) -> Option<String> {
    if (200..=206).contains(&code.as_u16()) {
        return None;
    }
    let told: Told = serde_json::from_slice(body).unwrap_or_default();
    if told.kind == "Status" && told.status != "Success" && !told.message.is_empty() {
        return Some(shortened(&told.message));
    }
    let text = String::from_utf8_lossy(body);
    let text = match shortened(text.trim()) {
        text if text.is_empty() => "unknown".to_owned(),
        text => text,
    };
    Some(match code.as_u16() {
        400 => "the server rejected our request for an unknown reason".to_owned(),
        401 => "the server has asked for the client to provide credentials".to_owned(),
        403 => text,
        404 => "the server could not find the requested resource".to_owned(),
        405 => "the server does not allow this method on the requested resource".to_owned(),
        409 => "the server reported a conflict".to_owned(),
        422 => "the server rejected our request due to an error in our request".to_owned(),
        429 => "the server has received too many requests and has asked us to try again later"
            .to_owned(),
        503 => "the server is currently unable to handle the request".to_owned(),
        504 => "the server was unable to return a response in the time allotted, but may still \
                be processing the request"
            .to_owned(),
        500.. => {
            format!("an error on the server ({text:?}) has prevented the request from succeeding")
        }
        other => format!(
            "the server responded with the status code {other} but did not return more information"
        ),
    })
}

fn shortened(text: &str) -> String {
    text.chars().take(MAX_TOLD).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers() {
        let check = |code: u16, body: &str, expect: Option<&str>| {
            let code = StatusCode::from_u16(code).unwrap();
            assert_eq!(problem(code, body.as_bytes()).as_deref(), expect, "{code} {body}");
        };
        check(200, "x", None);
        check(201, "", None);
        check(404, "", Some("the server could not find the requested resource"));
        let failed = r#"an error on the server ("oops") has prevented the request from succeeding"#;
        check(500, "oops\n", Some(failed));
        check(403, r#"{"kind":"Status","status":"Failure","message":"go away"}"#, Some("go away"));
        check(
            403,
            r#"{"kind":"Other","message":"no"}"#,
            Some(r#"{"kind":"Other","message":"no"}"#),
        );
        check(
            302,
            "",
            Some(
                "the server responded with the status code 302 but did not return more information",
            ),
        );
        let long = "é".repeat(5000);
        let text = problem(StatusCode::FORBIDDEN, long.as_bytes()).unwrap();
        assert_eq!(text.chars().count(), MAX_TOLD);
    }
}
