//! Objects that every live namespace has: its default service account, and the certificate of the cluster's authority.
//!
//! Invariant: what is removed or changed by somebody comes back as it was, as soon as it can: an object that somebody has made immutable
//! stays as it is, and holds up no other namespace.

use std::future::pending;

use quorate_meta::{Map, Names};
use quorate_store::{Revision, Watch, WatchBatch};

use super::context::Context;
use crate::retry_queue::Later;
use quorate_registry::NAMESPACES;
use quorate_registry::error::Error;
use quorate_registry::write::Target;

/// An object that every namespace has.
#[derive(Debug, Clone)]
pub(super) struct Provided {
    pub(super) plural: &'static str,
    pub(super) name: String,
    /// Top-level fields that it must have; everything else in it is left alone.
    pub(super) fields: Map,
}

impl Provided {
    /// The service account that pods of the namespace run as when they name none.
    pub(super) fn default_account() -> Self {
        Self { plural: "serviceaccounts", name: "default".into(), fields: Map::new() }
    }

    /// The certificate (PEM) of the authority that signs servers' certificates; `None` when it is empty.
    pub(super) fn root_ca(names: &Names, certificate: &str) -> Option<Self> {
        if certificate.is_empty() {
            return None;
        }
        let description = format!(
            "Contains a CA bundle that can be used to verify the API server when using internal endpoints such as the internal \
             service IP or {}.default.svc. No other usage is guaranteed across clusters.",
            names.service_api
        );
        let annotations = Map::from([(names.domain_key("description"), description)]);
        let metadata = Map::from([("annotations", annotations)]);
        let fields = Map::from([("metadata", metadata), ("data", Map::from([("ca.crt", certificate)]))]);
        Some(Self { plural: "configmaps", name: names.configmap_root_ca.into(), fields })
    }
}

/// Keeps the object in every namespace; returns only with an error, after which it is started again.
/// `None` keeps nothing.
pub(super) async fn run(context: &Context, provided: Option<Provided>) -> Result<(), Error> {
    let Some(provided) = &provided else { return pending().await };
    let (namespaces, own) = (context.resource(NAMESPACES)?, context.resource(provided.plural)?);
    let snapshot = context.current().await?;
    let watch = |prefix, after: Revision| -> Result<Watch, Error> { Ok(context.store.watch(prefix, after)?) };
    let mut namespaces = watch(namespaces.prefix(None), snapshot.revision())?;
    let mut objects = watch(own.prefix(None), snapshot.revision())?;
    let mut later = Later::default();
    for (namespace, live) in context.namespaces(&snapshot)? {
        if live {
            let kept = keep(context, provided, &namespace).await;
            later.settle(namespace, kept)?;
        }
    }
    drop(snapshot);
    loop {
        let touched = tokio::select! {
            batch = namespaces.next() => created_namespaces(context, &batch?)?,
            batch = objects.next() => namespaces_of(context, provided, &batch?)?,
            touched = later.due() => touched,
        };
        for namespace in touched {
            let kept = keep(context, provided, &namespace).await;
            later.settle(namespace, kept)?;
        }
    }
}

fn created_namespaces(context: &Context, batch: &WatchBatch) -> Result<Vec<String>, Error> {
    let resource = &*context.resource(NAMESPACES)?;
    let created = batch.events().filter(|event| event.previous.is_none());
    Ok(created.filter_map(|event| resource.parse_key(&event.key)).map(|(_, name)| name.to_owned()).collect())
}

fn namespaces_of(context: &Context, provided: &Provided, batch: &WatchBatch) -> Result<Vec<String>, Error> {
    let resource = &*context.resource(provided.plural)?;
    let keys = batch.events().filter_map(|event| resource.parse_key(&event.key));
    let own = keys.filter(|(_, name)| *name == provided.name);
    Ok(own.filter_map(|(namespace, _)| namespace.map(str::to_owned)).collect())
}

/// Makes the object of one namespace what it should be.
async fn keep(context: &Context, provided: &Provided, namespace: &str) -> Result<(), Error> {
    let resource = &*context.resource(provided.plural)?;
    let target = Target { resource, namespace: Some(namespace), name: &provided.name };
    context.keep(target, &provided.fields).await
}
