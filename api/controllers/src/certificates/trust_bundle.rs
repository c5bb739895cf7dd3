//! The ClusterTrustBundle of the authority that signs servers' certificates, for clients that
//! verify this server.
//!
//! Invariant: there is one bundle of the signer, and it has the current authority. Its name ends in
//! a hash of its content, so that a new authority's bundle exists before the old one is removed.

use std::future::pending;

use quorate_meta::{Map, Value};
use sha2::{Digest, Sha256};

use crate::context::{Context, is_settled};
use quorate_registry::error::Error;
use quorate_registry::write::Target;
use quorate_registry::{Resource, stored_codec};

/// The path of the signer's name, which both profiles share.
const SIGNER: &str = "kube-apiserver-serving";
/// Bytes of the hash that a bundle's name ends in.
const HASH_BYTES: usize = 6;

/// Publishes for ever; returns only with an error, after which it is started again. An empty
/// authority is not published.
pub(crate) async fn run(context: &Context, authority: &str) -> Result<(), Error> {
    let names = context.names;
    let found = context.find(&names.group("certificates"), "v1beta1", "clustertrustbundles");
    let Some(resource) = found.as_ref().filter(|found| found.served && !authority.is_empty())
    else {
        return pending().await;
    };
    let signer = names.domain_key(SIGNER);
    let name = format!("{}:{}", signer.replace('/', ":"), hash(authority));
    loop {
        let snapshot = context.current().await?;
        let mut changes = context.store.watch(resource.prefix(None), snapshot.revision())?;
        let entry = snapshot.get(&resource.key(None, &name));
        let own = entry.map(|entry| stored_codec::decode(resource, entry)).transpose()?;
        let says = own.as_ref().and_then(|object| object.str_at(&["spec", "trustBundle"]));
        if says != Some(authority) {
            if let Some(entry) = entry {
                context.delete_at(Target { resource, namespace: None, name: &name }, entry).await?;
            }
            create(context, resource, &name, &signer, authority).await?;
        }
        for (key, entry) in snapshot.range(&resource.prefix(None), None) {
            let Some((_, other)) = resource.parse_key(key) else {
                continue;
            };
            if other != name
                && stored_codec::header(resource, &entry.value)?.field("spec.signerName")
                    == Some(&signer)
            {
                context.delete_at(Target { resource, namespace: None, name: other }, entry).await?;
            }
        }
        drop(snapshot);
        changes.next().await?;
    }
}

fn hash(authority: &str) -> String {
    Sha256::digest(authority).iter().take(HASH_BYTES).map(|byte| format!("{byte:02x}")).collect()
}

async fn create(
    context: &Context,
    resource: &Resource,
    name: &str,
    signer: &str,
    bundle: &str,
) -> Result<(), Error> {
    let spec = Map::from([("signerName", signer), ("trustBundle", bundle)]);
    let mut object = Value::Map(Map::from([("spec", spec)]));
    object.set_at(&["metadata", "name"], name);
    let target = Target { resource, namespace: None, name };
    match context.writer.create(target, object, context.options()).await {
        Err(error) if is_settled(&error) => Ok(()),
        created => created.map(drop),
    }
}
