//! One event as a line of JSON (`Event` of the audit group).
//!
//! What is known when a request comes in is put into words once ([`Draft::new`]), from what the request says and without a tree in
//! between; the line of each stage copies them to where it is wanted and adds what has become known since.

use std::borrow::Cow;

use bytes::Bytes;
use quorate_meta::{Status, Time};
use quorate_wire::json::write_string;

use super::policy::{Level, Stage, verb};
use crate::authentication::User;
use crate::request::RequestInfo;

/// Room for the text of an ordinary request.
const TEXT_BYTES: usize = 768;
/// Room for how an ordinary request ends.
const OUTCOME_BYTES: usize = 64;

/// What is known of a request when it comes in.
#[derive(Debug)]
pub(super) struct Facts<'a> {
    /// The group and version of events.
    pub(super) version: &'a str,
    pub(super) level: Level,
    pub(super) id: &'a str,
    pub(super) uri: &'a str,
    pub(super) user: Option<&'a User>,
    /// Whom the user acts as.
    pub(super) impersonated: Option<&'a User>,
    pub(super) sources: &'a [Cow<'a, str>],
    pub(super) agent: &'a str,
    pub(super) info: &'a RequestInfo,
    pub(super) received: Time,
}

/// An event that further stages add to.
#[derive(Debug)]
pub(super) struct Draft {
    /// The fields before the stage, and from `stage_at` on those that follow it.
    text: Vec<u8>,
    stage_at: usize,
    received: Time,
    /// `responseStatus`, once there is an answer.
    outcome: Vec<u8>,
    /// What was said about whether they may, as fields of `annotations`.
    decision: Vec<u8>,
    /// The other fields of `annotations`.
    notes: Vec<u8>,
    /// The bodies, as JSON.
    pub(super) request: Option<Bytes>,
    pub(super) response: Option<Bytes>,
}

impl Draft {
    /// The beginning of a request's events.
    pub(super) fn new(facts: &Facts<'_>) -> Self {
        let mut text = Vec::with_capacity(TEXT_BYTES);
        let mut event = Object::open(&mut text);
        event.text("kind", "Event");
        event.text("apiVersion", facts.version);
        event.text("level", facts.level.name());
        event.text("auditID", facts.id);
        let stage_at = event.out.len();
        event.text("requestURI", facts.uri);
        event.text("verb", verb(facts.info));
        event.object("user", |object| facts.user.iter().for_each(|user| write_user(object, user)));
        if let Some(user) = facts.impersonated {
            event.object("impersonatedUser", |object| write_user(object, user));
        }
        event.texts("sourceIPs", facts.sources);
        event.text("userAgent", facts.agent);
        if facts.info.is_resource {
            event.object("objectRef", |object| write_reference(object, facts.info));
        }
        let (received, outcome, decision, notes) = (facts.received, vec![], vec![], vec![]);
        Self { text, stage_at, received, outcome, decision, notes, request: None, response: None }
    }

    /// Annotates what was said about whether they may, in place of what was said before.
    pub(super) fn decide<'a>(&mut self, annotations: impl IntoIterator<Item = (&'a str, &'a str)>) {
        self.decision.clear();
        annotations.into_iter().for_each(|(key, value)| annotate(&mut self.decision, key, value));
    }

    /// Adds another annotation.
    pub(super) fn note(&mut self, key: &str, value: &str) {
        annotate(&mut self.notes, key, value);
    }

    /// Says how the request has ended: with this code and, where somebody has said why, this status.
    pub(super) fn conclude(&mut self, code: u16, why: Option<&Status>) {
        self.outcome.clear();
        self.outcome.reserve(OUTCOME_BYTES);
        let mut status = Object::open(&mut self.outcome);
        status.object("metadata", |_| {});
        match why {
            Some(why) => {
                status.text("status", if why.success { "Success" } else { "Failure" });
                status.text("message", &why.message);
                status.text("reason", why.reason.as_str());
            }
            None if code >= 400 => status.text("status", "Failure"),
            None => {}
        }
        status.key("code").extend(digits(code));
        self.outcome.push(b'}');
    }

    /// Whether it is known how the request has ended.
    pub(super) fn is_concluded(&self) -> bool {
        !self.outcome.is_empty()
    }

    /// Writes the line of one stage.
    pub(super) fn write(&self, stage: Stage, now: Time, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.text[..self.stage_at]);
        let mut event = Object::reopen(out);
        event.text("stage", stage.name());
        event.out.extend_from_slice(&self.text[self.stage_at..]);
        if self.is_concluded() {
            event.key("responseStatus").extend_from_slice(&self.outcome);
        }
        for (key, body) in [("requestObject", &self.request), ("responseObject", &self.response)] {
            if let Some(body) = body {
                event.key(key).extend_from_slice(body);
            }
        }
        event.time("requestReceivedTimestamp", self.received);
        event.time("stageTimestamp", now);
        if !(self.decision.is_empty() && self.notes.is_empty()) {
            let out = event.key("annotations");
            out.push(b'{');
            out.extend_from_slice(&self.decision);
            if !(self.decision.is_empty() || self.notes.is_empty()) {
                out.push(b',');
            }
            out.extend_from_slice(&self.notes);
            out.push(b'}');
        }
        out.extend_from_slice(b"}\n");
    }
}

/// Appends a field to those of `annotations`.
fn annotate(fields: &mut Vec<u8>, key: &str, value: &str) {
    if !fields.is_empty() {
        fields.push(b',');
    }
    write_string(key, fields);
    fields.push(b':');
    write_string(value, fields);
}

/// A status code in decimal.
fn digits(code: u16) -> [u8; 3] {
    [100, 10, 1].map(|weight| b'0' + u8::try_from(code / weight % 10).unwrap_or_default())
}

