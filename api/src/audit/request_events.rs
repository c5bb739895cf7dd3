//! The audit events of one request: one at each stage, the last when the body of its response ends.
//!
//! Invariant: the record is only read; what it says is told at the stage after it has become known.

use std::sync::Arc;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::uri::PathAndQuery;
use http::{HeaderMap, Response};
use quorate_meta::{Status, Time, Value};
use quorate_schema::{Graph, TypeId};
use quorate_wire::{cbor, json, protobuf, yaml};

use super::Audit;
use super::event::{Draft, Facts};
use super::policy::{Level, Scope, Stage, is_long};
use super::sender::Sender;
use crate::body::{Body, Uncompressed};
use crate::encoding::type_of;
use crate::request_record::RequestRecord;
use quorate_access::authentication::ConnectionIdentity;

/// Bytes of a body that an event has at most; the event says that one was left out.
const MAX_BODY_BYTES: usize = 1 << 20;

/// What an event says of an answer that its client did not wait for.
const CLOSED_EARLY: &str = "Connection closed early";

/// The audit events of one request, from the record of it.
#[derive(Debug)]
pub(crate) struct RequestEvents {
    /// `None` where the policy tells nothing of the request.
    told: Option<Told>,
}

/// A request of which something is told.
#[derive(Debug)]
struct Told {
    scope: Scope,
    draft: Draft,
    /// Whether the response goes on as long as its client likes.
    long: bool,
    panicked: bool,
}

impl RequestEvents {
    /// Begins with a request that has come in over the connection of this identity. Rules of the
    /// policy see the authenticated user.
    pub(super) fn new(
        audit: &Audit,
        record: &RequestRecord<'_>,
        identity: &ConnectionIdentity,
        headers: &HeaderMap,
    ) -> Self {
        let (user, info) = (record.user(), record.info());
        let (user, impersonated) = match record.original_user() {
            Some(original) => (Some(original), user.map(Arc::as_ref)),
            None => (user, None),
        };
        let scope = audit.policy.scope(audit.names, user.map(Arc::as_ref), info);
        audit.count_request(scope.level);
        if scope.level == Level::None {
            return Self { told: None };
        }
        let sender = Sender::new(identity, user, impersonated, headers);
        let facts = Facts {
            level: scope.level,
            id: record.id().to_str().unwrap_or_default(),
            uri: record.uri().path_and_query().map_or("", PathAndQuery::as_str),
            sender: &sender,
            info,
            received: Time::from_ms(record.received_ms()),
        };
        let draft = Draft::new(&audit.phrases, &facts);
        let told = Told { scope, draft, long: is_long(info), panicked: false };
        if user.is_some() {
            told.tell(audit, Stage::RequestReceived);
        }
        Self { told: Some(told) }
    }

    /// The body of the request; `ty` is what a protobuf message holds that does not say so itself.
    pub(crate) fn request_body(
        &mut self,
        graph: &Graph,
        ty: Option<TypeId>,
        headers: &HeaderMap,
        body: &[u8],
    ) {
        if let Some(told) =
            self.told.as_mut().filter(|told| told.scope.level >= Level::Request && !body.is_empty())
        {
            let object = read(headers, body, |body| message(graph, ty, body));
            told.draft.request = told.kept(object);
        }
    }

    /// The response. What is still to be told of it is told when its body ends.
    pub(crate) fn response_complete(
        self,
        audit: &Arc<Audit>,
        record: &RequestRecord<'_>,
        graph: &Graph,
        response: Response<Body>,
    ) -> Response<Body> {
        let Some(mut told) = self.told else {
            return response;
        };
        let (mut head, body) = response.into_parts();
        told.read(audit, record);
        told.draft
            .conclude(head.status.as_u16(), record.failure().map(|failure| told.failure(failure)));
        if told.long {
            told.tell(audit, Stage::ResponseStarted);
        }
        let body = body.into_full();
        if told.scope.level == Level::RequestResponse {
            let plain = head.extensions.remove::<Uncompressed>();
            let whole = plain.as_ref().map(|plain| &plain.0).or(body.as_ref().ok());
            told.draft.response = told.answer(graph, &head.headers, whole);
        }
        let body = match body {
            Ok(bytes) => {
                told.end(audit);
                Body::full(bytes)
            }
            Err(stream) => stream.holding(Ending(Arc::clone(audit), told)),
        };
        Response::from_parts(head, body)
    }

    /// The client has left before there was a response.
    pub(crate) fn client_left(self, audit: &Audit, record: &RequestRecord<'_>) {
        let Some(mut told) = self.told else { return };
        told.read(audit, record);
        let left = Status { success: true, message: CLOSED_EARLY.to_owned(), ..Status::default() };
        told.draft.conclude(200, Some(Box::new(left)));
        if told.long {
            told.tell(audit, Stage::ResponseStarted);
        }
        told.end(audit);
    }
}

