//! The moment before an object's deletion began, and the object then.

use quorate_meta::Value;

use crate::cluster_client::{Change, QueryParameters};
use crate::command::past::history::{Page, page};
use crate::command::past::session::Session;
use crate::error::Error;

/// Changes of a page.
const PAGE_CHANGES: &str = "500";

/// The last deletion in a history that is read from its newest change on.
#[derive(Debug, Default)]
struct DeletionSearch {
    /// When the object was gone.
    deleted: Option<u64>,
    /// When it was marked, if finalizers or a grace period held it.
    marked: Option<u64>,
}

impl DeletionSearch {
    /// Looks at the next older change; says whether no older one matters.
    fn add(&mut self, change: &Change) -> bool {
        if change.is_deletion() {
            if self.deleted.is_some() {
                return true;
            }
            self.deleted = change.revision();
        } else if self.deleted.is_some() {
            if change.begins_deletion() {
                self.marked = change.revision();
            }
            return change.is_creation();
        }
        false
    }

    /// The revision before the deletion began.
    fn moment(&self) -> Option<u64> {
        self.marked.or(self.deleted).map(|revision| revision.saturating_sub(1))
    }
}

/// The moment before the last deletion of what is at a path; `None` when no deletion is known.
async fn before_deletion(session: &mut Session, path: &str) -> Result<Option<u64>, Error> {
    let mut query = QueryParameters::default()
        .with("history", "true")
        .with("objects", "false")
        .with("limit", PAGE_CHANGES);
    let mut search = DeletionSearch::default();
    loop {
        let Page { changes, next, .. } = page(session, &query.path(path)).await?;
        if changes.iter().any(|change| search.add(change)) {
            break;
        }
        match next {
            Some(next) => query = query.with("continue", next),
            None => break,
        }
    }
    Ok(search.moment())
}

/// What was at a path, and when: at the moment that is given, else before its last deletion.
pub(super) async fn as_it_was(
    session: &mut Session,
    path: &str,
    title: &str,
    as_of: Option<String>,
) -> Result<(String, Value), Error> {
    let moment = match as_of {
        Some(moment) => moment,
        None => match before_deletion(session, path).await? {
            Some(revision) => revision.to_string(),
            None => return Err(not_deleted(session, path, title).await?),
        },
    };
    let was =
        session.client.find(&QueryParameters::default().with("asOf", &moment).path(path)).await?;
    let was =
        was.ok_or_else(|| Error::failed(format_args!("{title} was not there at {moment}")))?;
    Ok((moment, was))
}

/// Why there is nothing to bring back.
async fn not_deleted(session: &mut Session, path: &str, title: &str) -> Result<Error, Error> {
    let present = session.client.find(path).await?;
    Ok(match present {
        Some(object) if is_being_deleted(&object) => {
            Error::failed(format_args!("{title} is still being deleted"))
        }
        Some(_) => Error::failed(format_args!(
            "{title} has not been deleted; --as-of WHEN --replace puts it back as it was"
        )),
        None => Error::failed(format_args!("no deletion of {title} is known any more")),
    })
}

/// Whether an object waits for its finalizers or the end of its grace period.
pub(super) fn is_being_deleted(object: &Value) -> bool {
    object.at(&["metadata", "deletionTimestamp"]).is_some()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn deletions_begin_with_the_mark() {
        // Newest first: A added, M modified, X marked for deletion, D deleted.
        let check = |history: &str, expect: Option<u64>| {
            let mut search = DeletionSearch::default();
            let newest = 100;
            history.chars().enumerate().any(|(at, letter)| {
                let kind = match letter {
                    'A' => "ADDED",
                    'D' => "DELETED",
                    _ => "MODIFIED",
                };
                let changed = if letter == 'X' { ".metadata.deletionTimestamp" } else { ".spec" };
                let revision = (newest - at).to_string();
                let change = json!({"revision": revision, "type": kind, "changed": [changed]});
                search.add(&Change(change.into()))
            });
            assert_eq!(search.moment(), expect, "{history}");
        };
        check("MMA", None);
        check("", None);
        check("DMA", Some(99));
        check("DMXMA", Some(97));
        check("DX", Some(98));
        // There again: the last deletion counts, and only what led to it.
        check("MADMADXA", Some(97));
        check("DADXA", Some(99));
    }
}
