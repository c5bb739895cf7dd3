//! `quorate undelete`: objects come back as they were before their deletion began, or at a moment.
//!
//! Invariants: an object that is there stays as it is, unless the user says otherwise; one that fails does not stop the others;
//! everything that comes back otherwise than it was is said.
//!
//! What comes back of an object is in `restored`, whom it belongs to in `owners`, what the cluster allocates in
//! `allocated`, the order of several in `order`.

mod allocated;
mod contents;
mod definition;
mod moment;
mod namespace;
mod order;
mod owners;
mod report;
mod restored;
mod restorer;

use quorate_env::Env;
use quorate_meta::Value;

use self::order::in_order;
use self::restorer::Restorer;
use super::session::{Session, place};
use crate::cli::Undelete;
use crate::cluster_client::{ApiResource, DEFINITION_KIND, QueryParameters};
use crate::error::Error;

/// An object that is to come back.
#[derive(Debug, Clone)]
struct Candidate {
    resource: ApiResource,
    namespace: Option<String>,
    name: String,
    /// What it was.
    past: Value,
}

impl Candidate {
    /// An object of a resource, as it was.
    fn new(resource: &ApiResource, past: Value) -> Self {
        let text = |field: &str| past.str_at(&["metadata", field]).unwrap_or_default().to_owned();
        let (namespace, name) = (text("namespace"), text("name"));
        let namespace = Some(namespace).filter(|namespace| !namespace.is_empty());
        Self { resource: resource.clone(), namespace, name, past }
    }

    /// How it is named to the user.
    fn title(&self) -> String {
        format!("{}{}", self.resource.object_name(&self.name), place(self.namespace.as_deref()))
    }

    /// Its path.
    fn path(&self) -> String {
        self.resource.object(self.namespace.as_deref(), &self.name)
    }

    /// The uid that it had.
    fn uid(&self) -> &str {
        self.past.str_at(&["metadata", "uid"]).unwrap_or_default()
    }

    /// Whether it is of this kind of the group whose name begins like this: group names differ between the profiles.
    fn is(&self, group: &str, kind: &str) -> bool {
        let own = &self.resource.group;
        self.resource.kind == kind
            && own.strip_prefix(group).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            && (!group.is_empty() || own.is_empty())
    }
}

/// Carries out the command.
pub(in crate::command) async fn run(options: &Undelete, env: &Env) -> Result<(), Error> {
    let mut session = Session::open(&options.cluster, env).await?;
    let (resource, name) = session.named(&options.object)?;
    let resource = session.as_stored(resource).await;
    let as_of = options.as_of.map(|moment| session.query(moment));
    let mut restorer = Restorer::new(session, options);
    match name {
        None => every(&mut restorer, options, &resource, as_of).await?,
        Some(name) if resource.group.is_empty() && resource.kind == "Namespace" => {
            namespace::bring_back(&mut restorer, &resource, &name, as_of).await?;
        }
        Some(name) if resource.kind == DEFINITION_KIND => {
            definition::bring_back(&mut restorer, &resource, &name, as_of).await?;
        }
        Some(name) => return one(&mut restorer, options, &resource, &name, as_of).await,
    }
    restorer.report.end()
}

/// Brings one object back.
async fn one(
    restorer: &mut Restorer,
    options: &Undelete,
    resource: &ApiResource,
    name: &str,
    as_of: Option<String>,
) -> Result<(), Error> {
    let namespace = restorer.session.namespace(resource, options.namespaces.namespace.as_deref());
    let path = resource.object(namespace.as_deref(), name);
    let title = format!("{}{}", resource.object_name(name), place(namespace.as_deref()));
    let past = moment::as_it_was(&mut restorer.session, &path, &title, as_of).await?.1;
    let found = restorer.bring_back(Candidate::new(resource, past)).await;
    restorer.report.only(found)
}

/// Brings back all objects of a type, as they were at a moment.
async fn every(
    restorer: &mut Restorer,
    options: &Undelete,
    resource: &ApiResource,
    as_of: Option<String>,
) -> Result<(), Error> {
    let as_of = as_of.ok_or_else(|| {
        Error::config(format_args!(
            "name one of the {}, or say with --as-of when all of them were there",
            resource.plural
        ))
    })?;
    let scope = restorer.session.scope(resource, &options.namespaces);
    let query = QueryParameters::default()
        .with("asOf", as_of)
        .with_some("labelSelector", options.selector.as_deref());
    let path = resource.collection(scope.as_deref());
    let found = restorer.session.client.list(&path, &query).await?;
    let candidates = found.into_iter().map(|past| Candidate::new(resource, past)).collect();
    for candidate in in_order(candidates) {
        let done = restorer.bring_back(candidate).await;
        restorer.report.add(done);
    }
    Ok(())
}
