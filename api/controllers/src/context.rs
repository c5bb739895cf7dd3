//! The context of one controller: store, catalogue, clock, a writer under its name, and the writes
//! that controllers share.
//!
//! Invariant: a write that was made from an object's state is bound to that state.

use std::sync::Arc;
use std::time::Duration;

use quorate_env::Env;
use quorate_meta::{Map, Names, Reason, Value};
use quorate_store::{Entry, NotApplied, Revision, Snapshot, Store};

use crate::cluster::Cluster;
use crate::work_meter::WorkMeter;
use quorate_extensions::crd::publisher::Publisher;
use quorate_registry::error::Error;
use quorate_registry::write::{
    DeleteOptions, GivenOptions, Preconditions, Target, UpdateOptions, WriteOptions, Writer,
};
use quorate_registry::{CurrentCatalogue, NAMESPACES, OriginHead, Part, Resource, stored_codec};

/// How long a controller waits after a failure before it tries again.
pub(super) const RETRY_PERIOD: Duration = Duration::from_millis(500);

/// One controller's view of the cluster. Cheap to clone.
#[derive(Clone)]
pub(super) struct Context {
    pub(super) names: &'static Names,
    pub(super) catalogue: Arc<CurrentCatalogue>,
    pub(super) custom_resources: Option<Arc<Publisher>>,
    pub(super) store: Arc<dyn Store>,
    pub(super) env: Env,
    pub(super) writer: Writer,
    /// The field manager of what the controller writes.
    pub(super) manager: &'static str,
    /// Counts its work.
    pub(super) work: WorkMeter,
}

impl Context {
    pub(super) fn new(cluster: &Cluster, manager: &'static str) -> Self {
        Self {
            names: cluster.names,
            catalogue: cluster.catalogue.clone(),
            custom_resources: cluster.custom_resources.clone(),
            store: cluster.store.clone(),
            env: cluster.env.clone(),
            writer: cluster.writer.clone().from_origin(OriginHead::of_source(manager)),
            manager,
            work: WorkMeter::new(manager, cluster.metrics.clone()),
        }
    }

