//! The condition `Dangling` of FlowSchemas: whether the priority level of each exists.

use std::collections::BTreeSet;
use std::future::pending;
use std::time::Duration;

use quorate_meta::Value;
use quorate_store::Snapshot;
use tokio::time::sleep;

use super::context::Context;
use crate::conditions::{self, Condition};
use crate::retry_queue::RetryQueue;
use quorate_registry::error::Error;
use quorate_registry::write::Target;
use quorate_registry::{Resource, stored_codec};

const DANGLING: &str = "Dangling";
/// How long changes are batched before they are reconciled.
const BATCH_WINDOW: Duration = Duration::from_millis(200);

/// Keeps the conditions; returns only with an error, after which it is started again.
pub(super) async fn run(context: &Context) -> Result<(), Error> {
    let group = context.names.group("flowcontrol.apiserver");
    let find = |plural| context.find(&group, "v1", plural);
    let (Some(schemas), Some(levels)) =
        (&find("flowschemas"), &find("prioritylevelconfigurations"))
    else {
        return pending().await;
    };
    let mut retries = RetryQueue::default();
    loop {
        let snapshot = context.current().await?;
        let mut changes = context.store.watch(schemas.prefix(None), snapshot.revision())?;
        let mut level_changes = context.store.watch(levels.prefix(None), snapshot.revision())?;
        let mut names = BTreeSet::new();
        for (_, entry) in snapshot.range(&schemas.prefix(None), None) {
            // An object that cannot be read can have no condition.
            let Ok(object) = stored_codec::decode(schemas, entry) else {
                continue;
            };
            let name = object.str_at(&["metadata", "name"]).unwrap_or_default();
            let target = Target { resource: schemas, namespace: None, name };
            let wanted = condition(&object, levels, &snapshot);
            let done = context.work.item(conditions::set(context, target, &object, wanted)).await;
            retries.record(name.to_owned(), done)?;
            names.insert(name.to_owned());
        }
        drop(snapshot);
        tokio::select! {
            batch = changes.next() => drop(batch?),
            batch = level_changes.next() => drop(batch?),
            // All are reconciled anyway; those that are gone are forgotten.
            due = retries.due() => due.iter().filter(|name| !names.contains(*name)).for_each(|name| retries.forget(name)),
        }
        sleep(BATCH_WINDOW).await;
    }
}

/// Whether a schema leads nowhere.
fn condition(schema: &Value, levels: &Resource, snapshot: &Snapshot) -> Condition {
    let level = schema.str_at(&["spec", "priorityLevelConfiguration", "name"]).unwrap_or_default();
    let refers =
        format!("This FlowSchema references the PriorityLevelConfiguration object named {level:?}");
    match snapshot.get(&levels.key(None, level)) {
        Some(_) => (DANGLING, false, "Found", format!("{refers} and it exists")),
        None => (DANGLING, true, "NotFound", format!("{refers} but there is no such object")),
    }
}
