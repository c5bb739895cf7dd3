//! The APIServices of custom resources: one for each group version that definitions serve.
//!
//! Invariants: an APIService that has the label of automanaged ones and is of no group version that
//! is served goes, unless it is of a built-in one; one that another client made, without the label,
//! is left alone. The priorities of those with the label are kept.
//!
//! Not here: the APIServices of built-in group versions, which are made at start, and conditions.

use std::collections::BTreeSet;
use std::future::pending;
use std::time::Duration;

use quorate_meta::{Map, Value};
use quorate_registry::error::Error;
use quorate_registry::write::Target;
use quorate_registry::{Catalogue, DEFINITIONS, EXTENSIONS, Resource, stored_codec};
use quorate_store::{Entry, Snapshot};
use tokio::time::sleep;

use super::context::Context;

/// How long changes are batched before they are reconciled.
const BATCH_WINDOW: Duration = Duration::from_millis(500);
const GROUP_PRIORITY: i64 = 1000;
const VERSION_PRIORITY: i64 = 100;

/// Keeps the APIServices; returns only with an error, after which it is started again.
pub(super) async fn run(context: &Context) -> Result<(), Error> {
    let found = context
        .find(&context.names.group("apiregistration"), "v1", "apiservices")
        .zip(context.find(&context.names.group(EXTENSIONS), "v1", DEFINITIONS));
    let Some((services, definitions)) = found else {
        return pending().await;
    };
    loop {
        let snapshot = context.current().await?;
        let revision = snapshot.revision();
        let mut changes = context.store.watch(services.prefix(None), revision)?;
        let mut definition_changes = context.store.watch(definitions.prefix(None), revision)?;
        context.follow_definitions();
        let all =
            Reconciliation { context, services: &services, catalogue: context.catalogue.load() };
        context.work.item(all.reconcile(&snapshot)).await?;
        drop(snapshot);
        tokio::select! {
            batch = changes.next() => drop(batch?),
            batch = definition_changes.next() => drop(batch?),
        }
        sleep(BATCH_WINDOW).await;
    }
}

/// One look at everything.
struct Reconciliation<'p> {
    context: &'p Context,
    services: &'p Resource,
    catalogue: std::sync::Arc<Catalogue>,
}

impl Reconciliation<'_> {
    async fn reconcile(&self, snapshot: &Snapshot) -> Result<(), Error> {
        let mut missing = self.wanted();
        for (key, entry) in snapshot.range(&self.services.prefix(None), None) {
            let Some((_, name)) = self.services.parse_key(key) else {
                continue;
            };
            let is_wanted = missing.remove(name);
            // What cannot be read is left alone.
            let Ok(header) = stored_codec::header(self.services, &entry.value) else {
                continue;
            };
            let label = self.label();
            let managed = header.labels().find(|(key, _)| *key == label).map(|(_, value)| value);
            match managed {
                Some(_) if is_wanted => self.keep(name, entry).await?,
                Some("true") => {
                    self.context.delete_at(self.target(name), entry).await?;
                }
                _ => {}
            }
        }
        for name in missing {
            let mut labels = Map::new();
            labels.insert(self.label(), "true");
            let mut metadata = Map::new();
            metadata.insert("labels", labels);
            let fields =
                Map::from([("metadata", Value::Map(metadata)), ("spec", Value::Map(spec(&name)))]);
            self.context.ensure_fields_at(snapshot, self.target(&name), &fields).await?;
        }
        Ok(())
    }

    /// The names of the APIServices of all group versions that only custom resources have.
    fn wanted(&self) -> BTreeSet<String> {
        let versions = self.catalogue.group_versions().into_iter();
        let is_custom = |(group, version): &(&str, &str)| {
            self.catalogue.version(group, version).all(|resource| resource.is_custom())
        };
        versions.filter(is_custom).map(|(group, version)| format!("{version}.{group}")).collect()
    }

    /// Writes the specification and the label of an APIService that is there, if they differ.
    async fn keep(&self, name: &str, entry: &Entry) -> Result<(), Error> {
        let object = stored_codec::decode(self.services, entry)?;
        let (label, wanted) = (self.label(), Value::Map(spec(name)));
        let path = ["metadata", "labels", label.as_str()];
        if object.get("spec") == Some(&wanted) && object.str_at(&path) == Some("true") {
            return Ok(());
        }
        let change = |current: Option<&Value>| {
            let mut object = current.cloned().unwrap_or_default();
            object.set_at(&["spec"], wanted.clone());
            object.set_at(&path, "true");
            Ok(object)
        };
        self.context.update_at(self.target(name), entry.modified, change).await
    }

    fn target<'t>(&'t self, name: &'t str) -> Target<'t> {
        Target { resource: self.services, namespace: None, name }
    }

    fn label(&self) -> String {
        format!("kube-aggregator.{}", self.context.names.domain_key("automanaged"))
    }
}

/// The specification of the APIService of this name.
fn spec(name: &str) -> Map {
    let (version, group) = name.split_once('.').unwrap_or((name, ""));
    Map::from([
        ("group", Value::from(group)),
        ("groupPriorityMinimum", GROUP_PRIORITY.into()),
        ("version", version.into()),
        ("versionPriority", VERSION_PRIORITY.into()),
    ])
}
