//! One audit event as a line of JSON (`Event` of the audit group).
//!
//! What is known when a request comes in is put into words once ([`Draft::new`]), from what the
//! request says and without a tree in between; the line of each stage begins with a copy of that
//! and adds what has become known since.

#[cfg(test)]
mod tests;

use bytes::Bytes;
use quorate_meta::{Details, Names, Status, Time};
use quorate_wire::json::{self, write_string};

use super::json_members::{write_object, write_text};
use super::policy::{Level, Stage, verb};
use super::sender::Sender;
use quorate_access::request::RequestInfo;
use quorate_registry::release::Release;

/// Room for the text of an ordinary request.
const TEXT_BYTES: usize = 1024;
/// What a line adds to that text at most, but for texts that others have written.
const LINE_BYTES: usize = 512;
/// Bytes of JSON that one byte of a text may become.
const ESCAPE_BYTES: usize = 6;

/// What is known of a request when it comes in.
#[derive(Debug)]
pub(super) struct Facts<'a> {
    pub(super) level: Level,
    pub(super) id: &'a str,
    pub(super) uri: &'a str,
    pub(super) sender: &'a Sender<'a>,
    pub(super) info: &'a RequestInfo,
    pub(super) received: Time,
}

/// What events say in the same words every time, as they say it.
#[derive(Debug)]
pub(super) struct Phrases {
    /// What they begin with, by level.
    openings: [String; Level::NAMES.len()],
    allow: String,
    forbid: String,
    /// The name of the reason's annotation.
    reason: String,
    /// The name of the annotation of a credential in the answer.
    issued: String,
    deprecated: String,
    /// The key of the annotation with the release that removes what is asked for.
    removed_release: &'static str,
    left_out: String,
}

