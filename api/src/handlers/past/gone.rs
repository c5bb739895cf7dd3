//! Custom resources whose definition is gone: the past has it, and the objects that there were.
//!
//! Invariants: a definition that is there counts alone. Only reads that are about the past find what is
//! gone: by the definition that there was at their moment, or by the last one where they name no moment;
//! changes of the cluster by the last one.
//!
//! Not here: watches, which go on into the present.

use std::collections::HashMap;
use std::collections::hash_map::Entry as MapEntry;
use std::sync::Arc;

use bytes::Bytes;
use quorate_access::request::{RequestInfo, Verb};
use quorate_env::blocking;
use quorate_registry::error::Error;
use quorate_registry::{Catalogue, DEFINITIONS, EXTENSIONS, Resource};
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
    let asked = info.query.get(AS_OF).map(|text| Moment::parse(AS_OF, text));
    let Ok(moment) = asked.transpose() else { return Ok(None) };
    let resources = resources(api, today, (&info.group, &info.resource), moment)?;
    Ok(resources.map(|resources| Catalogue::new(today.graph().clone(), resources)))
}

/// What a page about the whole cluster knows of definitions that are gone: each is looked for once.
#[derive(Debug, Default)]
pub(super) struct GoneResources {
    known: HashMap<(String, String), Option<Arc<Resource>>>,
}

impl GoneResources {
    /// The resource in whose form the objects of a group and a plural name were stored last.
    ///
    /// # Errors
    /// 503 while that part of the archive cannot be read.
    pub(super) fn find(
        &mut self,
        api: &Api,
        today: &Catalogue,
        (group, plural): (&str, &str),
    ) -> Result<Option<Arc<Resource>>, Error> {
        match self.known.entry((group.to_owned(), plural.to_owned())) {
            MapEntry::Occupied(known) => Ok(known.get().clone()),
            MapEntry::Vacant(place) => {
                let found = resources(api, today, (group, plural), None)?;
                let mut found = found.into_iter().flatten();
                Ok(place.insert(found.find(|one| one.is_stored_form())).clone())
            }
        }
    }
}

/// The resources of a definition at a moment, or before its deletion.
fn resources(
    api: &Api,
    today: &Catalogue,
    (group, plural): (&str, &str),
    moment: Option<Moment>,
) -> Result<Option<Vec<Arc<Resource>>>, Error> {
    let (Some(publisher), Some(past)) = (&api.custom_resources, api.store.past()) else {
        return Ok(None);
    };
    let extensions = api.names.group(EXTENSIONS);
    let Some(definitions) = today.find_builtin(&extensions, "v1", DEFINITIONS) else {
        return Ok(None);
    };
    let key = definitions.key(None, &format!("{plural}.{group}"));
    match definition(&*past, &key, moment) {
        Ok(stored) => Ok(stored.and_then(|stored| publisher.resources_of(&stored).ok())),
        Err(PastError::Expired { .. } | PastError::Future { .. }) => Ok(None),
        Err(error) => Err(failure(error)),
    }
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
fn definition(
    past: &dyn Past,
    key: &[u8],
    moment: Option<Moment>,
) -> Result<Option<Bytes>, PastError> {
    let newest = past.extent().newest;
    let at = match moment {
        None => None,
        Some(Moment::Revision(revision)) => Some(revision),
        Some(Moment::Time(ms)) => Some(blocking(|| past.revision_at(ms))?),
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
