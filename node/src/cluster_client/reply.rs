//! An answer of the server: a status and a body, which may be a refusal.

use std::time::Duration;

use http::StatusCode;
use quorate_meta::Value;

use crate::error::Error;

/// The answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    /// When the server wants to be asked again.
    pub(super) retry_after: Option<Duration>,
    body: Value,
}

impl Reply {
    pub(super) fn new(
        status: StatusCode,
        retry_after: Option<Duration>,
        body: &[u8],
    ) -> Result<Self, Error> {
        let body = match serde_json::from_slice(body) {
            Ok(body) => body,
            // Proxies and authenticators answer in plain text.
            Err(_) if !status.is_success() => {
                let text = String::from_utf8_lossy(body);
                Value::from([("message", Value::from(text.trim()))])
            }
            Err(error) => return Err(Error::failed(format_args!("not JSON: {error}"))),
        };
        Ok(Self { status, retry_after, body })
    }

    /// The body of a success; the refusal otherwise.
    pub(crate) fn into_body(self) -> Result<Value, Error> {
        if self.status.is_success() { Ok(self.body) } else { Err(self.refusal()) }
    }

    /// What the server says of a request that it does not carry out, on one line.
    pub(crate) fn refusal(&self) -> Error {
        let message = self.body.str_at(&["message"]).unwrap_or_default();
        let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
        let message = if message.is_empty() { self.status.to_string() } else { message };
        match self.reason() {
            "" => Error::failed(message),
            reason => Error::failed(format_args!("{message} ({reason})")),
        }
    }

    /// The reason of a Status.
    pub(crate) fn reason(&self) -> &str {
        self.body.str_at(&["reason"]).unwrap_or_default()
    }

    /// The fields that a Status finds fault with.
    pub(crate) fn fields_at_fault(&self) -> Vec<&str> {
        let causes = self.body.at(&["details", "causes"]).and_then(Value::as_list);
        causes.unwrap_or_default().iter().filter_map(|cause| cause.str_at(&["field"])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_one_line() {
        let check = |body: &str, expect: &str| {
            let reply = Reply::new(StatusCode::FORBIDDEN, None, body.as_bytes()).unwrap();
            assert_eq!(reply.into_body().unwrap_err().to_string(), expect);
        };
        check(r#"{"message": "no\n  way", "reason": "Forbidden"}"#, "no way (Forbidden)");
        check(r#"{"message": "no"}"#, "no");
        check("bad gateway\n", "bad gateway");
        check("", "403 Forbidden");
    }

    #[test]
    fn fields_are_named() {
        let body = r#"{"details": {"causes": [{"field": "spec.clusterIPs"}, {"reason": "x"}]}}"#;
        let reply = Reply::new(StatusCode::UNPROCESSABLE_ENTITY, None, body.as_bytes()).unwrap();
        assert_eq!(reply.fields_at_fault(), ["spec.clusterIPs"]);
    }
}
