//! Custom resources whose definition is gone: the past has it, and the objects that there were.
//!
//! Invariants: a definition that is there counts alone. Only reads that are about the past find what is
//! gone: by the definition that there was at their moment, or by the last one where they name no moment.
//!
//! Not here: watches, which go on into the present.

use bytes::Bytes;
use quorate_access::request::{RequestInfo, Verb};
use quorate_env::blocking;
use quorate_registry::error::Error;
use quorate_registry::{Catalogue, DEFINITIONS, EXTENSIONS};
use quorate_store::{Past, PastError};

use super::ObjectPage;
use super::moment::{AS_OF, Moment};
use super::state::failure;
use crate::Api;

/// Versions of a definition that are looked at: its deletion, and the one before it.
const VERSIONS: usize = 2;

/// What was served of the definition that a request is about; `None` where there is nothing to look for.
///
/// # Errors
/// 503 while that part of the archive cannot be read.
pub(crate) fn catalogue(
    api: &Api,
    today: &Catalogue,
    info: &RequestInfo,
) -> Result<Option<Catalogue>, Error> {
    if !is_about_past(info) || today.stored_as(&info.group, &info.resource).is_some() {
        return Ok(None);
    }
    let (Some(publisher), Some(past)) = (&api.custom_resources, api.store.past()) else {
        return Ok(None);
    };
    let group = api.names.group(EXTENSIONS);
    let Some(definitions) = today.find_builtin(&group, "v1", DEFINITIONS) else { return Ok(None) };
    let key = definitions.key(None, &format!("{}.{}", info.resource, info.group));
    let stored = match definition(&*past, &key, info) {
        Ok(stored) => stored,
        Err(PastError::Expired { .. } | PastError::Future { .. }) => None,
        Err(error) => return Err(failure(error)),
    };
    let resources = stored.and_then(|stored| publisher.resources_of(&stored).ok());
    Ok(resources.map(|resources| Catalogue::new(today.graph().clone(), resources)))
}

fn is_about_past(info: &RequestInfo) -> bool {
    let query = &info.query;
    let asks = query.get(AS_OF).is_some();
    match info.verb {
        Verb::Get => asks || ObjectPage::find(info).is_some(),
        // Later pages need not name the moment again.
        Verb::List => asks || !query.text("continue").is_empty(),
        _ => false,
    }
}

/// The definition as it is stored: at the moment, or before its deletion.
fn definition(past: &dyn Past, key: &[u8], info: &RequestInfo) -> Result<Option<Bytes>, PastError> {
    let newest = past.extent().newest;
    let moment = info.query.get(AS_OF).map(|text| Moment::parse(AS_OF, text));
    let at = match moment {
        None => None,
        Some(Ok(Moment::Revision(revision))) => Some(revision),
        Some(Ok(Moment::Time(ms))) => Some(blocking(|| past.revision_at(ms))?),
        Some(Err(_)) => return Ok(None),
    };
    let entry = match at {
        Some(at) => blocking(|| past.get(key, at))?,
        None => {
            let versions = blocking(|| past.versions(key, newest.next(), VERSIONS))?;
            versions.into_iter().find_map(|version| version.entry)
        }
    };
    Ok(entry.map(|entry| entry.value))
}
