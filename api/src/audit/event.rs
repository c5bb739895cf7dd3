//! One event as a line of JSON (`Event` of the audit group).
//!
//! What is known when a request comes in is put into words once ([`Draft::new`]), from what the request says and without a tree in
//! between; the line of each stage copies them to where it is wanted and adds what has become known since.

use std::borrow::Cow;

use bytes::Bytes;
use quorate_meta::{Names, Status, Time};
use quorate_wire::json::write_string;

use super::policy::{Level, Stage, verb};
use crate::authentication::User;
use crate::request::RequestInfo;

/// Room for the text of an ordinary request.
const TEXT_BYTES: usize = 768;
/// What a line adds to that text at most, but for texts that others have written.
const LINE_BYTES: usize = 512;
/// Bytes of JSON that one byte of a text may become.
const ESCAPE_BYTES: usize = 6;

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
    names: &'static Names,
    /// The fields before the stage, from `stage_at` on those that follow it, and from `times_at` on when the request came in.
    text: Vec<u8>,
    stage_at: usize,
    times_at: usize,
    /// How the request has ended: the code and, where somebody has said why, a status.
    outcome: Option<(u16, Option<Box<Status>>)>,
    /// What was said about whether they may, if anybody could say, and why.
    decision: Option<(Option<bool>, String)>,
    /// Whether a body is missing here that the policy asks for.
    pub(super) left_out: bool,
    /// The bodies, as JSON.
    pub(super) request: Option<Bytes>,
    pub(super) response: Option<Bytes>,
}

impl Draft {
    /// The beginning of a request's events.
    pub(super) fn new(names: &'static Names, facts: &Facts<'_>) -> Self {
        let mut text = Vec::with_capacity(TEXT_BYTES);
        let mut event = Object::open(&mut text);
        event.text(",\"kind\":", "Event");
        event.text(",\"apiVersion\":", facts.version);
        event.text(",\"level\":", facts.level.name());
        event.text(",\"auditID\":", facts.id);
        let stage_at = event.out.len();
        event.text(",\"requestURI\":", facts.uri);
        event.text(",\"verb\":", verb(facts.info));
        event.object(",\"user\":", |object| facts.user.iter().for_each(|user| write_user(object, user)));
        if let Some(user) = facts.impersonated {
            event.object(",\"impersonatedUser\":", |object| write_user(object, user));
        }
        event.texts(",\"sourceIPs\":", facts.sources);
        event.text(",\"userAgent\":", facts.agent);
        if facts.info.is_resource {
            event.object(",\"objectRef\":", |object| write_reference(object, facts.info));
        }
        let times_at = event.out.len();
        event.time(",\"requestReceivedTimestamp\":", facts.received);
        let (outcome, decision, left_out) = (None, None, false);
        Self { names, text, stage_at, times_at, outcome, decision, left_out, request: None, response: None }
    }

    /// Annotates what was said about whether they may (`None` where nobody could decide) and why, in place of what was said before.
    pub(super) fn decide(&mut self, allowed: Option<bool>, reason: &str) {
        self.decision = Some((allowed, reason.to_owned()));
    }

    /// Says how the request has ended: with this code and, where somebody has said why, this status.
    pub(super) fn conclude(&mut self, code: u16, why: Option<Box<Status>>) {
        self.outcome = Some((code, why));
    }

    /// Bytes that a line takes at most.
    pub(super) fn room(&self) -> usize {
        let why = self.outcome.as_ref().and_then(|(_, why)| why.as_ref());
        let why = why.map_or(0, |why| why.message.len() + why.reason.as_str().len());
        let reason = self.decision.as_ref().map_or(0, |(_, reason)| reason.len());
        let bodies = [&self.request, &self.response].map(|body| body.as_ref().map_or(0, Bytes::len));
        self.text.len() + LINE_BYTES + ESCAPE_BYTES * (why + reason) + bodies.iter().sum::<usize>()
    }

    /// Writes the line of one stage; without a time, it is that of the request.
    pub(super) fn write(&self, stage: Stage, now: Option<Time>, out: &mut Vec<u8>) {
        let (before, rest) = self.text.split_at(self.stage_at);
        let (about, times) = rest.split_at(self.times_at - self.stage_at);
        out.extend_from_slice(before);
        let mut event = Object::reopen(out);
        event.text(",\"stage\":", stage.name());
        event.out.extend_from_slice(about);
        if let Some((code, why)) = &self.outcome {
            event.object(",\"responseStatus\":", |object| write_outcome(object, *code, why.as_deref()));
        }
        for (key, body) in [(",\"requestObject\":", &self.request), (",\"responseObject\":", &self.response)] {
            if let Some(body) = body {
                event.key(key).extend_from_slice(body);
            }
        }
        event.out.extend_from_slice(times);
        match now {
            Some(now) => event.time(",\"stageTimestamp\":", now),
            None => event.key(",\"stageTimestamp\":").extend_from_slice(&times[times.len() - TIME_BYTES..]),
        }
        if self.decision.is_some() || self.left_out {
            event.object(",\"annotations\":", |object| self.write_annotations(object));
        }
        out.extend_from_slice(b"}\n");
    }

