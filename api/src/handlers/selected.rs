//! What a selection leaves of a state, looked up in an index where there is one.
//!
//! Invariant: what comes out is read like the state itself, with the same result for the selection:
//! the objects that match, from a key on, and at least one more than a page takes.

use bytes::Bytes;
use parking_lot::Mutex;
use quorate_meta::LabelOperator;
use quorate_registry::Resource;
use quorate_store::{Entry, Snapshot};

use super::component_status;
use super::converted::Part;
use super::options::{NAME, NAMESPACE, Selection};
use crate::Api;
use crate::selector_index::{BuiltIndex, IndexedBy};

/// Objects below which a collection is scanned.
const MIN_OBJECTS: usize = 2048;
/// Candidates looked at in one go before other requests get a turn.
const CHUNK: usize = 4096;

/// One part of a selection that an index answers: a label or a field, and its values.
type Wanted = (IndexedBy, Vec<String>);

/// The matching objects of a part of the state alone, up to one more than `limit` where that is not
/// 0; the whole state where no index helps.
pub(super) async fn part(
    api: &Api,
    resource: &Resource,
    snapshot: Snapshot,
    part: Part<'_>,
    (selection, limit): (&Selection, usize),
) -> Snapshot {
    // What another server converts, or this one derives, is not what is stored.
    if resource.remote.is_some() || component_status::is_observed(resource) {
        return snapshot;
    }
    let indexes = &api.selector_indexes;
    for (by, values) in wanted(selection) {
        let is_large = || snapshot.count(part.prefix, part.after) > MIN_OBJECTS;
        let found = indexes.find(&*api.store, resource, &by, is_large).await;
        let Some(index) = found else { continue };
        let most = if limit == 0 { usize::MAX } else { limit.saturating_add(1) };
        let matching = look_up(&index, &snapshot, part, (selection, &values), most).await;
        indexes.used(resource, &by, &index);
        if let Some(matching) = matching {
            return Snapshot::of(snapshot.revision(), matching);
        }
    }
    snapshot
}

/// The first matching objects, at most so many; `None` where the state has to be scanned.
async fn look_up(
    index: &Mutex<BuiltIndex>,
    snapshot: &Snapshot,
    part: Part<'_>,
    (selection, values): (&Selection, &[String]),
    most: usize,
) -> Option<Vec<(Bytes, Entry)>> {
    let mut matching = Vec::new();
    let mut after = part.after.map(Bytes::copy_from_slice);
    loop {
        let place = (part.prefix, after.as_deref());
        let candidates = index.lock().candidates(snapshot.revision(), values, place, CHUNK)?;
        let held = candidates.keys.iter().filter_map(|key| Some((key, snapshot.get(key)?)));
        for (key, entry) in held {
            // The scan says what is wrong with an object that cannot be read.
            if selection.matches(&entry.value).ok()? {
                matching.push((key.clone(), entry.clone()));
            }
            if matching.len() >= most {
                return Some(matching);
            }
        }
        if candidates.is_end {
            return Some(matching);
        }
        after = candidates.keys.last().cloned();
        tokio::task::yield_now().await;
    }
}

/// The parts of a selection that an index can answer, those first that few objects can be expected
/// to match.
fn wanted(selection: &Selection) -> Vec<Wanted> {
    let is_own = |field: &str| ![NAME, NAMESPACE].contains(&field);
    let fields = selection.fields.terms().iter();
    let fields = fields.filter(|term| term.equal && !term.value.is_empty() && is_own(&term.field));
    let fields = fields.map(|term| {
        (IndexedBy::Field(term.field.clone(), selection.custom.clone()), vec![term.value.clone()])
    });
    let labels = selection.labels.requirements().iter();
    let listed = labels.filter(|label| label.operator() == LabelOperator::In);
    let mut labels: Vec<Wanted> = listed
        .map(|label| (IndexedBy::Label(label.key().to_owned()), label.values().to_vec()))
        .collect();
    labels.sort_by_key(|(_, values)| values.len());
    fields.chain(labels).collect()
}
