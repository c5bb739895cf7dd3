//! Which objects the caller of a page about the whole cluster may see, by today's rules.
//!
//! Invariants: an object is seen by who may list its resource where it is, or get it by its name;
//! each question is asked once for a page.

use std::collections::HashMap;

use quorate_access::authorization::{Action, ResourceAction};
use quorate_registry::{NAMESPACES, Resource};

use crate::Api;
use crate::handlers::Request;

/// Questions to the authorizer for one page.
const MAX_QUESTIONS: usize = 2000;

/// An object that a page may tell of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Named<'a> {
    pub(super) resource: &'a Resource,
    pub(super) namespace: Option<&'a str>,
    pub(super) name: &'a str,
}

/// What has been asked for one page. Collections and objects are known by their keys.
pub(super) struct Visible<'a> {
    api: &'a Api,
    request: &'a Request<'a>,
    known: HashMap<bytes::Bytes, bool>,
}

impl<'a> Visible<'a> {
    pub(super) fn new(api: &'a Api, request: &'a Request<'a>) -> Self {
        Self { api, request, known: HashMap::new() }
    }

    /// Whether the page has to end, because too much has been asked for it.
    pub(super) fn is_exhausted(&self) -> bool {
        self.known.len() >= MAX_QUESTIONS
    }

    /// Whether the caller may see an object.
    pub(super) async fn includes(&mut self, object: Named<'_>) -> bool {
        let Named { resource, namespace, name } = object;
        let list = action("list", object, namespace.unwrap_or_default(), "");
        if self.ask(resource.prefix(namespace), list).await {
            return true;
        }
        // A request for one namespace counts as one in that namespace.
        let is_namespace = resource.group.is_empty() && resource.plural == NAMESPACES;
        let within = namespace.or(is_namespace.then_some(name)).unwrap_or_default();
        self.ask(resource.key(namespace, name), action("get", object, within, name)).await
    }

    async fn ask(&mut self, key: bytes::Bytes, action: Action<'_>) -> bool {
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let decision = self.api.authorizer.decide_by_applied(self.request.user, &action).await;
        self.known.insert(key, decision.is_allowed());
        decision.is_allowed()
    }
}

fn action<'n>(
    verb: &'static str,
    object: Named<'n>,
    namespace: &'n str,
    name: &'n str,
) -> Action<'n> {
    let resource = object.resource;
    Action::Resource(ResourceAction {
        verb,
        group: &resource.group,
        version: &resource.version,
        resource: &resource.plural,
        namespace,
        name: name.into(),
        ..ResourceAction::default()
    })
}
