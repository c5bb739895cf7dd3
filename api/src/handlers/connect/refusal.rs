//! The refusal of a kubelet as a Status, worded as clients of Kubernetes know it.

use bytes::BytesMut;
use futures::StreamExt;
use http::StatusCode;
use quorate_meta::{Details, Reason, Status};
use quorate_registry::error::Error;

use crate::body::Chunks;

/// Bytes of a refusal that are passed on.
const MAX_BYTES: usize = 50_000;
const RESOURCE: &str = "pods/log";

/// The text of a refusal.
pub(super) async fn text(mut body: Chunks) -> Result<String, Error> {
    let mut text = BytesMut::new();
    while let Some(chunk) = body.next().await {
        let chunk = chunk.map_err(|error| Error::internal(error.to_string()))?;
        text.extend_from_slice(&chunk[..chunk.len().min(MAX_BYTES - text.len())]);
        if text.len() == MAX_BYTES {
            break;
        }
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// What a client is told of the log of this pod.
pub(super) fn status(code: StatusCode, name: &str, text: String) -> Status {
    let (reason, message) = match code.as_u16() {
        400 => return Status::bad_request(text),
        500 => return Status::internal(text),
        401 => (Reason::Unauthorized, "the server has asked for the client to provide credentials".to_owned()),
        403 => (Reason::Forbidden, text),
        404 => (Reason::NotFound, "the server could not find the requested resource".to_owned()),
        405 => (
            Reason::MethodNotAllowed,
            "the server does not allow this method on the requested resource".to_owned(),
        ),
        429 => (
            Reason::TooManyRequests,
            "the server has received too many requests and has asked us to try again later".to_owned(),
        ),
        503 => (
            Reason::ServiceUnavailable,
            "the server is currently unable to handle the request".to_owned(),
        ),
        504 => (
            Reason::Timeout,
            "the server was unable to return a response in the time allotted, but may still be processing the request"
                .to_owned(),
        ),
        501.. => (
            Reason::InternalError,
            format!("an error on the server ({text:?}) has prevented the request from succeeding"),
        ),
        other => (
            Reason::Unknown,
            format!("the server responded with the status code {other} but did not return more information"),
        ),
    };
    let details =
        Details { kind: RESOURCE.to_owned(), name: name.to_owned(), ..Details::default() };
    Status {
        code: code.as_u16(),
        details: Some(details),
        // Clients of Kubernetes have the verb before the resource, which is not known here.
        ..Status::failure(reason, format!("{message} ( {RESOURCE} {name})"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_of_kubelets() {
        let check = |code: u16, expect: (Reason, &str)| {
            let status = status(StatusCode::from_u16(code).unwrap(), "p", "no \"c\"".to_owned());
            assert_eq!(
                (status.code, &status.reason, &*status.message),
                (code, &expect.0, expect.1)
            );
        };
        check(400, (Reason::BadRequest, "no \"c\""));
        check(500, (Reason::InternalError, "Internal error occurred: no \"c\""));
        check(
            404,
            (Reason::NotFound, "the server could not find the requested resource ( pods/log p)"),
        );
        check(403, (Reason::Forbidden, "no \"c\" ( pods/log p)"));
        check(
            502,
            (
                Reason::InternalError,
                "an error on the server (\"no \\\"c\\\"\") has prevented the request from succeeding ( pods/log p)",
            ),
        );
        check(
            302,
            (
                Reason::Unknown,
                "the server responded with the status code 302 but did not return more information ( pods/log p)",
            ),
        );
    }
}
