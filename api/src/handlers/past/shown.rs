//! Versions of objects as they are served today, whichever version of a definition they were stored as.
//!
//! Invariant: what a conversion webhook does not convert is told with its reason, and is in the way of no
//! other version: values are converted by the mark that they were stored with, each mark by itself.

use std::collections::BTreeMap;

use bytes::Bytes;
use quorate_meta::Value;
use quorate_registry::{Resource, stored_codec};
use quorate_store::Entry;
use quorate_wire::stored::HeaderRef;

/// An object, or why it cannot be shown in the version that was asked for.
pub(super) type Shown = Result<Value, String>;

/// Entries as objects of today; `None` for what is none.
pub(super) async fn shown(resource: &Resource, entries: Vec<Option<Entry>>) -> Vec<Option<Shown>> {
    let mut entries: Vec<Option<Result<Entry, String>>> =
        entries.into_iter().map(|entry| entry.map(Ok)).collect();
    if resource.remote.is_some() {
        for places in by_mark(&entries).into_values() {
            convert(resource, &mut entries, &places).await;
        }
    }
    let decode = |entry: Result<Entry, String>| {
        stored_codec::decode(resource, &entry?).map_err(|error| error.into_status().message)
    };
    entries.into_iter().map(|entry| entry.map(decode)).collect()
}

/// The places of values by the marks that these have; what has no header is left to decoding.
fn by_mark(entries: &[Option<Result<Entry, String>>]) -> BTreeMap<String, Vec<usize>> {
    let mut places: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (place, entry) in entries.iter().enumerate() {
        let Some(Ok(entry)) = entry else { continue };
        let Ok(header) = HeaderRef::parse(&entry.value) else { continue };
        places.entry(header.mark().unwrap_or_default().to_owned()).or_default().push(place);
    }
    places
}

/// Has the webhook convert the values at some places, all or none of them.
async fn convert(
    resource: &Resource,
    entries: &mut [Option<Result<Entry, String>>],
    places: &[usize],
) {
    let Some(remote) = &resource.remote else { return };
    let value = |place: &usize| match &entries[*place] {
        Some(Ok(entry)) => entry.value.clone(),
        _ => Bytes::new(),
    };
    let mut values: Vec<Bytes> = places.iter().map(value).collect();
    let converted = remote.to_served(&mut values).await;
    let failed = converted.err().map(|error| error.into_status().message);
    for (place, value) in places.iter().zip(values) {
        match (&failed, &mut entries[*place]) {
            (Some(why), entry) => *entry = Some(Err(why.clone())),
            (None, Some(Ok(entry))) => entry.value = value,
            (None, _) => {}
        }
    }
}
