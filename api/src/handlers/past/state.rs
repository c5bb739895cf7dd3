//! A state of the past, by the moment that a request asks for.
//!
//! Invariant: the newest state is confirmed first, and the user is authorized by its rules, as for
//! any consistent read.

use std::sync::Arc;

use bytes::Bytes;
use quorate_env::blocking;
use quorate_meta::{Status, Time};
use quorate_registry::Resource;
use quorate_registry::error::Error;
use quorate_registry::keys::Key;
use quorate_store::{Entry, Past, PastError, Revision, Snapshot};

use super::moment::{AS_OF, Moment};
use crate::Api;
use crate::handlers::options::At;
use crate::handlers::{Request, component_status, snapshot};

/// Objects that are read at a time.
pub(in crate::handlers) const CHUNK_OBJECTS: usize = 512;
/// Seconds in `Retry-After` while a part of the archive is not here.
const RETRY_AFTER_SECONDS: u32 = 5;

/// A part of a collection.
#[derive(Debug)]
pub(in crate::handlers) struct PastChunk {
    pub(in crate::handlers) found: Vec<(Bytes, Entry)>,
    /// The key after which there may be more; `None` at the end of the collection.
    pub(in crate::handlers) more: Option<Bytes>,
}

/// The archive at one revision.
#[derive(Debug, Clone)]
pub(in crate::handlers) struct PastState {
    pub(in crate::handlers) past: Arc<dyn Past>,
    pub(in crate::handlers) at: Revision,
}

impl PastState {
    /// The next objects of a collection after a key, `most` of them at most. Keys that a definition
    /// of another scope has left are passed over.
    ///
    /// # Errors
    /// Those of the archive.
    pub(in crate::handlers) fn chunk(
        &self,
        resource: &Resource,
        prefix: &[u8],
        after: Option<&[u8]>,
        most: usize,
    ) -> Result<PastChunk, PastError> {
        let mut found = blocking(|| self.past.range(prefix, after, self.at, most))?;
        let last = found.last().map(|(key, _)| key.clone());
        let more = last.filter(|_| found.len() == most);
        found.retain(|(key, entry)| has_shape(resource, key) && !is_purged(entry));
        Ok(PastChunk { found, more })
    }
}

/// Whether the contents of an object's version were purged: what is stored of an object is never empty.
pub(in crate::handlers) fn is_purged(entry: &Entry) -> bool {
    entry.value.is_empty()
}

/// Whether a key is one that objects of the resource have today.
pub(in crate::handlers) fn has_shape(resource: &Resource, key: &[u8]) -> bool {
    matches!(
        Key::parse(key),
        Some(Key::Object { namespace, .. }) if namespace.is_some() == resource.namespaced
    )
}

/// The archive.
///
/// # Errors
/// 400 where there is none.
pub(super) fn archive(api: &Api) -> Result<Arc<dyn Past>, Error> {
    api.store.past().ok_or_else(|| Error::bad_request("this server keeps no archive of the past"))
}

/// The state that a request asks for.
///
/// # Errors
/// 400 for a moment in the future and without an archive, 410 beyond it, and the refusal by the
/// newest rules.
pub(in crate::handlers) async fn resolve(
    api: &Api,
    request: &Request<'_>,
    moment: Moment,
) -> Result<PastState, Error> {
    if let Some(resource) = &request.resource
        && component_status::is_observed(resource)
    {
        return Err(Error::bad_request(format!("{} are not stored", resource.qualified())));
    }
    let past = archive(api)?;
    let newest = snapshot::snapshot(api, request, At::MostRecent).await?.revision();
    let at = revision_of(api, &*past, (AS_OF, moment), newest)?;
    Ok(PastState { past, at })
}

/// The revision of a moment, when `newest` is the newest one.
///
/// # Errors
/// 400 for a moment in the future, 410 for one beyond the archive.
pub(super) fn revision_of(
    api: &Api,
    past: &dyn Past,
    (parameter, moment): (&str, Moment),
    newest: Revision,
) -> Result<Revision, Error> {
    let future =
        |now: String| Error::bad_request(format!("{parameter} is in the future: it is {now} now"));
    match moment {
        Moment::Revision(revision) if revision > newest => {
            Err(future(format!("revision {newest}")))
        }
        Moment::Revision(revision) => {
            blocking(|| past.time_of(revision)).map_err(failure)?;
            Ok(revision)
        }
        Moment::Time(ms) => {
            let now_ms = api.env.clock.now_ms();
            if ms > now_ms {
                return Err(future(time_text(now_ms)));
            }
            blocking(|| past.revision_at(ms)).map_err(failure)
        }
    }
}

/// The state of one object, as a state that has nothing else.
///
/// # Errors
/// Those of [`resolve`] and of the archive.
pub(in crate::handlers) async fn object_state(
    api: &Api,
    request: &Request<'_>,
    moment: Moment,
    key: Bytes,
) -> Result<Snapshot, Error> {
    let PastState { past, at } = resolve(api, request, moment).await?;
    let entry = blocking(|| past.get(&key, at)).map_err(failure)?;
    Ok(Snapshot::of(at, entry.map(|entry| (key, entry))))
}

/// What a client is told when the past cannot be read.
pub(in crate::handlers) fn failure(error: PastError) -> Error {
    match error {
        PastError::Expired { oldest, oldest_ms } => Status::expired(format!(
            "that is older than what is kept of the past, which begins with revision {oldest} of {}",
            time_text(oldest_ms)
        ))
        .into(),
        PastError::Purged { upto, time_ms } => Status::expired(format!(
            "the contents that were there then were purged at {}, with all versions up to revision {upto} \
             that did not live then",
            time_text(time_ms)
        ))
        .into(),
        PastError::Future { .. } => Error::bad_request(error.to_string()),
        PastError::Missing { .. } | PastError::Unreadable => {
            let message = format!("the past cannot be read at present: {error}");
            Status::service_unavailable(message).with_retry_after(RETRY_AFTER_SECONDS).into()
        }
    }
}

/// A time as answers about the past have it: RFC 3339 with milliseconds.
pub(super) fn time_text(ms: u64) -> String {
    let mut text = Time::from_ms(ms).microseconds();
    text.truncate(text.len() - "000Z".len());
    text.push('Z');
    text
}

#[cfg(test)]
mod tests {
    use quorate_store::Gap;

    use super::*;

    #[test]
    fn failures_say_what_is_kept_and_when_to_come_back() {
        let check = |error: PastError, code: u16, retry: Option<u32>, part: &str| {
            let status = failure(error).into_status();
            let after = status.details.as_ref().and_then(|details| {
                (details.retry_after_seconds > 0).then_some(details.retry_after_seconds)
            });
            assert_eq!((status.code, after), (code, retry), "{status:?}");
            assert!(status.message.contains(part), "{}", status.message);
        };
        let oldest = Revision::new(7);
        let expired = PastError::Expired { oldest, oldest_ms: 1234 };
        check(expired, 410, None, "begins with revision 7 of 1970-01-01T00:00:01.234Z");
        let purged = PastError::Purged { upto: oldest, time_ms: 1234 };
        check(
            purged,
            410,
            None,
            "purged at 1970-01-01T00:00:01.234Z, with all versions up to revision 7",
        );
        let gap = Gap { after: oldest, last: Revision::new(9) };
        check(PastError::Missing { gap }, 503, Some(5), "after revision 7 up to 9 is not here");
        check(PastError::Unreadable, 503, Some(5), "cannot be read");
        let future = PastError::Future { at: oldest, applied: Revision::new(3) };
        check(future, 400, None, "in the future");
    }
}
