//! One request as the audit trail sees it, from its first line to the last byte of its answer.

use std::sync::Arc;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, Response};
use quorate_meta::{Status, Time, Value};
use quorate_schema::{Graph, TypeId};
use quorate_wire::{cbor, json, protobuf, yaml};

use super::Audit;
use super::event::{Draft, Facts};
use super::policy::{Level, Scope, Stage, is_long};
use super::sender::Sender;
use crate::authentication::{Identity, User};
use crate::body::{Body, Uncompressed};
use crate::encoding::type_of;
use crate::request::RequestInfo;

/// Bytes of a body that an event has at most; the event says that one was left out.
const MAX_BODY_BYTES: usize = 1 << 20;

/// What an event says of an answer that its client did not wait for.
const CLOSED_EARLY: &str = "Connection closed early";

/// See the module. A trace that is dropped tells that the client left before there was an answer.
#[derive(Debug)]
pub(crate) struct Record<'a> {
    audit: &'a Arc<Audit>,
    id: &'a str,
    uri: &'a str,
    identity: &'a Identity,
    /// `None` until it is known who asks, and where nothing is told of what they ask.
    told: Option<Told>,
}

/// A request of which something is told.
#[derive(Debug)]
struct Told {
    scope: Scope,
    draft: Draft,
    /// Whether the answer goes on as long as its client likes.
    long: bool,
    panicked: bool,
    /// Why there is no better answer.
    failure: Option<Box<Status>>,
}

impl<'a> Record<'a> {
    pub(super) fn new(audit: &'a Arc<Audit>, id: &'a str, uri: &'a str, identity: &'a Identity) -> Self {
        Self { audit, id, uri, identity, told: None }
    }

    /// Who asks is known, or (`None`) that nobody does who may, of a request that came at this time. Rules see the user who sent the
    /// request; `acting` is whom they act as, if they do.
    pub(crate) fn received(
        &mut self,
        at: Time,
        user: Option<&Arc<User>>,
        acting: Option<&User>,
        info: &RequestInfo,
        headers: &HeaderMap,
    ) {
        let scope = self.audit.policy.scope(self.audit.names, user.map(Arc::as_ref), info);
        if scope.level == Level::None {
            return;
        }
        let sender = Sender::new(self.identity, user, acting, headers);
        let facts = Facts { level: scope.level, id: self.id, uri: self.uri, sender: &sender, info, received: at };
        let draft = Draft::new(&self.audit.phrases, &facts);
        let told = self.told.insert(Told { scope, draft, long: is_long(info), panicked: false, failure: None });
        if user.is_some() {
            told.tell(self.audit, Stage::RequestReceived);
        }
    }

    /// What the object is called that the request is about, where the path does not say it.
    pub(crate) fn named(&mut self, name: &str) {
        self.told.iter_mut().for_each(|told| told.draft.name(name));
    }

    /// The answer has a credential of this id.
    pub(crate) fn issued(&mut self, credential: &str) {
        self.told.iter_mut().for_each(|told| told.draft.issue(&self.audit.phrases, credential));
    }

    /// What is asked for is deprecated (document 002, "Deprecation").
    pub(crate) fn deprecated(&mut self) {
        self.told.iter_mut().for_each(|told| told.draft.deprecate(&self.audit.phrases));
    }

    /// What came out of the question whether they may, and why; what came out last counts. `None` where nobody could decide.
    pub(crate) fn authorized(&mut self, allowed: Option<bool>, reason: &str) {
        if let Some(told) = &mut self.told {
            told.draft.decide(&self.audit.phrases, allowed, reason);
        }
    }

    /// The body of the request; `ty` is what a protobuf message holds that does not say so itself.
    pub(crate) fn body(&mut self, graph: &Graph, ty: Option<TypeId>, headers: &HeaderMap, body: &[u8]) {
        if let Some(told) = self.told.as_mut().filter(|told| told.scope.level >= Level::Request && !body.is_empty()) {
            let object = read(headers, body, |body| message(graph, ty, body));
            told.draft.request = told.kept(object);
        }
    }

    /// The server has failed.
    pub(crate) fn panicked(&mut self) {
        self.told.iter_mut().for_each(|told| told.panicked = true);
    }

    /// The answer will be this failure. Where secrets are, only its reason is told and which object it is about: the rest may quote them.
    pub(crate) fn failed(&mut self, status: &Status) {
        if let Some(told) = &mut self.told {
            let (mut message, mut details) = (status.message.clone(), status.details.clone());
            if told.scope.private {
                message.clear();
                details.iter_mut().for_each(|details| details.causes.clear());
            }
            let reason = status.reason.clone();
            told.failure = Some(Box::new(Status { message, reason, details, ..Status::default() }));
        }
    }

    /// The answer. What is still to be told of it is told when its body ends.
    pub(crate) fn answered(mut self, graph: &Graph, response: Response<Body>) -> Response<Body> {
        let Some(mut told) = self.told.take() else { return response };
        let (mut head, body) = response.into_parts();
        told.draft.conclude(head.status.as_u16(), told.failure.take());
        if told.long {
            told.tell(self.audit, Stage::ResponseStarted);
        }
        let body = body.into_full();
        if told.scope.level == Level::RequestResponse {
            let plain = head.extensions.remove::<Uncompressed>();
            let whole = plain.as_ref().map(|plain| &plain.0).or(body.as_ref().ok());
            told.draft.response = told.answer(graph, &head.headers, whole);
        }
        let body = match body {
            Ok(bytes) => {
                told.end(self.audit);
                Body::full(bytes)
            }
            Err(stream) => stream.holding(Ending(Arc::clone(self.audit), told)),
        };
        Response::from_parts(head, body)
    }
}

impl Drop for Record<'_> {
    fn drop(&mut self) {
        let Some(told) = &mut self.told else { return };
        let left = Status { success: true, message: CLOSED_EARLY.to_owned(), ..Status::default() };
        told.draft.conclude(200, Some(Box::new(left)));
        if told.long {
            told.tell(self.audit, Stage::ResponseStarted);
        }
        told.end(self.audit);
    }
}

impl Told {
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

    /// The answer as an event has it; `whole` is its body, unless that is made while the client reads.
    fn answer(&mut self, graph: &Graph, headers: &HeaderMap, whole: Option<&Bytes>) -> Option<Bytes> {
        // What a watch sends is no body, and of an empty one nothing is left out.
        if whole.map_or(self.long, Bytes::is_empty) {
            return None;
        }
        let object = whole.and_then(|body| read(headers, body, |body| message(graph, None, body)));
        self.kept(object)
    }

    /// An object as an event has it, or none with a note when there is too much of it or nobody can read it.
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
fn read(headers: &HeaderMap, body: &[u8], binary: impl FnOnce(&[u8]) -> Option<Value>) -> Option<Value> {
    let media = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("application/json");
    match media.split(';').next().unwrap_or_default().trim() {
        media if media.ends_with("json") => json::parse(body).ok().map(|(value, _)| value),
        media if media.ends_with("yaml") => yaml::parse(body).ok().map(|(value, _)| value),
        media if media.ends_with("protobuf") => binary(body),
        media if media.ends_with("cbor") => cbor::parse(body).ok(),
        _ => None,
    }
}

/// A protobuf body as a tree, by what it says that it holds; `ty` is what it holds if nobody knows that.
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
