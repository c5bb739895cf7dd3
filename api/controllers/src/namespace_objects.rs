//! The objects that every live namespace has: its default service account, and the certificate of
//! the cluster's authority.
//!
//! Invariant: an object that a client removes or changes is restored. One that a client has made
//! immutable stays as it is, and delays no other namespace.

use std::future::pending;

use quorate_meta::{Map, Names};
use quorate_store::{Revision, Watch, WatchBatch};

use super::context::Context;
use crate::retry_queue::RetryQueue;
use quorate_registry::NAMESPACES;
use quorate_registry::error::Error;
use quorate_registry::write::Target;

/// An object that every namespace has.
#[derive(Debug, Clone)]
pub(super) struct NamespaceObject {
    pub(super) plural: &'static str,
    pub(super) name: String,
    /// Top-level fields that it must have; everything else in it is left alone.
    pub(super) fields: Map,
}

impl NamespaceObject {
    /// The service account that pods of the namespace run as when they name none.
    pub(super) fn default_account() -> Self {
        Self { plural: "serviceaccounts", name: "default".into(), fields: Map::new() }
    }

    /// The certificate (PEM) of the authority that signs servers' certificates; `None` when it is
    /// empty.
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
        let fields =
            Map::from([("metadata", metadata), ("data", Map::from([("ca.crt", certificate)]))]);
        Some(Self { plural: "configmaps", name: names.configmap_root_ca.into(), fields })
    }
}

/// Keeps the object in every namespace; returns only with an error, after which it is started
/// again. `None` keeps nothing.
pub(super) async fn run(context: &Context, object: Option<NamespaceObject>) -> Result<(), Error> {
    let Some(object) = &object else {
        return pending().await;
    };
    let (namespaces, own) = (context.resource(NAMESPACES)?, context.resource(object.plural)?);
    let snapshot = context.current().await?;
    let watch = |prefix, after: Revision| -> Result<Watch, Error> {
        Ok(context.store.watch(prefix, after)?)
    };
    let mut namespaces = watch(namespaces.prefix(None), snapshot.revision())?;
    let mut objects = watch(own.prefix(None), snapshot.revision())?;
    let mut retries = RetryQueue::default();
    for (namespace, live) in context.namespaces(&snapshot)? {
        if live {
            let done = context.work.item(reconcile(context, object, &namespace)).await;
            retries.record(namespace, done)?;
        }
    }
    drop(snapshot);
    loop {
        let touched = tokio::select! {
            batch = namespaces.next() => created_namespaces(context, &batch?)?,
            batch = objects.next() => namespaces_of(context, object, &batch?)?,
            touched = retries.due() => touched,
        };
        context.work.waits(touched.len());
        for namespace in touched {
            let done = context.work.item(reconcile(context, object, &namespace)).await;
            retries.record(namespace, done)?;
        }
    }
}

fn created_namespaces(context: &Context, batch: &WatchBatch) -> Result<Vec<String>, Error> {
    let resource = &*context.resource(NAMESPACES)?;
    let created = batch.events().filter(|event| event.previous.is_none());
    Ok(created
        .filter_map(|event| resource.parse_key(&event.key))
        .map(|(_, name)| name.to_owned())
        .collect())
}

fn namespaces_of(
    context: &Context,
    object: &NamespaceObject,
    batch: &WatchBatch,
) -> Result<Vec<String>, Error> {
    let resource = &*context.resource(object.plural)?;
    let keys = batch.events().filter_map(|event| resource.parse_key(&event.key));
    let own = keys.filter(|(_, name)| *name == object.name);
    Ok(own.filter_map(|(namespace, _)| namespace.map(str::to_owned)).collect())
}

/// Reconciles the object of one namespace.
async fn reconcile(
    context: &Context,
    object: &NamespaceObject,
    namespace: &str,
) -> Result<(), Error> {
    let resource = &*context.resource(object.plural)?;
    let target = Target { resource, namespace: Some(namespace), name: &object.name };
    context.ensure_fields(target, &object.fields).await
}