/// Writes the members of one JSON object.
struct Object<'a> {
    out: &'a mut Vec<u8>,
    first: bool,
}

impl<'a> Object<'a> {
    fn open(out: &'a mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, first: true }
    }

    /// Goes on with an object that has members already.
    fn reopen(out: &'a mut Vec<u8>) -> Self {
        Self { out, first: false }
    }

    /// Begins a field; its name is ours, so nothing in it needs an escape.
    fn key(&mut self, key: &'static str) -> &mut Vec<u8> {
        let mark: &[u8] = if std::mem::replace(&mut self.first, false) { b"\"" } else { b",\"" };
        self.out.extend_from_slice(mark);
        self.out.extend_from_slice(key.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.out
    }

    fn time(&mut self, key: &'static str, time: Time) {
        let out = self.key(key);
        out.push(b'"');
        time.write_microseconds(out);
        out.push(b'"');
    }

    fn text(&mut self, key: &'static str, text: &str) {
        if !text.is_empty() {
            write_string(text, self.key(key));
        }
    }

    fn texts(&mut self, key: &'static str, texts: &[impl AsRef<str>]) {
        if !texts.is_empty() {
            write_texts(texts, self.key(key));
        }
    }

    fn object(&mut self, key: &'static str, fill: impl FnOnce(&mut Object<'_>)) {
        let mut inner = Object::open(self.key(key));
        fill(&mut inner);
        inner.out.push(b'}');
    }
}

fn write_reference(object: &mut Object<'_>, info: &RequestInfo) {
    object.text("resource", &info.resource);
    object.text("namespace", info.namespace.as_deref().unwrap_or_default());
    object.text("name", info.name.as_deref().unwrap_or_default());
    object.text("apiGroup", &info.group);
    object.text("apiVersion", &info.version);
    object.text("subresource", info.subresource.as_deref().unwrap_or_default());
}

fn write_user(object: &mut Object<'_>, user: &User) {
    object.text("username", &user.name);
    object.text("uid", &user.uid);
    object.texts("groups", &user.groups);
    let mut extra = user.extra.iter().filter(|(_, values)| !values.is_empty()).peekable();
    if extra.peek().is_some() {
        let out = object.key("extra");
        let mut mark = b'{';
        for (key, values) in extra {
            out.push(mark);
            write_string(key, out);
            out.push(b':');
            write_texts(values, out);
            mark = b',';
        }
        out.push(b'}');
    }
}

/// Writes a list that is not empty.
fn write_texts(texts: &[impl AsRef<str>], out: &mut Vec<u8>) {
    let mut mark = b'[';
    for text in texts {
        out.push(mark);
        write_string(text.as_ref(), out);
        mark = b',';
    }
    out.push(b']');
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Method;
    use quorate_meta::Naming;
    use serde_json::{Value, json};

    #[test]
    fn a_line_is_one_event() {
        let user = User { extra: vec![("k".into(), vec!["v".into()])], ..User::new("ann \"a\"", ["dev".to_owned()]) };
        let uri = "/api/v1/nodes/n?x=y";
        let info = RequestInfo::parse(Naming::Svc.names(), &Method::GET, &uri.parse().unwrap());
        let mut draft = Draft::new(&Facts {
            version: "audit.svc.io/v1",
            level: Level::Request,
            id: "7",
            uri,
            user: Some(&user),
            impersonated: None,
            sources: &["10.0.0.1".into()],
            agent: "",
            info: &info,
            received: Time::from_ms(0),
        });
        draft.decide([("authorization.svc.io/decision", "forbid"), ("authorization.svc.io/reason", "no")]);
        draft.decide([("authorization.svc.io/decision", "allow"), ("authorization.svc.io/reason", "")]);
        draft.note("more", "\"so\"");
        draft.request = Some(Bytes::from_static(b"{\"a\":1}"));
        let mut expect = json!({
            "kind": "Event", "apiVersion": "audit.svc.io/v1", "level": "Request", "auditID": "7",
            "stage": "RequestReceived", "requestURI": uri, "verb": "get",
            "user": {"username": "ann \"a\"", "groups": ["dev", "system:authenticated"], "extra": {"k": ["v"]}},
            "sourceIPs": ["10.0.0.1"], "objectRef": {"resource": "nodes", "name": "n", "apiVersion": "v1"},
            "requestObject": {"a": 1},
            "requestReceivedTimestamp": "1970-01-01T00:00:00.000000Z", "stageTimestamp": "1970-01-01T00:00:00.001000Z",
            "annotations": {
                "authorization.svc.io/decision": "allow", "authorization.svc.io/reason": "", "more": "\"so\""
            }
        });
        let check = |draft: &Draft, stage, expect: &Value| {
            let mut line = Vec::new();
            draft.write(stage, Time::from_ms(1), &mut line);
            assert!(line.ends_with(b"}\n") && line.iter().filter(|byte| **byte == b'\n').count() == 1);
            assert_eq!(serde_json::from_slice::<Value>(&line).unwrap(), *expect);
        };
        check(&draft, Stage::RequestReceived, &expect);
        expect["stage"] = "ResponseComplete".into();
        for (why, status) in [
            (None, json!({"metadata": {}, "status": "Failure", "code": 400})),
            (
                Some(&Status::bad_request("no \"x\"")),
                json!({"metadata": {}, "status": "Failure", "message": "no \"x\"", "reason": "BadRequest", "code": 400}),
            ),
        ] {
            draft.conclude(400, why);
            expect["responseStatus"] = status;
            check(&draft, Stage::ResponseComplete, &expect);
        }
    }
}
