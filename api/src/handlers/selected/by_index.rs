//! What a selection leaves of a large part of a state, looked up in an index.
//!
//! Of several indexes that could answer, the one with the fewest candidates does. While that has few,
//! no other is asked for.

use bytes::Bytes;
use quorate_meta::LabelOperator;
use quorate_registry::Resource;
use quorate_store::{Entry, Snapshot};

use crate::Api;
use crate::handlers::converted::Part;
use crate::handlers::options::{NAME, NAMESPACE, Selection};
use crate::selector_index::{CurrentIndex, IndexedBy};

/// Candidates looked at in one go before other requests get a turn.
const CHUNK: usize = 4096;
/// Candidates with which another index would save nothing that matters.
const FEW: usize = 512;

/// One part of a selection that an index answers: a label or a field, and its values.
type Wanted = (IndexedBy, Vec<String>);

/// An index that answers, and about how many candidates it has.
struct Choice<'w> {
    index: CurrentIndex,
    wanted: &'w Wanted,
    candidates: usize,
}

/// The matching objects of a part of the state alone, up to one more than `limit` where that is not
/// 0, and what they were looked up by; `None` where no index helps.
pub(super) async fn matching(
    api: &Api,
    resource: &Resource,
    snapshot: &Snapshot,
    part: Part<'_>,
    (selection, limit): (&Selection, usize),
) -> Option<(Vec<(Bytes, Entry)>, IndexedBy)> {
    let indexes = &api.selector_indexes;
    let objects = snapshot.count(part.prefix, part.after);
    let wanted = wanted(selection);
    if wanted.is_empty() || objects < indexes.options().min_objects {
        return None;
    }
    let choice = choose(api, resource, snapshot, part, &wanted).await;
    let share = indexes.options().objects_per_candidate;
    let choice = choice.filter(|choice| choice.candidates.saturating_mul(share) <= objects);
    let most = if limit == 0 { usize::MAX } else { limit.saturating_add(1) };
    let matching = match &choice {
        Some(choice) => look_up(choice, snapshot, part, selection, most).await,
        None => None,
    };
    let used = choice.filter(|_| matching.is_some());
    indexes.used(used.as_ref().map(|choice| &choice.index));
    Some((matching?, used?.wanted.0.clone()))
}

/// The index with the fewest candidates. One that is not there is asked for where it could have
/// fewer.
async fn choose<'w>(
    api: &Api,
    resource: &Resource,
    snapshot: &Snapshot,
    part: Part<'_>,
    wanted: &'w [Wanted],
) -> Option<Choice<'w>> {
    let (indexes, at) = (&api.selector_indexes, snapshot.revision());
    let (mut best, mut missing): (Option<Choice<'w>>, Vec<&'w Wanted>) = (None, Vec::new());
    let objects = snapshot.count(part.prefix, part.after);
    let better = |best: Option<Choice<'w>>, index: CurrentIndex, wanted: &'w Wanted| {
        let candidates = index.lock().estimate(&wanted.1, (part.prefix, part.after), objects);
        match best {
            Some(best) if best.candidates <= candidates => Some(best),
            _ => Some(Choice { index, wanted, candidates }),
        }
    };
    for one in wanted {
        match indexes.current(resource, &one.0, at).await {
            Some(index) => best = better(best, index, one),
            None => missing.push(one),
        }
    }
    for one in missing {
        if best.as_ref().is_some_and(|best| best.candidates <= FEW) {
            break;
        }
        if let Some(index) = indexes.ask(&*api.store, resource, &one.0, at).await {
            best = better(best, index, one);
        }
    }
    best
}

/// The first matching objects, at most so many; `None` where the state has to be scanned.
async fn look_up(
    choice: &Choice<'_>,
    snapshot: &Snapshot,
    part: Part<'_>,
    selection: &Selection,
    most: usize,
) -> Option<Vec<(Bytes, Entry)>> {
    let mut matching = Vec::new();
    let mut after = part.after.map(Bytes::copy_from_slice);
    loop {
        let (at, place) = (snapshot.revision(), (part.prefix, after.as_deref()));
        let candidates = choice.index.lock().candidates(at, &choice.wanted.1, place, CHUNK)?;
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
