//! Requests of simulated clients to the API, and the replies.
//!
//! Invariant: an [`ApiRequest`] says everything that the checkers need to judge the answer; the
//! request on the wire is made from it alone.

use std::fmt::Write;

use http::Method;
use serde_json::Value;

use super::kind::ResourceKind;

/// The annotation whose value no two requests share: it says which request wrote an object.
pub(crate) const STAMP: &str = "sim.example/stamp";
/// The finalizer that clients put and take away.
pub(crate) const HOLD: &str = "sim.example/hold";

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Create,
    Update,
    MergePatch,
    JsonPatch,
    Apply,
    Delete,
    Get,
    List,
    Watch,
    /// The document that says which resources the group version of the kind has.
    Discover,
}

/// The state that a read asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum At {
    /// Everything acknowledged so far.
    MostRecent,
    /// Whatever the node has.
    Any,
    NotOlderThan(u64),
    Exact(u64),
}

/// One request.
#[derive(Debug, Clone)]
pub(crate) struct ApiRequest {
    pub(crate) verb: Verb,
    pub(crate) kind: ResourceKind,
    /// The version of its group.
    pub(crate) version: &'static str,
    /// Empty for what is in no namespace, and for collections across all namespaces.
    pub(crate) namespace: String,
    /// Empty for collections and for names that the server is to make.
    pub(crate) name: String,
    pub(crate) at: At,
    /// Of a list or watch: the label selector `color=…`.
    pub(crate) color: Option<&'static str>,
    pub(crate) limit: Option<u64>,
    pub(crate) token: Option<String>,
    pub(crate) dry_run: bool,
    pub(crate) body: Option<Value>,
    /// The stamp that the request writes.
    pub(crate) stamp: Option<String>,
    /// Of a watch: the objects that are there come first, and a bookmark after them.
    pub(crate) initial: bool,
    /// Of a watch: its length in seconds.
    pub(crate) timeout: u64,
    /// Of an apply: in whose name.
    pub(crate) manager: String,
    /// Of a list: as a table.
    pub(crate) table: bool,
}

impl ApiRequest {
    /// A request about an object or collection, without any options.
    pub(crate) fn new(verb: Verb, kind: ResourceKind, namespace: &str, name: &str) -> Self {
        Self {
            verb,
            kind,
            version: "v1",
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            at: At::MostRecent,
            color: None,
            limit: None,
            token: None,
            dry_run: false,
            body: None,
            stamp: None,
            initial: false,
            timeout: 0,
            manager: String::new(),
            table: false,
        }
    }

    /// The method on the wire.
    pub(crate) fn method(&self) -> Method {
        match self.verb {
            Verb::Create => Method::POST,
            Verb::Update => Method::PUT,
            Verb::MergePatch | Verb::JsonPatch | Verb::Apply => Method::PATCH,
            Verb::Delete => Method::DELETE,
            Verb::Get | Verb::List | Verb::Watch | Verb::Discover => Method::GET,
        }
    }

    /// The media type of the body.
    pub(crate) fn content_type(&self) -> &'static str {
        match self.verb {
            Verb::MergePatch => "application/merge-patch+json",
            Verb::JsonPatch => "application/json-patch+json",
            Verb::Apply => "application/apply-patch+yaml",
            _ => "application/json",
        }
    }

    /// The media types of the answer.
    pub(crate) fn accept(&self) -> &'static str {
        if self.table { "application/json;as=Table;g=meta.svc.io;v=v1" } else { "*/*" }
    }

    /// Whether it changes something, unless it is a dry run.
    pub(crate) fn writes(&self) -> bool {
        !matches!(self.verb, Verb::Get | Verb::List | Verb::Watch | Verb::Discover)
    }

    /// The key of its object, or what the keys of its collection begin with.
    pub(crate) fn key(&self) -> String {
        self.kind.key(&self.namespace, &self.name)
    }

    /// Path and query.
    pub(crate) fn uri(&self) -> String {
        let mut uri = match self.kind.group() {
            "" => "/api/v1".to_owned(),
            group => format!("/apis/{group}/{}", self.version),
        };
        if self.verb == Verb::Discover {
            return uri;
        }
        if !self.namespace.is_empty() {
            uri += &format!("/namespaces/{}", self.namespace);
        }
        uri += &format!("/{}", self.kind.plural());
        if !self.name.is_empty() && self.verb != Verb::Create {
            uri += &format!("/{}", self.name);
        }
        for (index, (name, value)) in self.query().iter().enumerate() {
            let separator = if index == 0 { '?' } else { '&' };
            write!(uri, "{separator}{name}={value}").expect("a string grows");
        }
        uri
    }

    fn query(&self) -> Vec<(&'static str, String)> {
        let mut query = Vec::new();
        match self.at {
            At::MostRecent => {}
            At::Any => query.push(("resourceVersion", "0".to_owned())),
            At::NotOlderThan(at) | At::Exact(at) => query.push(("resourceVersion", at.to_string())),
        }
        match (self.verb, self.at) {
            (Verb::List, At::NotOlderThan(_)) => {
                query.push(("resourceVersionMatch", "NotOlderThan".to_owned()))
            }
            (Verb::List, At::Exact(_)) => query.push(("resourceVersionMatch", "Exact".to_owned())),
            _ => {}
        }
        if self.verb == Verb::Watch {
            query.push(("watch", "1".to_owned()));
            query.push(("allowWatchBookmarks", "1".to_owned()));
            query.push(("timeoutSeconds", self.timeout.to_string()));
        }
        if self.initial {
            query.push(("sendInitialEvents", "1".to_owned()));
            query.push(("resourceVersionMatch", "NotOlderThan".to_owned()));
        }
        let color = self.color.map(|color| ("labelSelector", format!("color%3D{color}")));
        let limit = self.limit.map(|limit| ("limit", limit.to_string()));
        let token = self.token.clone().map(|token| ("continue", token));
        let dry_run = self.dry_run.then(|| ("dryRun", "All".to_owned()));
        let manager = (self.verb == Verb::Apply).then(|| ("fieldManager", self.manager.clone()));
        let force = (self.verb == Verb::Apply).then(|| ("force", "1".to_owned()));
        query.extend([color, limit, token, dry_run, manager, force].into_iter().flatten());
        query
    }
}

/// A finished answer.
#[derive(Debug, Clone)]
pub(crate) struct ApiReply {
    pub(crate) status: u16,
    /// The revision of the state that a read shows, as the answer's head says.
    pub(crate) revision: Option<u64>,
    pub(crate) body: Value,
}

impl ApiReply {
    /// `metadata.resourceVersion` of the body.
    pub(crate) fn version(&self) -> Option<u64> {
        version(&self.body)
    }

    /// Whether it was done.
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Whether the server does not know the resource itself.
    pub(crate) fn is_unserved(&self) -> bool {
        self.status == 404 && self.body["details"]["name"].is_null()
    }

    /// Whether the server says that nothing was changed and nothing will be.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self.status, 400..=500 | 503 | 507)
    }
}

/// `metadata.resourceVersion` of an object.
pub(crate) fn version(object: &Value) -> Option<u64> {
    object.pointer("/metadata/resourceVersion")?.as_str()?.parse().ok()
}
