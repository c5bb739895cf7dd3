//! The failure of a call, worded as clients of Kubernetes know it.
//!
//! Invariant: the text names the server and what happened; it never holds a credential or a part of
//! what was sent.

use std::fmt;
use std::io;
use std::time::Duration;

use http::StatusCode;
use rustls::CertificateError;

/// Why a call gave no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The configuration cannot be used; another call with it fails in the same way.
    Config,
    /// The server's certificate is not trusted; another call fails in the same way.
    Untrusted,
    /// No connection came about.
    Unreachable,
    /// The connection ended before the answer was whole.
    Broken,
    /// The timeout passed.
    Timeout,
    /// The answer is larger than the call allows.
    TooLarge,
    /// The server answered with a status that is no success.
    Refused,
}

impl Failure {
    /// Its name in traces.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Config => "configuration",
            Self::Untrusted => "untrusted",
            Self::Unreachable => "unreachable",
            Self::Broken => "broken",
            Self::Timeout => "timeout",
            Self::TooLarge => "too_large",
            Self::Refused => "refused",
        }
    }
}

/// A call that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallError {
    failure: Failure,
    text: String,
    status: Option<StatusCode>,
}

impl CallError {
    /// A failure with its text.
    pub fn new(failure: Failure, text: impl fmt::Display) -> Self {
        Self { failure, text: text.to_string(), status: None }
    }

    /// What kind of failure it is.
    #[must_use]
    pub fn failure(&self) -> Failure {
        self.failure
    }

    /// Whether another call with the same configuration fails in the same way.
    #[must_use]
    pub fn is_permanent(&self) -> bool {
        matches!(self.failure, Failure::Config | Failure::Untrusted)
    }

    /// The status of an answer whose body was too large.
    #[must_use]
    pub fn status(&self) -> Option<StatusCode> {
        self.status
    }

    /// The timeout that passed.
    pub(crate) fn timeout() -> Self {
        Self::new(Failure::Timeout, "context deadline exceeded")
    }

    /// An answer with this status is longer than this.
    pub(crate) fn too_large(status: StatusCode, limit: usize) -> Self {
        let error =
            Self::new(Failure::TooLarge, format_args!("the answer is larger than {limit} bytes"));
        Self { status: Some(status), ..error }
    }

    /// The error of a request to a URL.
    pub(crate) fn of_post(self, url: &str) -> Self {
        let text = format!("Post {url:?}: {}", self.text);
        Self { text, ..self }
    }

    /// No connection to `host:port`.
    pub(crate) fn dial(address: &str, error: &io::Error) -> Self {
        let why = match error.kind() {
            io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
            io::ErrorKind::ConnectionReset => "connection reset by peer".to_owned(),
            io::ErrorKind::HostUnreachable => "no route to host".to_owned(),
            io::ErrorKind::NetworkUnreachable => "network is unreachable".to_owned(),
            _ => error.to_string(),
        };
        Self::new(Failure::Unreachable, format_args!("dial tcp {address}: connect: {why}"))
    }

    /// A TLS handshake with a server that was asked for as `host`.
    pub(crate) fn handshake(host: &str, error: &io::Error) -> Self {
        let cause = error.get_ref().and_then(|cause| cause.downcast_ref());
        match cause {
            Some(rustls::Error::InvalidCertificate(why)) => Self::new(
                Failure::Untrusted,
                format_args!("tls: failed to verify certificate: x509: {}", verified(host, why)),
            ),
            Some(why) => Self::new(Failure::Unreachable, format_args!("tls: {why}")),
            None => Self::broken(error),
        }
    }

    /// A connection that ended.
    pub(crate) fn broken(error: &(dyn std::error::Error + 'static)) -> Self {
        let mut causes = std::iter::successors(Some(error), |error| error.source());
        let text = causes.clone().find_map(|cause| {
            if cause.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_incomplete_message)
            {
                return Some("EOF");
            }
            match cause.downcast_ref::<io::Error>()?.kind() {
                io::ErrorKind::UnexpectedEof => Some("EOF"),
                io::ErrorKind::ConnectionReset => Some("connection reset by peer"),
                io::ErrorKind::BrokenPipe => Some("broken pipe"),
                _ => None,
            }
        });
        let innermost = causes.by_ref().last().unwrap_or(error);
        text.map_or_else(
            || Self::new(Failure::Broken, innermost),
            |text| Self::new(Failure::Broken, text),
        )
    }
}

/// Why a certificate was not believed.
fn verified(host: &str, why: &CertificateError) -> String {
    let seconds = |time: &rustls_pki_types::UnixTime| Duration::from_secs(time.as_secs());
    match why {
        // An authority of the same name has another key.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "certificate signed by unknown authority".to_owned()
        }
        CertificateError::NotValidForNameContext { presented, .. } if presented.is_empty() => {
            format!("certificate is not valid for any names, but wanted to match {host}")
        }
        CertificateError::NotValidForNameContext { presented, .. } => {
            format!("certificate is valid for {}, not {host}", names(presented))
        }
        CertificateError::NotValidForName => format!("certificate is not valid for {host}"),
        CertificateError::ExpiredContext { time, not_after } => format!(
            "certificate has expired or is not yet valid: it ended {:?} ago",
            seconds(time).saturating_sub(seconds(not_after))
        ),
        CertificateError::NotValidYetContext { time, not_before } => format!(
            "certificate has expired or is not yet valid: it begins in {:?}",
            seconds(not_before).saturating_sub(seconds(time))
        ),
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "certificate specifies an incompatible key usage".to_owned()
        }
        other => other.to_string(),
    }
}

/// The names of a certificate, of which the verifier tells the kind too: `DnsName("a.example")`.
fn names(presented: &[String]) -> String {
    /// Names that are told.
    const MAX_NAMES: usize = 8;
    let bare = |name: &String| {
        let (_, inner) = name.split_once('(').unwrap_or(("", name));
        inner.trim_end_matches(')').trim_matches('"').to_owned()
    };
    presented.iter().take(MAX_NAMES).map(bare).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for CallError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_that_fail() {
        let check = |kind: io::ErrorKind, expect: &str| {
            assert_eq!(CallError::dial("127.0.0.1:1", &kind.into()).to_string(), expect);
        };
        check(
            io::ErrorKind::ConnectionRefused,
            "dial tcp 127.0.0.1:1: connect: connection refused",
        );
        check(io::ErrorKind::HostUnreachable, "dial tcp 127.0.0.1:1: connect: no route to host");
        let posted = CallError::timeout().of_post("https://a:1/x?timeout=1s");
        assert_eq!(
            posted.to_string(),
            r#"Post "https://a:1/x?timeout=1s": context deadline exceeded"#
        );
        assert_eq!(posted.failure(), Failure::Timeout);
    }

    #[test]
    fn certificates_that_are_not_believed() {
        let check = |why: CertificateError, expect: &str| {
            let error = io::Error::other(rustls::Error::InvalidCertificate(why));
            let told = CallError::handshake("b", &error);
            assert_eq!(
                told.to_string(),
                format!("tls: failed to verify certificate: x509: {expect}")
            );
            assert!(told.is_permanent());
        };
        check(CertificateError::UnknownIssuer, "certificate signed by unknown authority");
        let expected = rustls_pki_types::ServerName::try_from("b.example").unwrap();
        check(
            CertificateError::NotValidForNameContext {
                expected,
                presented: vec![r#"DnsName("a.example")"#.into(), "IpAddress(10.0.0.1)".into()],
            },
            "certificate is valid for a.example, 10.0.0.1, not b",
        );
    }
}