    pub(super) fn options(&self) -> WriteOptions<'static> {
        WriteOptions { dry_run: false, manager: self.manager, given: GivenOptions::NONE }
    }

    /// An unconditional update of a part of an object that is there.
    pub(super) fn update_options(&self, part: Part) -> UpdateOptions<'static> {
        UpdateOptions { write: self.options(), part, if_match: None, replaces: false, named: None }
    }

    /// A resource of the core group; every cluster has those that controllers ask for.
    pub(super) fn resource(&self, plural: &str) -> Result<Arc<Resource>, Error> {
        let found = self.find("", "v1", plural);
        found.ok_or_else(|| Error::internal(format!("there is no resource {plural}")))
    }

    /// A built-in resource by its full group name, whether it is served or switched off.
    pub(super) fn find(&self, group: &str, version: &str, plural: &str) -> Option<Arc<Resource>> {
        self.catalogue.load().find_builtin(group, version, plural).cloned()
    }

    /// The resource that an object's key belongs to, in the version that its objects are stored in.
    pub(super) fn of_key(&self, key: &[u8]) -> Option<Arc<Resource>> {
        self.catalogue.load().of_key(key).cloned()
    }

    /// Makes the catalogue as new as what this node has applied. For decisions about everything
    /// that is stored: the catalogue follows by itself, a little later.
    pub(super) fn follow_definitions(&self) {
        if let Some(publisher) = &self.custom_resources {
            publisher.follow();
        }
    }

    /// A state that is current.
    pub(super) async fn current(&self) -> Result<Snapshot, Error> {
        self.store.read_index().await?;
        Ok(self.store.snapshot())
    }

    /// Creates an object of the core group, unless it exists or its namespace is terminating.
    pub(super) async fn ensure(
        &self,
        plural: &str,
        namespace: Option<&str>,
        name: &str,
        fields: Map,
    ) -> Result<(), Error> {
        let resource = self.resource(plural)?;
        self.create(&resource, namespace, name, fields).await
    }

    async fn create(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        name: &str,
        fields: Map,
    ) -> Result<(), Error> {
        let mut object = Value::Map(fields);
        object.set_at(&["apiVersion"], resource.api_version.as_str());
        object.set_at(&["kind"], resource.kind.as_str());
        object.set_at(&["metadata", "name"], name);
        self.complete(resource, &mut object)?;
        let target = Target { resource, namespace, name };
        match self.writer.create(target, object, self.options()).await {
            Err(error) if is_settled(&error) => Ok(()),
            created => created.map(drop),
        }
    }

    /// Makes an object have these top-level fields; everything else in it is left alone. `metadata`
    /// is only a new one's. An object that another writer has changed since it was read stays as it
    /// is: that may have been the next leader.
    pub(super) async fn ensure_fields(
        &self,
        target: Target<'_>,
        fields: &Map,
    ) -> Result<(), Error> {
        self.ensure_fields_at(&self.store.snapshot(), target, fields).await
    }

    /// The same, when the fields were made from what this state has.
    pub(super) async fn ensure_fields_at(
        &self,
        snapshot: &Snapshot,
        target: Target<'_>,
        fields: &Map,
    ) -> Result<(), Error> {
        let Target { resource, namespace, name } = target;
        let Some(entry) = snapshot.get(&target.key()) else {
            return self.create(resource, namespace, name, fields.clone()).await;
        };
        let own = || fields.iter().filter(|(field, _)| *field != "metadata");
        let object = stored_codec::decode(resource, entry)?;
        if own().all(|(field, value)| object.get(field) == Some(value)) {
            return Ok(());
        }
        let change = |current: Option<&Value>| {
            let mut object = current.cloned().unwrap_or_default();
            for (field, value) in own() {
                object.set_at(&[field], value.clone());
            }
            Ok(object)
        };
        self.update_at(target, entry.modified, change).await
    }

    /// Changes an object if it is still at the revision at which it was read; when not, its change
    /// wakes the controller anyway.
    pub(super) async fn update_at<F>(
        &self,
        target: Target<'_>,
        seen: Revision,
        change: F,
    ) -> Result<(), Error>
    where
        F: FnMut(Option<&Value>) -> Result<Value, Error> + Send,
    {
        let seen = seen.to_string();
        let options = UpdateOptions { if_match: Some(&seen), ..self.update_options(Part::Main) };
        match self.writer.update(target, options, change).await {
            Err(error) if is_settled(&error) || is_conflict(&error) => Ok(()),
            updated => updated.map(drop),
        }
    }

    /// Deletes an object if it still is what was read; when not, its change wakes the controller
    /// anyway.
    pub(super) async fn delete_at(&self, target: Target<'_>, seen: &Entry) -> Result<(), Error> {
        let uid = stored_codec::header(target.resource, &seen.value)?.uid().to_owned();
        let preconditions =
            Preconditions { uid: Some(uid), resource_version: Some(seen.modified.to_string()) };
        match self
            .writer
            .delete(target, &DeleteOptions { preconditions, ..DeleteOptions::default() })
            .await
        {
            Err(error) if is_settled(&error) || is_conflict(&error) => Ok(()),
            deleted => deleted.map(drop),
        }
    }

    /// A random identity (version 4, RFC 9562).
    pub(super) fn uuid(&self) -> String {
        let mut bytes = [0; 16];
        self.env.entropy.fill(&mut bytes);
        uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
    }

    /// Brings an object into canonical form and fills in its defaults.
    pub(super) fn complete(&self, resource: &Resource, object: &mut Value) -> Result<(), Error> {
        quorate_schema::decode(&resource.graph(), resource.ty(), object)
            .map_err(|error| Error::internal(error.to_string()))?;
        quorate_schema::apply_defaults(&resource.graph(), resource.ty(), object);
        resource.strategy.default(self.names, object);
        Ok(())
    }

    /// The names of all namespaces that can be read, and whether each is live.
    pub(super) fn namespaces(&self, snapshot: &Snapshot) -> Result<Vec<(String, bool)>, Error> {
        let resource = &*self.resource(NAMESPACES)?;
        let (mut found, mut unreadable) = (Vec::new(), Vec::new());
        for (key, entry) in snapshot.range(&resource.prefix(None), None) {
            let Some((_, name)) = resource.parse_key(key) else {
                continue;
            };
            match stored_codec::header(resource, &entry.value) {
                Ok(header) => found.push((name.to_owned(), header.deletion_timestamp().is_none())),
                Err(_) => unreadable.push(name),
            }
        }
        if let Some(first) = unreadable.first() {
            tracing::warn!(%first, count = unreadable.len(), "namespaces that cannot be read are left out");
        }
        Ok(found)
    }
}

/// Whether a refusal says that nothing is left to do.
pub(super) fn is_settled(error: &Error) -> bool {
    let settled = [Reason::AlreadyExists, Reason::NotFound, Reason::Forbidden];
    error.reason().is_some_and(|reason| settled.contains(reason))
}

/// Whether a refusal says that the object has changed meanwhile.
pub(super) fn is_conflict(error: &Error) -> bool {
    error.reason() == Some(&Reason::Conflict)
}

/// Logs an error that is about one object, so that its controller can go on with others; returns
/// any other error.
pub(super) fn skip_failed_object(done: Result<(), Error>, target: Target<'_>) -> Result<(), Error> {
    match done {
        Err(error) if is_object_error(&error) => {
            let (resource, namespace, name) =
                (target.resource.qualified(), target.namespace, target.name);
            tracing::warn!(%error, resource, namespace, name, "a controller cannot do its work on an object, and goes on");
            Ok(())
        }
        done => done,
    }
}

/// Whether an error is about the one object that was to be written or deleted, so that others can
/// go on. In a full store deletions that need no room still pass.
pub(super) fn is_object_error(error: &Error) -> bool {
    match error {
        Error::Status(status) | Error::Read(status, _) => !matches!(
            status.reason,
            Reason::TooManyRequests
                | Reason::ServiceUnavailable
                | Reason::ServerTimeout
                | Reason::Timeout
        ),
        Error::Store(quorate_store::Error::NotApplied(refusal)) => {
            matches!(
                refusal,
                NotApplied::TooLarge { .. }
                    | NotApplied::Invalid(_)
                    | NotApplied::OutOfSpace { .. }
            )
        }
        Error::Store(_) | Error::History(_) => false,
    }
}
