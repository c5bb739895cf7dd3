//! One request as the audit trail sees it, from its first line to the last byte of its answer.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, USER_AGENT};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Response};
use parking_lot::Mutex;
use quorate_meta::{Time, Value};
use quorate_schema::{Graph, TypeId};
use quorate_wire::{cbor, json, protobuf, yaml};

use super::Audit;
use super::event::{Facts, ObjectRef};
use super::policy::{Level, Scope, Stage, is_long};
use crate::authentication::User;
use crate::body::Body;
use crate::request::RequestInfo;

/// Bytes of a body that an event has at most; the event says that one was left out.
const MAX_BODY_BYTES: usize = 1 << 20;

/// See the module.
#[derive(Debug)]
pub(crate) struct Trace {
    audit: Arc<Audit>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    facts: Facts,
    scope: Scope,
    /// Whether the answer goes on as long as its client likes.
    long: bool,
    panicked: bool,
}

impl Trace {
    pub(super) fn new(audit: Arc<Audit>, id: &HeaderValue, head: &Parts, peer: Option<&str>) -> Self {
        let text = |value: &HeaderValue| value.to_str().unwrap_or_default().to_owned();
        let facts = Facts {
            id: text(id),
            uri: head.uri.path_and_query().map(ToString::to_string).unwrap_or_default(),
            agent: head.headers.get(USER_AGENT).map(text).unwrap_or_default(),
            sources: sources(&head.headers, peer),
            received: Time::from_ms(audit.clock.now_ms()),
            ..Facts::default()
        };
        Self { audit, state: Mutex::new(State { facts, ..State::default() }) }
    }

    /// Who asks is known, or (`None`) that nobody does who may. Rules see the user who sent the request, `effective` is whom
    /// they act as.
    pub(crate) fn received(&self, user: Option<&User>, effective: Option<&User>, info: &RequestInfo) {
        let mut state = self.state.lock();
        let scope = self.audit.policy.scope(self.audit.names, user, info);
        if scope.level == Level::None {
            return;
        }
        let facts = &mut state.facts;
        facts.level = scope.level;
        facts.verb = if info.is_resource { info.verb.name() } else { info.verb.method_name() };
        facts.user = user.cloned();
        facts.impersonated = effective.filter(|effective| Some(*effective) != user).cloned();
        facts.object = ObjectRef::of(info);
        state.scope = scope;
        state.long = is_long(info);
        if user.is_some() {
            tell(&self.audit, &state, Stage::RequestReceived);
        }
    }

    /// What came out of the question whether they may.
    pub(crate) fn authorized(&self, allowed: bool, reason: &str) {
        let mut state = self.state.lock();
        if state.scope.level == Level::None {
            return;
        }
        let (names, verdict) = (self.audit.names, if allowed { "allow" } else { "forbid" });
        state.facts.annotations.push((names.audit_decision.to_owned(), verdict.to_owned()));
        state.facts.annotations.push((names.audit_reason.to_owned(), reason.to_owned()));
    }

    /// The body of the request; `ty` is what a protobuf message holds.
    pub(crate) fn body(&self, graph: &Graph, ty: Option<TypeId>, headers: &HeaderMap, body: &[u8]) {
        let mut state = self.state.lock();
        if state.scope.level >= Level::Request && !body.is_empty() {
            let object = read(headers, body, |body| protobuf::decode(graph, ty?, body).ok());
            state.facts.request = kept(&self.audit, &mut state, object);
        }
    }

    /// The server has failed.
    pub(crate) fn panicked(&self) {
        self.state.lock().panicked = true;
    }

    /// The answer. What is still to be told of it is told when its body ends.
    pub(crate) fn answered(self, response: Response<Body>) -> Response<Body> {
        let mut state = self.state.into_inner();
        if state.scope.level == Level::None {
            return response;
        }
        state.facts.code = Some(response.status().as_u16());
        let (head, body) = response.into_parts();
        let audit = self.audit;
        if state.long && head.status.is_success() {
            tell(&audit, &state, Stage::ResponseStarted);
        }
        let body = match body.into_full() {
            Ok(bytes) => {
                if state.scope.level == Level::RequestResponse && !head.headers.contains_key(CONTENT_ENCODING) {
                    let object = read(&head.headers, &bytes, |_| None);
                    state.facts.response = kept(&audit, &mut state, object);
                }
                end(&audit, &state);
                Body::full(bytes)
            }
            Err(stream) => stream.holding(Ending(audit, state)),
        };
        Response::from_parts(head, body)
    }
}

fn tell(audit: &Audit, state: &State, stage: Stage) {
    if state.scope.omit_stages.contains(&stage) {
        return;
    }
    let line = state.facts.line(audit.names, stage, Time::from_ms(audit.clock.now_ms()));
    audit.spools.iter().for_each(|spool| spool.put(line.clone()));
}

fn end(audit: &Audit, state: &State) {
    tell(audit, state, if state.panicked { Stage::Panic } else { Stage::ResponseComplete });
}

/// An object as an event has it, or none with a note when there is too much of it or nobody can read it.
fn kept(audit: &Audit, state: &mut State, object: Option<Value>) -> Option<Bytes> {
    let object = object.map(|mut object| {
        if state.scope.omit_managed_fields {
            drop_managed_fields(&mut object);
        }
        json::to_vec(&object)
    });
    let kept = object.filter(|object| object.len() <= MAX_BODY_BYTES);
    if kept.is_none() {
        let key = format!("{}/body-left-out", audit.names.group_audit);
        state.facts.annotations.push((key, "true".to_owned()));
    }
    kept.map(Bytes::from)
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

fn drop_managed_fields(object: &mut Value) {
    object.remove_at(&["metadata", "managedFields"]);
    for item in object.get_mut("items").and_then(Value::as_list_mut).into_iter().flatten() {
        item.remove_at(&["metadata", "managedFields"]);
    }
}

/// Where a request comes from: what proxies say, then the other end of the connection.
fn sources(headers: &HeaderMap, peer: Option<&str>) -> Vec<String> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let addresses = header("x-forwarded-for").split(',').chain([header("x-real-ip")]);
    let peer = peer.map(|peer| peer.rsplit_once(':').map_or(peer, |(host, _)| host));
    let mut sources: Vec<String> = Vec::new();
    for address in addresses.chain(peer) {
        if let Ok(address) = address.trim().trim_matches(['[', ']']).parse::<std::net::IpAddr>() {
            let text = address.to_string();
            if !sources.contains(&text) {
                sources.push(text);
            }
        }
    }
    sources
}

/// Held by the body of an answer: tells that it ends, however it does.
struct Ending(Arc<Audit>, State);

impl Drop for Ending {
    fn drop(&mut self) {
        end(&self.0, &self.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_what_proxies_say_and_the_peer() {
        let check = |forwarded: &'static str, peer: Option<&str>, expect: &[&str]| {
            let headers = HeaderMap::from_iter([(
                http::HeaderName::from_static("x-forwarded-for"),
                HeaderValue::from_static(forwarded),
            )]);
            assert_eq!(sources(&headers, peer), expect);
        };
        check("", Some("127.0.0.1:5000"), &["127.0.0.1"]);
        check("10.0.0.1, 10.0.0.2", Some("[::1]:5000"), &["10.0.0.1", "10.0.0.2", "::1"]);
        check("10.0.0.1,nonsense", None, &["10.0.0.1"]);
    }
}
