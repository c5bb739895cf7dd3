//! The request as handlers see it: the user, what is asked for, the body, and the form of the
//! answer.
//!
//! Invariant: made by the filters after authentication, authorization, routing and content
//! negotiation, so a handler never checks these again.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use http::header::IF_MATCH;
use http::{HeaderMap, Response};
use parking_lot::Mutex;

use crate::body::Body;
use crate::negotiation::Format;
use crate::request_record::RequestRecord;
use crate::respond::warnings;
use quorate_access::authentication::User;
use quorate_access::flow_control::ExecutingRequest;
use quorate_access::request::RequestInfo;
use quorate_registry::error::Error;
use quorate_registry::{Catalogue, Resource};

/// One request past the filters.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    /// Verb, path and query.
    pub(crate) info: &'a RequestInfo,
    /// What is served while the request runs.
    pub(crate) catalogue: &'a Arc<Catalogue>,
    /// The resource; `None` for paths that are none.
    pub(crate) resource: Option<Arc<Resource>>,
    /// The user on whose behalf it runs.
    pub(crate) user: &'a Arc<User>,
    /// The authenticated user, where that one impersonates the user.
    pub(crate) original_user: Option<&'a Arc<User>>,
    /// The form in which the answer is wanted.
    pub(crate) format: Format,
    /// Every header.
    pub(crate) headers: &'a HeaderMap,
    /// The authorizer's epoch before the request was let through.
    pub(crate) epoch: Option<u64>,
    /// The body, whole and within the limit; empty for reads.
    pub(crate) body: Bytes,
    /// Where the handler notes what observers of requests should know.
    pub(crate) record: &'a RequestRecord<'a>,
    /// The seats of a watch, until it has begun; they are given back with the request unless the
    /// handler takes them.
    pub(crate) starting: Mutex<Option<ExecutingRequest>>,
}

impl Request<'_> {
    /// The resource of a request that is routed to a resource handler.
    pub(crate) fn resource(&self) -> Result<&Arc<Resource>, Error> {
        self.resource.as_ref().ok_or_else(Error::no_such_path)
    }

    /// The answer with warnings for the client. Of one that is an error the record keeps them,
    /// before those that admission has noted.
    pub(crate) fn warned(
        &self,
        warnings: &[String],
        mut answer: Result<Response<Body>, Error>,
    ) -> Result<Response<Body>, Error> {
        match &mut answer {
            Ok(response) => warnings::add(response, warnings),
            Err(_) if warnings.is_empty() => {}
            Err(_) => {
                let mut notes = self.record.shared_notes().lock();
                drop(notes.warnings.splice(..0, warnings.iter().cloned()));
            }
        }
        answer
    }

    /// The object's name of a request that is routed to a handler of single objects.
    pub(crate) fn name(&self) -> Result<&str, Error> {
        self.info.name.as_deref().ok_or_else(Error::no_such_path)
    }

    /// The namespace, where the resource has one.
    pub(crate) fn namespace(&self) -> Option<&str> {
        self.info.namespace.as_deref()
    }

    /// One header as text; `None` when it is absent or not text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The `If-Match` header; `None` when it is absent. Several lines are one list (RFC 9110,
    /// section 5.3). An entity tag may be of any bytes, but for those of control characters
    /// (section 8.8.3): what is no text is a tag that no version has.
    pub(crate) fn if_match(&self) -> Option<Cow<'_, str>> {
        let mut lines = self
            .headers
            .get_all(IF_MATCH)
            .into_iter()
            .map(|line| String::from_utf8_lossy(line.as_bytes()));
        let first = lines.next()?;
        Some(lines.fold(first, |list, line| Cow::Owned(format!("{list},{line}"))))
    }
}
