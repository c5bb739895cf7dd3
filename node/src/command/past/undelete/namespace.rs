//! A namespace and what was in it.
//!
//! What was in it is what there was when its deletion began: what was deleted one by one before that does not come back.

use std::time::Duration;

use super::Candidate;
use super::contents;
use super::moment::{as_it_was, is_being_deleted};
use super::restorer::Restorer;
use crate::cluster_client::ApiResource;
use crate::error::Error;

/// How long pods wait for the service account that a controller makes.
const ACCOUNT_WAIT: Duration = Duration::from_secs(10);
const ACCOUNT_INTERVAL: Duration = Duration::from_millis(100);

/// Brings it back.
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
    past.remove_at(&["status"]);
    let candidates = contents::of_namespace(restorer, name, &moment).await;
    let told = restorer.bring_back(Candidate::new(resource, past)).await;
    restorer.report.add(told);
    restorer.is_unchecked = restorer.dry_run && present.is_none();
    if !restorer.dry_run && candidates.iter().any(|candidate| candidate.is("", "Pod")) {
        wait_for_account(restorer, name).await?;
    }
    contents::bring_back(restorer, candidates).await;
    Ok(())
}

/// Waits until the default service account is there, which pods need. Where no controller makes it, the pods' failures say so.
async fn wait_for_account(restorer: &mut Restorer, namespace: &str) -> Result<(), Error> {
    let Some(accounts) = restorer.session.resources.of_kind("v1", "ServiceAccount") else {
        return Ok(());
    };
    let path = accounts.object(Some(namespace), "default");
    let tries = ACCOUNT_WAIT.as_millis() / ACCOUNT_INTERVAL.as_millis();
    for _ in 0..tries {
        if restorer.session.client.find(&path).await?.is_some() {
            break;
        }
        tokio::time::sleep(ACCOUNT_INTERVAL).await;
    }
    Ok(())
}