    fn write_annotations(&self, object: &mut Object<'_>) {
        if let Some((allowed, reason)) = &self.decision {
            if let Some(allowed) = allowed {
                object.annotation(self.names.audit_decision, if *allowed { "allow" } else { "forbid" });
            }
            object.annotation(self.names.audit_reason, reason);
        }
        if self.left_out {
            object.annotation(&format!("{}/body-left-out", self.names.group_audit), "true");
        }
    }
}

/// Bytes of a time with its quotes.
const TIME_BYTES: usize = 29;

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

    /// Begins a field: `,"name":` as it is written, in one piece.
    fn key(&mut self, key: &'static str) -> &mut Vec<u8> {
        let key = if std::mem::replace(&mut self.first, false) { &key[1..] } else { key };
        self.out.extend_from_slice(key.as_bytes());
        self.out
    }

    /// A field whose name stands in a table.
    fn annotation(&mut self, key: &str, value: &str) {
        if !std::mem::replace(&mut self.first, false) {
            self.out.push(b',');
        }
        write_string(key, self.out);
        self.out.push(b':');
        write_string(value, self.out);
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

fn write_outcome(object: &mut Object<'_>, code: u16, why: Option<&Status>) {
    object.object(",\"metadata\":", |_| {});
    match why {
        Some(why) => {
            object.text(",\"status\":", if why.success { "Success" } else { "Failure" });
            object.text(",\"message\":", &why.message);
            object.text(",\"reason\":", why.reason.as_str());
        }
        None if code >= 400 => object.text(",\"status\":", "Failure"),
        None => {}
    }
    object.key(",\"code\":").extend(digits(code));
}

fn write_reference(object: &mut Object<'_>, info: &RequestInfo) {
    object.text(",\"resource\":", &info.resource);
    object.text(",\"namespace\":", info.namespace.as_deref().unwrap_or_default());
    object.text(",\"name\":", info.name.as_deref().unwrap_or_default());
    object.text(",\"apiGroup\":", &info.group);
    object.text(",\"apiVersion\":", &info.version);
    object.text(",\"subresource\":", info.subresource.as_deref().unwrap_or_default());
}

fn write_user(object: &mut Object<'_>, user: &User) {
    object.text(",\"username\":", &user.name);
    object.text(",\"uid\":", &user.uid);
    object.texts(",\"groups\":", &user.groups);
    let mut extra = user.extra.iter().filter(|(_, values)| !values.is_empty()).peekable();
    if extra.peek().is_some() {
        let out = object.key(",\"extra\":");
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
        let mut draft = Draft::new(
            Naming::Svc.names(),
            &Facts {
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
            },
        );
        draft.decide(Some(false), "no");
        draft.decide(Some(true), "\"so\"");
        draft.left_out = true;
        draft.request = Some(Bytes::from_static(b"{\"a\":1}"));
        let mut expect = json!({
            "kind": "Event", "apiVersion": "audit.svc.io/v1", "level": "Request", "auditID": "7",
            "stage": "RequestReceived", "requestURI": uri, "verb": "get",
            "user": {"username": "ann \"a\"", "groups": ["dev", "system:authenticated"], "extra": {"k": ["v"]}},
            "sourceIPs": ["10.0.0.1"], "objectRef": {"resource": "nodes", "name": "n", "apiVersion": "v1"},
            "requestObject": {"a": 1},
            "requestReceivedTimestamp": "1970-01-01T00:00:00.000000Z", "stageTimestamp": "1970-01-01T00:00:00.000000Z",
            "annotations": {
                "authorization.svc.io/decision": "allow", "authorization.svc.io/reason": "\"so\"",
                "audit.svc.io/body-left-out": "true"
            }
        });
        let check = |draft: &Draft, stage, now, expect: &Value| {
            let mut line = Vec::new();
            draft.write(stage, now, &mut line);
            assert!(
                line.len() <= draft.room()
                    && line.ends_with(b"}\n")
                    && line.iter().filter(|byte| **byte == b'\n').count() == 1
            );
            assert_eq!(serde_json::from_slice::<Value>(&line).unwrap(), *expect);
        };
        check(&draft, Stage::RequestReceived, None, &expect);
        expect["stageTimestamp"] = "1970-01-01T00:00:00.001000Z".into();
        expect["stage"] = "ResponseComplete".into();
        for (why, status) in [
            (None, json!({"metadata": {}, "status": "Failure", "code": 400})),
            (
                Some(Box::new(Status::bad_request("no \"x\""))),
                json!({"metadata": {}, "status": "Failure", "message": "no \"x\"", "reason": "BadRequest", "code": 400}),
            ),
        ] {
            draft.conclude(400, why);
            expect["responseStatus"] = status;
            check(&draft, Stage::ResponseComplete, Some(Time::from_ms(1)), &expect);
        }
    }
}