impl Told {
    /// Takes over what has become known since the request came in.
    fn read(&mut self, audit: &Audit, record: &RequestRecord<'_>) {
        if let Some(name) = record.object_name() {
            self.draft.name(name);
        }
        if let Some(decision) = record.decision() {
            let (allowed, reason) = decision.outcome();
            self.draft.decide(&audit.phrases, allowed, reason);
        }
        if record.is_deprecated() {
            self.draft.deprecate(&audit.phrases, record.removed_release());
        }
        if let Some(credential) = record.credential_id() {
            self.draft.issue(&audit.phrases, credential);
        }
        // Policies may quote what they have read.
        if !self.scope.private {
            let notes = record.notes();
            let with_bodies = self.scope.level >= Level::Request;
            let more = notes.request_annotations.iter().filter(|_| with_bodies);
            for (key, value) in notes.annotations.iter().chain(more) {
                self.draft.annotate(key, value);
            }
        }
        self.panicked = record.has_panicked();
    }

    /// A failure as events tell it. Where secrets are, only its reason and which object it is
    /// about: the rest may quote them.
    fn failure(&self, status: &Status) -> Box<Status> {
        let (mut message, mut details) = (status.message.clone(), status.details.clone());
        if self.scope.private {
            message.clear();
            details.iter_mut().for_each(|details| details.causes.clear());
        }
        Box::new(Status { message, reason: status.reason.clone(), details, ..Status::default() })
    }

    fn tell(&self, audit: &Audit, stage: Stage) {
        if !self.scope.omit_stages.contains(stage) {
            // A request that has come in is told with the time at which it came.
            let now = (stage != Stage::RequestReceived).then(|| audit.now());
            audit.put(self.draft.room(), |out| self.draft.write(&audit.phrases, stage, now, out));
        }
    }

    fn end(&self, audit: &Audit) {
        let panicked = self.panicked || std::thread::panicking();
        self.tell(audit, if panicked { Stage::Panic } else { Stage::ResponseComplete });
    }

    /// The answer as an event has it; `whole` is its body, unless that is made while the client
    /// reads.
    fn answer(
        &mut self,
        graph: &Graph,
        headers: &HeaderMap,
        whole: Option<&Bytes>,
    ) -> Option<Bytes> {
        // What a watch sends is no body, and of an empty one nothing is left out.
        if whole.map_or(self.long, Bytes::is_empty) {
            return None;
        }
        let object = whole.and_then(|body| read(headers, body, |body| message(graph, None, body)));
        self.kept(object)
    }

    /// An object as an event has it, or none with a note when it is too large or cannot be parsed.
    fn kept(&mut self, object: Option<Value>) -> Option<Bytes> {
        let object = object.map(|mut object| {
            if self.scope.omit_managed_fields {
                drop_managed_fields(&mut object);
            }
            json::to_vec(&object)
        });
        let kept = object.filter(|object| object.len() <= MAX_BODY_BYTES);
        self.draft.left_out |= kept.is_none();
        kept.map(Bytes::from)
    }
}

/// A body as a tree.
fn read(
    headers: &HeaderMap,
    body: &[u8],
    binary: impl FnOnce(&[u8]) -> Option<Value>,
) -> Option<Value> {
    let media = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or("application/json");
    match media.split(';').next().unwrap_or_default().trim() {
        media if media.ends_with("json") => json::parse(body).ok().map(|(value, _)| value),
        media if media.ends_with("yaml") => yaml::parse(body).ok().map(|(value, _)| value),
        media if media.ends_with("protobuf") => binary(body),
        media if media.ends_with("cbor") => cbor::parse(body).ok(),
        _ => None,
    }
}

/// A protobuf body as a tree, by what it says that it holds; `ty` is what it holds if it does not
/// say that.
fn message(graph: &Graph, ty: Option<TypeId>, body: &[u8]) -> Option<Value> {
    let envelope = protobuf::Envelope::read(body).ok()?;
    let ty = type_of(graph, envelope.api_version, envelope.kind).or(ty)?;
    protobuf::decode(graph, ty, body).ok()
}

fn drop_managed_fields(object: &mut Value) {
    object.remove_at(&["metadata", "managedFields"]);
    for item in object.get_mut("items").and_then(Value::as_list_mut).into_iter().flatten() {
        item.remove_at(&["metadata", "managedFields"]);
    }
}

/// Held by the body of an answer: tells that it ends, however it does.
struct Ending(Arc<Audit>, Told);

impl Drop for Ending {
    fn drop(&mut self) {
        self.1.end(&self.0);
    }
}
