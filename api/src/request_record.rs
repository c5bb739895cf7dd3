//! The record of one request: its user, what it asks for, what was decided, how it ended, and when.
//!
//! The filter chain owns one record for each request. Filters write it through `&mut`, the handler
//! adds to it through the shared reference in its `Request`, and what observes requests reads it:
//! the audit trail today. Invariants: writing to a record allocates nothing that the writer has not
//! allocated already, but for an object's long name; a reader changes nothing; a record without a
//! status is that of a request that is still running or whose client has left.

#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::{HeaderValue, StatusCode, Uri};
use parking_lot::Mutex;
use quorate_meta::{SmolStr, Status};
use tokio::time::Instant;

use quorate_access::authentication::User;
use quorate_access::authorization::Decision;
use quorate_access::flow_control::Flow;
use quorate_access::request::{RequestInfo, Verb};
use quorate_registry::Notes;
use quorate_registry::release::Release;

/// How long a request may take when its client asks for no less.
const LIMIT: Duration = Duration::from_secs(60);
/// How long a request waits for seats at most, whatever its time.
const WAIT_LIMIT: Duration = Duration::from_secs(60);

/// A point that a request reaches on its way through the filters, in their order. There are few,
/// because each takes a reading of the clock: those before which a request may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Milestone {
    /// The user is known.
    Authenticated,
    /// The authorizer has decided.
    Authorized,
    /// The request is allowed and has its place among those in flight.
    Admitted,
    /// The body has been read; only writes have one.
    BodyRead,
    /// The handler has given its answer.
    Handled,
}

impl Milestone {
    const COUNT: usize = Self::Handled as usize + 1;
}

/// The record of one request.
#[derive(Debug)]
pub struct RequestRecord<'a> {
    id: HeaderValue,
    uri: &'a Uri,
    info: &'a RequestInfo,
    received_ms: u64,
    received: Instant,
    reached: [Option<Instant>; Milestone::COUNT],
    user: Option<Arc<User>>,
    original_user: Option<Arc<User>>,
    flow: Option<Flow>,
    decision: Option<Decision>,
    /// The decision by a newer state, which the handler asked for.
    later_decision: OnceLock<Decision>,
    /// The release that removes the API version in the path, where that is deprecated.
    deprecated: Option<Option<Release>>,
    /// How long it has waited for seats.
    queued: Duration,
    request_bytes: usize,
    object_name: OnceLock<SmolStr>,
    credential_id: OnceLock<String>,
    /// What admission has told of the request; made for writes only.
    notes: OnceLock<Arc<Mutex<Notes>>>,
    panicked: bool,
    failure: Option<Box<Status>>,
    status: Option<StatusCode>,
    response_bytes: Option<u64>,
}

/// What readers ask.
impl<'a> RequestRecord<'a> {
    /// The audit ID, which the response carries as well.
    #[must_use]
    pub fn id(&self) -> &HeaderValue {
        &self.id
    }

    /// The target of the request line.
    #[must_use]
    pub fn uri(&self) -> &'a Uri {
        self.uri
    }

    /// Verb, resource and query parameters.
    #[must_use]
    pub fn info(&self) -> &'a RequestInfo {
        self.info
    }

    /// When the request came in, in milliseconds since the Unix epoch.
    #[must_use]
    pub fn received_ms(&self) -> u64 {
        self.received_ms
    }

    /// How long the request took to reach a milestone; `None` if it did not.
    #[must_use]
    pub fn time_to(&self, milestone: Milestone) -> Option<Duration> {
        self.reached[milestone as usize].map(|at| at - self.received)
    }

    /// When the request came in.
    pub(crate) fn received(&self) -> Instant {
        self.received
    }

    /// How long the request has waited for seats.
    pub(crate) fn queue_time(&self) -> Duration {
        self.queued
    }

    /// How long the request has waited for webhooks.
    pub(crate) fn webhook_time(&self) -> Duration {
        let Some(notes) = self.notes.get() else { return Duration::ZERO };
        let notes = notes.lock();
        let of_webhooks = notes.waits.iter().filter(|wait| wait.part == "webhook");
        of_webhooks.map(|wait| wait.took).sum()
    }

    /// How long ago the request came in.
    #[must_use]
    pub fn age(&self) -> Duration {
        self.received.elapsed()
    }

    /// The user on whose behalf the request runs: the impersonated one where there is one. `None`
    /// until authentication has ended.
    #[must_use]
    pub fn user(&self) -> Option<&Arc<User>> {
        self.user.as_ref()
    }

    /// The authenticated user of a request that impersonates another one.
    #[must_use]
    pub fn original_user(&self) -> Option<&Arc<User>> {
        self.original_user.as_ref()
    }

    /// The authorizer's decision; the newest one where it was asked again.
    #[must_use]
    pub fn decision(&self) -> Option<&Decision> {
        self.later_decision.get().or(self.decision.as_ref())
    }

    /// The flow schema and the priority level.
    pub(crate) fn flow(&self) -> Option<&Flow> {
        self.flow.as_ref()
    }

    /// Whether the API version in the path is deprecated.
    #[must_use]
    pub fn is_deprecated(&self) -> bool {
        self.deprecated.is_some()
    }

    /// The release that removes the API version in the path, where that is known.
    #[must_use]
    pub fn removed_release(&self) -> Option<Release> {
        self.deprecated.flatten()
    }

    /// Bytes of the request's body, as far as it was read whole.
    #[must_use]
    pub fn request_bytes(&self) -> usize {
        self.request_bytes
    }

    /// The name of the object in the body of a create, where the path has none.
    #[must_use]
    pub fn object_name(&self) -> Option<&str> {
        self.object_name.get().map(SmolStr::as_str)
    }

    /// The ID of the credential that the response carries.
    #[must_use]
    pub fn credential_id(&self) -> Option<&str> {
        self.credential_id.get().map(String::as_str)
    }

    /// What admission has told of the request besides its decision.
    #[must_use]
    pub fn notes(&self) -> Notes {
        self.notes.get().map(|notes| notes.lock().clone()).unwrap_or_default()
    }

    /// Whether a filter or the handler panicked.
    #[must_use]
    pub fn has_panicked(&self) -> bool {
        self.panicked
    }

    /// The Status of a request that was refused or has failed.
    #[must_use]
    pub fn failure(&self) -> Option<&Status> {
        self.failure.as_deref()
    }

    /// The status code of the response.
    #[must_use]
    pub fn status(&self) -> Option<StatusCode> {
        self.status
    }

    /// Bytes of the response's body; `None` where it is made while the client reads.
    #[must_use]
    pub fn response_bytes(&self) -> Option<u64> {
        self.response_bytes
    }
}

