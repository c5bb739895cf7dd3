//! One event as a line of JSON (`Event` of the audit group).
//!
//! What is known when a request comes in is put into words once ([`Draft::new`]); the line of each stage copies them and
//! adds what has become known since.

use bytes::Bytes;
use quorate_meta::{Status, Time};
use quorate_wire::json::write_string;

use super::policy::{Level, Stage, verb};
use crate::authentication::User;
use crate::request::RequestInfo;

/// Room for what a line has beside the draft and the bodies: stage, two times, the names of its fields.
const REST_BYTES: usize = 192;

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
    pub(super) sources: &'a [String],
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
    received: String,
    /// `responseStatus`, once there is an answer.
    outcome: Vec<u8>,
    /// The fields of `annotations`.
    annotations: Vec<u8>,
    /// The bodies, as JSON.
    pub(super) request: Option<Bytes>,
    pub(super) response: Option<Bytes>,
}

impl Draft {
    /// The beginning of a request's events.
    pub(super) fn new(facts: &Facts<'_>) -> Self {
        let mut text = Vec::with_capacity(768);
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
        event.texts("sourceIPs", facts.sources.iter());
        event.text("userAgent", facts.agent);
        if facts.info.is_resource {
            event.object("objectRef", |object| write_reference(object, facts.info));
        }
        let received = facts.received.microseconds();
        Self { text, stage_at, received, outcome: vec![], annotations: vec![], request: None, response: None }
    }

    /// Adds an annotation.
    pub(super) fn annotate(&mut self, key: &str, value: &str) {
        if !self.annotations.is_empty() {
            self.annotations.push(b',');
        }
        write_string(key, &mut self.annotations);
        self.annotations.push(b':');
        write_string(value, &mut self.annotations);
    }

    /// Says how the request has ended: with this code and, where somebody has said why, this status.
    pub(super) fn conclude(&mut self, code: u16, why: Option<&Status>) {
        self.outcome.clear();
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
        status.key("code").extend_from_slice(code.to_string().as_bytes());
        self.outcome.push(b'}');
    }

    /// Whether it is known how the request has ended.
    pub(super) fn is_concluded(&self) -> bool {
        !self.outcome.is_empty()
    }

    /// The line of one stage.
    pub(super) fn line(&self, stage: Stage, now: Time) -> Bytes {
        let bodies = self.request.as_ref().map_or(0, Bytes::len) + self.response.as_ref().map_or(0, Bytes::len);
        let own = self.text.len() + self.outcome.len() + self.annotations.len();
        let mut out = Vec::with_capacity(own + bodies + REST_BYTES);
        out.extend_from_slice(&self.text[..self.stage_at]);
        let mut event = Object::reopen(&mut out);
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
        event.text("requestReceivedTimestamp", &self.received);
        event.text("stageTimestamp", &now.microseconds());
        if !self.annotations.is_empty() {
            let out = event.key("annotations");
            out.push(b'{');
            out.extend_from_slice(&self.annotations);
            out.push(b'}');
        }
        out.extend_from_slice(b"}\n");
        out.into()
    }
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

    fn key(&mut self, key: &str) -> &mut Vec<u8> {
        if !std::mem::replace(&mut self.first, false) {
            self.out.push(b',');
        }
        write_string(key, self.out);
        self.out.push(b':');
        self.out
    }

    fn text(&mut self, key: &str, text: &str) {
        if !text.is_empty() {
            write_string(text, self.key(key));
        }
    }

    fn texts<'t>(&mut self, key: &str, texts: impl Iterator<Item = &'t String>) {
        let mut texts = texts.peekable();
        if texts.peek().is_none() {
            return;
        }
        let out = self.key(key);
        let mut mark = b'[';
        for text in texts {
            out.push(mark);
            write_string(text, out);
            mark = b',';
        }
        out.push(b']');
    }

    fn object(&mut self, key: &str, fill: impl FnOnce(&mut Object<'_>)) {
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
    object.texts("groups", user.groups.iter());
    if !user.extra.is_empty() {
        object.object("extra", |extra| {
            for (key, values) in &user.extra {
                extra.texts(key, values.iter());
            }
        });
    }
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
        draft.annotate("authorization.svc.io/decision", "allow");
        draft.annotate("authorization.svc.io/reason", "");
        draft.request = Some(Bytes::from_static(b"{\"a\":1}"));
        let mut expect = json!({
            "kind": "Event", "apiVersion": "audit.svc.io/v1", "level": "Request", "auditID": "7",
            "stage": "RequestReceived", "requestURI": uri, "verb": "get",
            "user": {"username": "ann \"a\"", "groups": ["dev", "system:authenticated"], "extra": {"k": ["v"]}},
            "sourceIPs": ["10.0.0.1"], "objectRef": {"resource": "nodes", "name": "n", "apiVersion": "v1"},
            "requestObject": {"a": 1},
            "requestReceivedTimestamp": "1970-01-01T00:00:00.000000Z", "stageTimestamp": "1970-01-01T00:00:00.001000Z",
            "annotations": {"authorization.svc.io/decision": "allow", "authorization.svc.io/reason": ""}
        });
        let check = |draft: &Draft, stage, expect: &Value| {
            let line = draft.line(stage, Time::from_ms(1));
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
