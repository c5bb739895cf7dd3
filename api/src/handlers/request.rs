//! A request as handlers see it: who asks, for what, with which body, and in which form the answer is wanted.
//!
//! Invariant: made by the filters after authentication, authorization, routing and content negotiation, so a handler
//! never checks these again.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use http::HeaderMap;
use http::header::IF_MATCH;

use crate::authentication::User;
use crate::error::Error;
use crate::negotiation::Format;
use crate::registry::Resource;
use crate::request::RequestInfo;

/// One request past the filters.
#[derive(Debug, Clone)]
pub struct Request {
    /// Verb, path and query.
    pub info: RequestInfo,
    /// The resource; `None` for paths that are none.
    pub resource: Option<Arc<Resource>>,
    /// Who asks.
    pub user: Arc<User>,
    /// Who has sent it, if that is somebody else who acts as the one who asks.
    pub sender: Option<Arc<User>>,
    /// The form in which the answer is wanted.
    pub format: Format,
    /// Every header.
    pub headers: HeaderMap,
    /// The authorizer's epoch before it was let through.
    pub epoch: Option<u64>,
    /// What came out when it was asked again whether they may, and why; the audit trail tells it.
    pub decided_again: OnceLock<(Option<bool>, String)>,
    /// The name of the object in the body, where the path has none; the audit trail tells it.
    pub named: OnceLock<String>,
    /// The id of the credential in the answer; the audit trail tells it.
    pub issued: OnceLock<String>,
    /// The body, whole and within the limit; empty for reads.
    pub body: Bytes,
}

impl Request {
    /// The resource of a request that is routed to a resource handler.
    pub fn resource(&self) -> Result<&Arc<Resource>, Error> {
        self.resource.as_ref().ok_or_else(Error::no_such_path)
    }

    /// The object's name of a request that is routed to a handler of single objects.
    pub fn name(&self) -> Result<&str, Error> {
        self.info.name.as_deref().ok_or_else(Error::no_such_path)
    }

    /// The namespace, where the resource has one.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        self.info.namespace.as_deref()
    }

    /// One header as text; `None` when it is absent or not text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The `If-Match` header; `None` when it is absent. Several lines are one list (RFC 9110, section 5.3). An entity tag may be of
    /// any bytes, but for those of control characters (section 8.8.3): what is no text is a tag that no version has.
    #[must_use]
    pub fn if_match(&self) -> Option<Cow<'_, str>> {
        let mut lines = self.headers.get_all(IF_MATCH).into_iter().map(|line| String::from_utf8_lossy(line.as_bytes()));
        let first = lines.next()?;
        Some(lines.fold(first, |list, line| Cow::Owned(format!("{list},{line}"))))
    }
}
