//! One event as a line of JSON (`Event` of the audit group).

use bytes::Bytes;
use quorate_meta::{Names, Time};
use quorate_wire::json::write_string;

use super::policy::{Level, Stage};
use crate::authentication::User;
use crate::request::RequestInfo;

/// Everything that is known of a request by the time of a stage.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    pub(super) level: Level,
    pub(super) id: String,
    pub(super) uri: String,
    pub(super) verb: &'static str,
    pub(super) user: Option<User>,
    /// Whom the user acts as.
    pub(super) impersonated: Option<User>,
    pub(super) sources: Vec<String>,
    pub(super) agent: String,
    pub(super) object: Option<ObjectRef>,
    pub(super) annotations: Vec<(String, String)>,
    pub(super) received: Time,
    /// The status code, and for a failure its reason.
    pub(super) code: Option<u16>,
    /// The bodies, as JSON.
    pub(super) request: Option<Bytes>,
    pub(super) response: Option<Bytes>,
}

/// What a request is about.
#[derive(Debug, Clone, Default)]
pub(super) struct ObjectRef {
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
    group: String,
    version: String,
}

impl ObjectRef {
    /// The object or collection of a request for a resource.
    pub(super) fn of(info: &RequestInfo) -> Option<Self> {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        info.is_resource.then(|| Self {
            resource: info.resource.clone(),
            subresource: text(&info.subresource),
            namespace: text(&info.namespace),
            name: text(&info.name),
            group: info.group.clone(),
            version: info.version.clone(),
        })
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

impl Facts {
    /// The line of one stage.
    pub(super) fn line(&self, names: &Names, stage: Stage, now: Time) -> Bytes {
        let bodies = self.request.as_ref().map_or(0, Bytes::len) + self.response.as_ref().map_or(0, Bytes::len);
        let mut out = Vec::with_capacity(1024 + bodies);
        let mut event = Object::open(&mut out);
        event.text("kind", "Event");
        event.text("apiVersion", &format!("{}/v1", names.group_audit));
        event.text("level", self.level.name());
        event.text("auditID", &self.id);
        event.text("stage", stage.name());
        event.text("requestURI", &self.uri);
        event.text("verb", self.verb);
        event.object("user", |object| self.user.iter().for_each(|user| write_user(object, user)));
        if let Some(user) = &self.impersonated {
            event.object("impersonatedUser", |object| write_user(object, user));
        }
        event.texts("sourceIPs", self.sources.iter());
        event.text("userAgent", &self.agent);
        if let Some(object) = &self.object {
            event.object("objectRef", |fields| {
                fields.text("resource", &object.resource);
                fields.text("namespace", &object.namespace);
                fields.text("name", &object.name);
                fields.text("apiGroup", &object.group);
                fields.text("apiVersion", &object.version);
                fields.text("subresource", &object.subresource);
            });
        }
        if let Some(code) = self.code {
            event.object("responseStatus", |status| {
                status.object("metadata", |_| {});
                if code >= 400 {
                    status.text("status", "Failure");
                }
                status.key("code").extend_from_slice(code.to_string().as_bytes());
            });
        }
        for (key, body) in [("requestObject", &self.request), ("responseObject", &self.response)] {
            if let Some(body) = body {
                event.key(key).extend_from_slice(body);
            }
        }
        event.text("requestReceivedTimestamp", &self.received.microseconds());
        event.text("stageTimestamp", &now.microseconds());
        if !self.annotations.is_empty() {
            event.object("annotations", |fields| {
                for (key, value) in &self.annotations {
                    write_string(value, fields.key(key));
                }
            });
        }
        out.extend_from_slice(b"}\n");
        out.into()
    }
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
    use quorate_meta::Naming;
    use serde_json::{Value, json};

    #[test]
    fn a_line_is_one_event() {
        let user = User { extra: vec![("k".into(), vec!["v".into()])], ..User::new("ann \"a\"", ["dev".to_owned()]) };
        let facts = Facts {
            level: Level::Request,
            id: "7".into(),
            uri: "/api/v1/nodes/n?x=y".into(),
            verb: "get",
            user: Some(user),
            sources: vec!["10.0.0.1".into()],
            object: Some(ObjectRef { resource: "nodes".into(), version: "v1".into(), ..ObjectRef::default() }),
            annotations: vec![("authorization.svc.io/reason".into(), String::new())],
            code: Some(404),
            request: Some(Bytes::from_static(b"{\"a\":1}")),
            ..Facts::default()
        };
        let line = facts.line(Naming::Svc.names(), Stage::ResponseComplete, Time::from_ms(1));
        assert!(line.ends_with(b"}\n") && line.iter().filter(|byte| **byte == b'\n').count() == 1);
        let expect = json!({
            "kind": "Event", "apiVersion": "audit.svc.io/v1", "level": "Request", "auditID": "7",
            "stage": "ResponseComplete", "requestURI": "/api/v1/nodes/n?x=y", "verb": "get",
            "user": {"username": "ann \"a\"", "groups": ["dev", "system:authenticated"], "extra": {"k": ["v"]}},
            "sourceIPs": ["10.0.0.1"], "objectRef": {"resource": "nodes", "apiVersion": "v1"},
            "responseStatus": {"metadata": {}, "status": "Failure", "code": 404}, "requestObject": {"a": 1},
            "requestReceivedTimestamp": "1970-01-01T00:00:00.000000Z", "stageTimestamp": "1970-01-01T00:00:00.001000Z",
            "annotations": {"authorization.svc.io/reason": ""}
        });
        assert_eq!(serde_json::from_slice::<Value>(&line).unwrap(), expect);
    }
}
