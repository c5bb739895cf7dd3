//! What was in a namespace, or of a type, at a moment.

use super::Candidate;
use super::order::{in_order, maker};
use super::report::{Done, Told};
use super::restorer::Restorer;
use crate::cluster_client::{ApiResource, QueryParameters};

/// A stream of what happened; what is told in it is over.
const EVENTS: &str = "events";

/// Lists what a namespace had; a type that cannot be listed is told as a failure.
pub(super) async fn of_namespace(
    restorer: &mut Restorer,
    namespace: &str,
    moment: &str,
) -> Vec<Candidate> {
    let is_wanted = |found: &&ApiResource| {
        found.namespaced
            && found.plural != EVENTS
            && ["list", "create"].iter().all(|verb| found.has_verb(verb))
    };
    let types: Vec<ApiResource> =
        restorer.session.resources.preferred().filter(is_wanted).cloned().collect();
    let mut all = Vec::new();
    for resource in types {
        let resource = restorer.session.as_stored(resource).await;
        all.extend(of_type(restorer, &resource, Some(namespace), moment).await);
    }
    all
}

/// Lists the objects of a type, in a namespace or everywhere.
pub(super) async fn of_type(
    restorer: &mut Restorer,
    resource: &ApiResource,
    namespace: Option<&str>,
    moment: &str,
) -> Vec<Candidate> {
    let query = QueryParameters::default().with("asOf", moment);
    let found = restorer.session.client.list(&resource.collection(namespace), &query).await;
    match found {
        Ok(found) => found.into_iter().map(|past| Candidate::new(resource, past)).collect(),
        Err(error) => {
            let done = Done::Failed(format!("cannot be listed: {error}"));
            restorer.report.add(Told { title: resource.full_name(), done, notes: vec![] });
            Vec::new()
        }
    }
}

/// Brings all of them back, owners first, without what controllers make.
pub(super) async fn bring_back(restorer: &mut Restorer, candidates: Vec<Candidate>) {
    let all = in_order(candidates);
    for candidate in &all {
        let told = match maker(candidate, &all) {
            Some(maker) => {
                Told { title: candidate.title(), done: Done::Skipped(maker), notes: vec![] }
            }
            None => restorer.bring_back(candidate.clone()).await,
        };
        restorer.report.add(told);
    }
}