/// What filters write.
impl<'a> RequestRecord<'a> {
    /// The record of a request that comes in now.
    pub(crate) fn new(
        id: HeaderValue,
        uri: &'a Uri,
        info: &'a RequestInfo,
        received_ms: u64,
    ) -> Self {
        Self {
            id,
            uri,
            info,
            received_ms,
            received: Instant::now(),
            reached: [None; Milestone::COUNT],
            user: None,
            original_user: None,
            flow: None,
            decision: None,
            later_decision: OnceLock::new(),
            deprecated: None,
            queued: Duration::ZERO,
            request_bytes: 0,
            object_name: OnceLock::new(),
            credential_id: OnceLock::new(),
            notes: OnceLock::new(),
            panicked: false,
            failure: None,
            status: None,
            response_bytes: None,
        }
    }

    /// The end of the request's time.
    pub(crate) fn deadline(&self) -> Instant {
        self.received + self.info.time_asked().map_or(LIMIT, |asked| LIMIT.min(asked))
    }

    /// Until when the request may wait for seats: a quarter of its time.
    pub(crate) fn end_of_wait(&self) -> Instant {
        let allowed = match self.info.verb {
            Verb::Watch => LIMIT,
            _ => self.deadline() - self.received,
        };
        self.received + (allowed / 4).min(WAIT_LIMIT)
    }

    /// The request reaches a milestone now; gives the moment.
    pub(crate) fn reach(&mut self, milestone: Milestone) -> Instant {
        let now = Instant::now();
        self.reached[milestone as usize] = Some(now);
        now
    }

    /// The user is authenticated.
    pub(crate) fn authenticated(&mut self, user: Arc<User>) {
        self.user = Some(user);
    }

    /// The authenticated user impersonates this one.
    pub(crate) fn impersonated(&mut self, user: Arc<User>) {
        self.original_user = self.user.replace(user);
    }

    /// The flow control has classified the request.
    pub(crate) fn classified(&mut self, flow: Flow) {
        self.flow = Some(flow);
    }

    /// The authorizer has decided.
    pub(crate) fn decided(&mut self, decision: Decision) {
        self.decision = Some(decision);
    }

    /// It has waited for seats.
    pub(crate) fn queued(&mut self, waited: Duration) {
        self.queued = waited;
    }

    /// The path names a deprecated API version, which that release removes.
    pub(crate) fn deprecated(&mut self, removed: Option<Release>) {
        self.deprecated = Some(removed);
    }

    /// The body has been read.
    pub(crate) fn body_read(&mut self, bytes: usize) {
        self.request_bytes = bytes;
    }

    /// A filter or the handler has panicked.
    pub(crate) fn panicked(&mut self) {
        self.panicked = true;
    }

    /// The response will be this Status.
    pub(crate) fn failed(&mut self, status: Status) {
        self.failure = Some(Box::new(status));
    }

    /// The response is complete but for what is made while the client reads.
    pub(crate) fn answered(&mut self, status: StatusCode, bytes: Option<u64>) {
        (self.status, self.response_bytes) = (Some(status), bytes);
    }
}

/// What handlers add. The first value of each counts.
impl<'a> RequestRecord<'a> {
    /// The authorizer has decided again, by a newer state.
    pub(crate) fn decided_again(&self, decision: Decision) {
        self.later_decision.get_or_init(|| decision);
    }

    /// The object in the body of a create has this name.
    pub(crate) fn named(&self, name: &str) {
        self.object_name.get_or_init(|| name.into());
    }

    /// Where admission notes what it tells of the request.
    pub(crate) fn shared_notes(&self) -> &Arc<Mutex<Notes>> {
        self.notes.get_or_init(Arc::default)
    }

    /// The response carries a credential of this ID.
    pub(crate) fn issued(&self, credential: String) {
        self.credential_id.get_or_init(|| credential);
    }
}
