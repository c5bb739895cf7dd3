//! A definition of custom resources and its objects.

use std::time::Duration;

use quorate_meta::Value;

use super::Candidate;
use super::contents;
use super::moment::{as_it_was, is_being_deleted};
use super::restorer::Restorer;
use crate::cluster_client::{ApiResource, Resources, described, qualified};
use crate::error::Error;

/// How long the server may take to serve a definition.
const WAIT: Duration = Duration::from_secs(30);
const INTERVAL: Duration = Duration::from_millis(100);

/// Brings it back, and the objects that there were when its deletion began.
pub(super) async fn bring_back(
    restorer: &mut Restorer,
    resource: &ApiResource,
    name: &str,
    as_of: Option<String>,
) -> Result<(), Error> {
    let path = resource.object(None, name);
    let title = resource.object_name(name);
    let present = restorer.session.client.find(&path).await?;
    if present.as_ref().is_some_and(is_being_deleted) {
        return Err(Error::failed(format_args!(
            "{title} is still being deleted: try again when it is gone"
        )));
    }
    let (moment, mut past) = as_it_was(&mut restorer.session, &path, &title, as_of).await?;
    // Which names and versions are in use is the server's to say, whatever the user wants of its objects.
    past.remove_at(&["status"]);
    let told = restorer.bring_back(Candidate::new(resource, past.clone())).await;
    restorer.report.add(told);
    let instances = if restorer.dry_run && present.is_none() {
        // The server reads them by the definition of then, and cannot check what would be created.
        restorer.is_unchecked = true;
        described(&past)
    } else {
        wait_until_served(restorer, &path, &past).await?
    };
    let instances = instances.ok_or_else(|| {
        Error::failed(format_args!(
            "{title} is not served yet, so that its objects cannot come back: try again"
        ))
    })?;
    let candidates = contents::of_type(restorer, &instances, None, &moment).await;
    contents::bring_back(restorer, candidates).await;
    Ok(())
}

/// Waits until the definition is established and discovery names its resource.
async fn wait_until_served(
    restorer: &mut Restorer,
    path: &str,
    past: &Value,
) -> Result<Option<ApiResource>, Error> {
    let text = |path: &[&str]| past.str_at(path).unwrap_or_default();
    let served = qualified(text(&["spec", "names", "plural"]), text(&["spec", "group"]));
    let session = &mut restorer.session;
    for _ in 0..WAIT.as_millis() / INTERVAL.as_millis() {
        let definition = session.client.find(path).await?;
        if definition.as_ref().is_some_and(is_established) {
            session.resources = Resources::discover(&mut session.client).await?;
            let found = session.resources.preferred().find(|found| found.full_name() == served);
            if let Some(found) = found.cloned() {
                return Ok(Some(session.as_stored(found).await));
            }
        }
        tokio::time::sleep(INTERVAL).await;
    }
    Ok(None)
}

fn is_established(definition: &Value) -> bool {
    let conditions = definition.at(&["status", "conditions"]).and_then(Value::as_list);
    conditions.unwrap_or_default().iter().any(|condition| {
        condition.str_at(&["type"]) == Some("Established")
            && condition.str_at(&["status"]) == Some("True")
    })
}
