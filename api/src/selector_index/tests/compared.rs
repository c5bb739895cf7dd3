//! What an index gives at many states, beside scans of them.

use quorate_store::Snapshot;

use super::super::built::COUNTED;
use super::*;

/// The keys whose object has one of the values, or cannot be read.
fn scan(
    snapshot: &Snapshot,
    by: &IndexedBy,
    values: &[String],
    (prefix, after): (&[u8], Option<&[u8]>),
) -> Vec<bytes::Bytes> {
    let wanted: Vec<_> = values.iter().map(|value| IndexedBy::term(value)).collect();
    let is_wanted = |value: &bytes::Bytes| {
        let term = by.term_of(value);
        term.is_some_and(|term| wanted.contains(&term) || term == IndexedBy::unknown())
    };
    let range = snapshot.range(prefix, after);
    range.filter(|(_, entry)| is_wanted(&entry.value)).map(|(key, _)| key.clone()).collect()
}

/// All candidates of a state, a few at a time.
fn look_up(
    index: &mut BuiltIndex,
    at: Revision,
    values: &[String],
    (prefix, after): (&[u8], Option<&[u8]>),
    most: usize,
) -> Option<Vec<bytes::Bytes>> {
    if !reaches(index, at) {
        return None;
    }
    let mut found: Vec<bytes::Bytes> = Vec::new();
    loop {
        let after = found.last().map(|key| &**key).or(after);
        let next = index.candidates(at, values, (prefix, after), most)?;
        assert!(next.keys.len() <= most && (next.is_end || next.keys.len() == most));
        found.extend(next.keys);
        if next.is_end {
            return Some(found);
        }
    }
}

async fn compare(by: IndexedBy, seed: u64) {
    const OBJECTS: usize = 6000;
    const CHANGES: usize = 9000;
    let (store, mut numbers) = (store(), Numbers(seed));
    for _ in 0..OBJECTS * 2 {
        change(&store, &mut numbers, OBJECTS).await;
    }
    let mut index = build(&store, &by).await;
    let (mut states, mut exact, mut older, mut unknown) = (vec![store.snapshot()], 0, 0, 0);
    for step in 0..CHANGES {
        change(&store, &mut numbers, OBJECTS).await;
        if step % 50 == 0 {
            states.push(store.snapshot());
        }
        if step % 40 > 0 {
            continue;
        }
        let is_newest = numbers.below(2) == 0;
        let place = if is_newest { states.len() - 1 } else { numbers.below(states.len()) };
        let state = if is_newest { store.snapshot() } else { states[place].clone() };
        let values: Vec<String> = (0..=numbers.below(2))
            .map(|_| VALUES[numbers.below(VALUES.len() - 1)].to_owned())
            .collect();
        let within: &[u8] = [PREFIX, b"o/a/", b"o/b/0"][numbers.below(3)];
        let after = key(numbers.below(OBJECTS));
        let after = (numbers.below(2) == 0).then_some(&*after);
        let most = [1, 3, 5000][numbers.below(3)];
        let looked_up = look_up(&mut index, state.revision(), &values, (within, after), most);
        let Some(found) = looked_up else {
            unknown += 1;
            continue;
        };
        assert!(found.is_sorted() && found.iter().all(|key| key.starts_with(within)));
        assert!(after.is_none_or(|after| found.iter().all(|key| **key > *after)));
        let expect = scan(&state, &by, &values, (within, after));
        let missing = expect.iter().find(|key| found.binary_search(key).is_err());
        assert_eq!(missing, None, "{by:?} {values:?} at {}", state.revision());
        check_estimate(&index, &state, &values, (within, after), found.len());
        exact += usize::from(is_newest);
        older += usize::from(!is_newest);
    }
    assert!(exact > 60 && older > 15, "{exact} {older} {unknown}");
}

/// Few candidates are counted, more are told within a factor of two.
fn check_estimate(
    index: &BuiltIndex,
    state: &Snapshot,
    values: &[String],
    (within, after): (&[u8], Option<&[u8]>),
    found: usize,
) {
    let estimate = index.estimate(values, (within, after), state.count(within, after));
    // A key that has changed its value counts for both, as long as older lists may want it.
    assert!(estimate >= found.min(COUNTED), "{estimate} of {found}");
    assert!(estimate <= 2 * found + 16 || found > COUNTED / 2, "{estimate} of {found}");
    assert!(estimate <= 2 * found + COUNTED, "{estimate} of {found}");
}

#[tokio::test]
async fn nothing_that_matches_is_left_out() {
    compare(IndexedBy::Label("x".to_owned()), 1).await;
    compare(IndexedBy::Field("f".to_owned(), None), 2).await;
}
