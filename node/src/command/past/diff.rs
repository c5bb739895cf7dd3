//! `quorate diff`: what differs between two moments, of an object, a type or a namespace.
//!
//! Invariant: values of Secrets are not shown, only that they differ.

mod text;

use std::collections::BTreeMap;
use std::io::IsTerminal;

use quorate_env::Env;
use quorate_meta::Value;

use self::text::{Side, coloured, unified};
use super::session::{Session, place};
use crate::cli::Diff;
use crate::cluster_client::{ApiResource, QueryParameters};
use crate::error::Error;
use crate::terminal::{print_line, print_note, print_warning};

/// What is not compared where all of a namespace is: a stream of its own.
const EVENTS: &str = "events";

/// Namespace and name.
type ObjectKey = (String, String);

/// Carries out the command.
pub(in crate::command) async fn run(options: &Diff, env: &Env) -> Result<(), Error> {
    let mut session = Session::open(&options.cluster, env).await?;
    session.learn_types(&options.objects).await;
    let mut report = Differences {
        with_managed_fields: options.show_managed_fields,
        is_coloured: std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none(),
        from: options.from.query(session.now_ms),
        to: options.to.map(|moment| moment.query(session.now_ms)),
        count: 0,
    };
    if options.objects.is_empty() {
        whole_namespace(&mut session, options, &mut report).await?;
    } else {
        let (resource, name) = session.named(&options.objects)?;
        match name {
            Some(name) => one(&mut session, options, &mut report, &resource, &name).await?,
            None => every(&mut session, options, &mut report, &resource).await?,
        }
    }
    if report.count == 0 {
        print_note("no differences");
    }
    Ok(())
}

/// Compares one object.
async fn one(
    session: &mut Session,
    options: &Diff,
    report: &mut Differences,
    resource: &ApiResource,
    name: &str,
) -> Result<(), Error> {
    let namespace = session.namespace(resource, options.namespaces.namespace.as_deref());
    let path = resource.object(namespace.as_deref(), name);
    let from = session.client.find(&report.before(&QueryParameters::default()).path(&path)).await?;
    let to = session.client.find(&report.after(&QueryParameters::default()).path(&path)).await?;
    if from.is_none() && to.is_none() {
        return Err(Error::failed(format_args!(
            "{}{} is not there at either moment",
            resource.object_name(name),
            place(namespace.as_deref())
        )));
    }
    report.tell(resource, from, to);
    Ok(())
}

/// Compares all objects of a type.
async fn every(
    session: &mut Session,
    options: &Diff,
    report: &mut Differences,
    resource: &ApiResource,
) -> Result<(), Error> {
    let scope = session.scope(resource, &options.namespaces);
    let path = resource.collection(scope.as_deref());
    let query = QueryParameters::default().with_some("labelSelector", options.selector.as_deref());
    let from = session.client.list(&path, &report.before(&query)).await?;
    let to = session.client.list(&path, &report.after(&query)).await?;
    let mut pairs: BTreeMap<ObjectKey, (Option<Value>, Option<Value>)> = BTreeMap::new();
    for object in from {
        let key = key(&object);
        pairs.entry(key).or_default().0 = Some(object);
    }
    for object in to {
        let key = key(&object);
        pairs.entry(key).or_default().1 = Some(object);
    }
    for (from, to) in pairs.into_values() {
        report.tell(resource, from, to);
    }
    Ok(())
}

/// Compares all objects of a namespace, or of all namespaces.
async fn whole_namespace(
    session: &mut Session,
    options: &Diff,
    report: &mut Differences,
) -> Result<(), Error> {
    let types: Vec<ApiResource> = session
        .resources
        .preferred()
        .filter(|found| found.namespaced && found.has_verb("list") && found.plural != EVENTS)
        .cloned()
        .collect();
    for resource in types {
        // What another server serves, or what the user may not list, leaves the others.
        if let Err(error) = every(session, options, report, &resource).await {
            print_warning(format_args!("{}: {error}", resource.full_name()));
        }
    }
    Ok(())
}

fn key(object: &Value) -> ObjectKey {
    let text = |field: &str| object.str_at(&["metadata", field]).unwrap_or_default().to_owned();
    (text("namespace"), text("name"))
}

/// What is told of differences.
struct Differences {
    with_managed_fields: bool,
    is_coloured: bool,
    from: String,
    to: Option<String>,
    count: usize,
}

impl Differences {
    /// A query of the older moment.
    fn before(&self, query: &QueryParameters) -> QueryParameters {
        query.clone().with("asOf", &self.from)
    }

    /// A query of the newer moment.
    fn after(&self, query: &QueryParameters) -> QueryParameters {
        query.clone().with_some("asOf", self.to.as_deref())
    }

    /// Prints what differs, if anything does.
    fn tell(&mut self, resource: &ApiResource, from: Option<Value>, to: Option<Value>) {
        let (namespace, name) = from.as_ref().or(to.as_ref()).map(key).unwrap_or_default();
        let namespace = Some(namespace.as_str()).filter(|namespace| !namespace.is_empty());
        let title = format!("{}{}", resource.object_name(&name), place(namespace));
        let is_secret = resource.group.is_empty() && resource.kind == "Secret";
        let sides = Side::pair(from, to, is_secret, self.with_managed_fields);
        let to = self.to.as_deref().unwrap_or("now");
        let Some(text) = unified(&sides, &title, &self.from, to) else { return };
        self.count += 1;
        let text = if self.is_coloured { coloured(&text) } else { text };
        print_line(text.trim_end_matches('\n'));
    }
}