impl Phrases {
    pub(super) fn new(names: &Names) -> Self {
        let group = names.group_audit;
        let decision = |decision| format!(r#","{}":"{decision}""#, names.audit_decision);
        Self {
            openings: Level::NAMES.map(|(level, _)| {
                format!(r#"{{"kind":"Event","apiVersion":"{group}/v1","level":"{level}""#)
            }),
            allow: decision("allow"),
            forbid: decision("forbid"),
            reason: format!(r#","{}":"#, names.audit_reason),
            issued: format!(r#","{}issued-credential-id":"#, names.user_extra_prefix),
            deprecated: format!(r#","{}":"true""#, names.audit_deprecated),
            removed_release: names.audit_removed_release,
            left_out: format!(r#","{group}/body-left-out":"true""#),
        }
    }
}

/// An event that further stages add to.
#[derive(Debug)]
pub(super) struct Draft {
    /// What was known when the request came in, and from `decision_at` on the decision of the
    /// authorizer.
    text: Vec<u8>,
    /// Where the object's name belongs, if the path has none.
    name_at: Option<usize>,
    decision_at: usize,
    received: Time,
    /// Annotations of what became known after that decision.
    further: Vec<u8>,
    /// How the request has ended: the code and, for a failure, its Status.
    outcome: Option<(u16, Option<Box<Status>>)>,
    /// The member with the details of that Status; empty when it has none.
    details: Vec<u8>,
    /// Whether a body is missing here that the policy asks for.
    pub(super) left_out: bool,
    /// The bodies, as JSON.
    pub(super) request: Option<Bytes>,
    pub(super) response: Option<Bytes>,
}

impl Draft {
    /// The beginning of a request's events.
    pub(super) fn new(phrases: &Phrases, facts: &Facts<'_>) -> Self {
        let mut text = Vec::with_capacity(TEXT_BYTES);
        let out = &mut text;
        out.extend_from_slice(phrases.openings[facts.level as usize].as_bytes());
        write_text(",\"auditID\":", facts.id, out);
        write_text(",\"requestURI\":", facts.uri, out);
        write_text(",\"verb\":", verb(facts.info), out);
        facts.sender.write(out);
        let mut name_at = None;
        if facts.info.is_resource {
            write_object(",\"objectRef\":", out, |out| {
                write_reference(facts.info, out);
                name_at = facts.info.name.is_none().then_some(out.len());
            });
        }
        out.extend_from_slice(b",\"requestReceivedTimestamp\":\"");
        facts.received.write_microseconds(out);
        let decision_at = out.len();
        let (received, further, outcome, details, left_out) =
            (facts.received, Vec::new(), None, Vec::new(), false);
        Self {
            text,
            name_at,
            decision_at,
            received,
            further,
            outcome,
            details,
            left_out,
            request: None,
            response: None,
        }
    }

    /// Says what the object is called, unless that was known before.
    pub(super) fn name(&mut self, name: &str) {
        let Some(at) = self.name_at.take() else {
            return;
        };
        let mut field = Vec::new();
        write_text(",\"name\":", name, &mut field);
        self.decision_at += field.len();
        self.text.splice(at..at, field);
    }

    /// Annotates the decision of the authorizer (`None` where it could not decide) and its reason,
    /// in place of an earlier one.
    pub(super) fn decide(&mut self, phrases: &Phrases, allowed: Option<bool>, reason: &str) {
        self.text.truncate(self.decision_at);
        if let Some(allowed) = allowed {
            let decision = if allowed { &phrases.allow } else { &phrases.forbid };
            self.text.extend_from_slice(decision.as_bytes());
        }
        self.text.extend_from_slice(phrases.reason.as_bytes());
        write_string(reason, &mut self.text);
    }

    /// Annotates the credential that the answer has.
    pub(super) fn issue(&mut self, phrases: &Phrases, credential: &str) {
        self.further.extend_from_slice(phrases.issued.as_bytes());
        write_string(credential, &mut self.further);
    }

    /// Annotates what admission has told.
    pub(super) fn annotate(&mut self, key: &str, value: &str) {
        self.further.push(b',');
        write_string(key, &mut self.further);
        self.further.push(b':');
        write_string(value, &mut self.further);
    }

    /// Annotates that the request is for a version that will be gone some day.
    pub(super) fn deprecate(&mut self, phrases: &Phrases, removed: Option<Release>) {
        self.further.extend_from_slice(phrases.deprecated.as_bytes());
        if let Some(removed) = removed {
            self.annotate(phrases.removed_release, &removed.to_string());
        }
    }

    /// Says how the request has ended: with this code and, for a failure, this Status.
    pub(super) fn conclude(&mut self, code: u16, why: Option<Box<Status>>) {
        let details = why.as_ref().and_then(|why| why.details.as_ref()).map(Details::to_value);
        self.details = details.map_or(Vec::new(), |details| {
            [&b",\"details\":"[..], &json::to_vec(&details)].concat()
        });
        self.outcome = Some((code, why));
    }

    /// Bytes that a line takes at most.
    pub(super) fn room(&self) -> usize {
        let why = self.outcome.as_ref().and_then(|(_, why)| why.as_ref());
        let why = why.map_or(0, |why| why.message.len() + why.reason.as_str().len());
        let bodies =
            [&self.request, &self.response].map(|body| body.as_ref().map_or(0, Bytes::len));
        let own: usize = [&self.text, &self.further, &self.details].map(Vec::len).iter().sum();
        own + LINE_BYTES + ESCAPE_BYTES * why + bodies.iter().sum::<usize>()
    }

    /// Writes the line of one stage; without a time, it is that of the request.
    pub(super) fn write(
        &self,
        phrases: &Phrases,
        stage: Stage,
        now: Option<Time>,
        out: &mut Vec<u8>,
    ) {
        let (facts, decision) = self.text.split_at(self.decision_at);
        out.extend_from_slice(facts);
        out.extend_from_slice(b"\",\"stageTimestamp\":\"");
        match now.filter(|now| *now != self.received) {
            Some(now) => now.write_microseconds(out),
            None => out.extend_from_slice(&facts[facts.len() - TIME_BYTES..]),
        }
        out.extend_from_slice(b"\",\"stage\":\"");
        out.extend_from_slice(stage.name().as_bytes());
        out.push(b'"');
        if let Some((code, why)) = &self.outcome {
            write_object(",\"responseStatus\":", out, |out| {
                write_outcome(*code, why.as_deref(), &self.details, out);
            });
        }
        for (key, body) in
            [(",\"requestObject\":", &self.request), (",\"responseObject\":", &self.response)]
        {
            if let Some(body) = body {
                out.extend_from_slice(key.as_bytes());
                out.extend_from_slice(body);
            }
        }
        if !decision.is_empty() || !self.further.is_empty() || self.left_out {
            write_object(",\"annotations\":", out, |out| {
                out.extend_from_slice(decision);
                out.extend_from_slice(&self.further);
                if self.left_out {
                    out.extend_from_slice(phrases.left_out.as_bytes());
                }
            });
        }
        out.extend_from_slice(b"}\n");
    }
}

/// Bytes of a time.
const TIME_BYTES: usize = 27;

/// A status code in decimal.
fn digits(code: u16) -> [u8; 3] {
    [100, 10, 1].map(|weight| b'0' + u8::try_from(code / weight % 10).unwrap_or_default())
}

fn write_outcome(code: u16, why: Option<&Status>, details: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b",\"metadata\":{}");
    match why {
        Some(why) => {
            write_text(",\"status\":", if why.success { "Success" } else { "Failure" }, out);
            write_text(",\"message\":", &why.message, out);
            write_text(",\"reason\":", why.reason.as_str(), out);
            out.extend_from_slice(details);
        }
        None if code >= 400 => write_text(",\"status\":", "Failure", out),
        None => {}
    }
    out.extend_from_slice(b",\"code\":");
    out.extend(digits(code));
}

fn write_reference(info: &RequestInfo, out: &mut Vec<u8>) {
    write_text(",\"resource\":", &info.resource, out);
    write_text(",\"namespace\":", info.namespace.as_deref().unwrap_or_default(), out);
    write_text(",\"name\":", info.name.as_deref().unwrap_or_default(), out);
    write_text(",\"apiGroup\":", &info.group, out);
    write_text(",\"apiVersion\":", &info.version, out);
    write_text(",\"subresource\":", info.subresource.as_deref().unwrap_or_default(), out);
}
