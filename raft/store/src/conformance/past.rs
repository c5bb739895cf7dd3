//! Cases about the past: every version of a key, the state at every revision, the transactions in
//! their order, with what they were proposed with. For stores that keep an archive.

use std::sync::Arc;

use super::subject::{Subject, within};
use crate::{Batch, Operation, Outcome, Past, PastError, Revision, Store, Txn};

/// Bytes of transactions that are asked for at a time.
const CHUNK_BYTES: usize = 1000;

/// Writes, and reads all of it back: by revision, by time, by key, in order.
///
/// # Panics
/// When the store keeps no archive, or what it says is not what was.
pub async fn past(store: Arc<dyn Store>) {
    let subject = Subject::new(store, "past").await;
    let before = subject.store.snapshot().revision();
    let mut expect = Vec::new();
    for step in 0..40_u32 {
        let revision = commit(&subject, step).await;
        let snapshot = subject.snapshot(revision).await;
        expect.push((revision, subject.contents(&snapshot, "")));
    }
    let past = subject.store.past().expect("the store keeps an archive");
    let past = &*past;
    for (revision, contents) in &expect {
        check_state(&subject, past, *revision, contents);
    }
    check_versions(&subject, past);
    check_changes(&subject, past, before);
    let applied = expect.last().expect("there were steps").0;
    let at = applied.next();
    assert_eq!(past.get(b"x", at), Err(PastError::Future { at, applied }));
    assert_eq!(past.range(b"x", None, at, 1), Err(PastError::Future { at, applied }));
    assert_eq!(past.changes(applied, CHUNK_BYTES), Ok(vec![]));
    assert_eq!(past.changes(at, CHUNK_BYTES), Err(PastError::Future { at, applied }));
}

async fn commit(subject: &Subject, step: u32) -> Revision {
    let value = step.to_string();
    let operations: Vec<Operation> = match step % 5 {
        0 => vec![subject.put("a", &value), subject.put("b", &value)],
        1 => vec![subject.delete("a"), subject.put("c", &value)],
        2 => vec![subject.put("a", &value), subject.delete("c")],
        3 => vec![subject.delete("b"), subject.delete("absent")],
        _ => vec![subject.put("a", &value), subject.put(&format!("d{value}"), &value)],
    };
    let txn = Txn { operations, origin: origin(step).into(), ..Txn::default() };
    match within(subject.store.txn(txn)).await.expect("the transaction is decided") {
        Outcome::Committed { revision } => revision,
        conflict @ Outcome::Conflict { .. } => panic!("there are no conditions: {conflict:?}"),
    }
}

/// Every other transaction says where it comes from.
fn origin(step: u32) -> String {
    if step.is_multiple_of(2) { format!("origin {step}") } else { String::new() }
}

fn check_state(subject: &Subject, past: &dyn Past, at: Revision, contents: &[(String, String)]) {
    let prefix = subject.key("");
    let mut listed: Vec<(String, String)> = Vec::new();
    loop {
        let after = listed.last().map(|(name, _)| subject.key(name));
        let page = past.range(&prefix, after.as_deref(), at, 3).expect("it is kept");
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        listed.extend(page.iter().map(|(key, entry)| (subject.name(key), text(&entry.value))));
        if page.len() < 3 {
            break;
        }
    }
    assert_eq!(listed, contents, "at {at}");
    for name in ["a", "b", "c", "d4", "d9", "never"] {
        let held = past.get(&subject.key(name), at).expect("it is kept");
        let held = held.map(|entry| String::from_utf8_lossy(&entry.value).into_owned());
        let listed = contents.iter().find(|(other, _)| other == name);
        assert_eq!(held, listed.map(|(_, value)| value.clone()), "{name} at {at}");
    }
    let time = past.time_of(at).expect("it is kept");
    let newest = past.revision_at(time).expect("it is kept");
    assert!(newest >= at && past.time_of(newest) == Ok(time), "{newest} at the time of {at}");
}

fn check_versions(subject: &Subject, past: &dyn Past) {
    let key = subject.key("a");
    let all = past.versions(&key, Revision::MAX, usize::MAX).expect("it is kept");
    let changed: Vec<u32> = (0..40).rev().filter(|step| step % 5 != 3).collect();
    assert_eq!(all.len(), changed.len());
    for (version, step) in all.iter().zip(changed) {
        let value = version.entry.as_ref().map(|entry| entry.value.clone());
        assert_eq!(value, (step % 5 != 1).then(|| step.to_string().into()), "step {step}");
        assert_eq!(version.origin, origin(step), "step {step}");
        assert_eq!(version.time_ms, past.time_of(version.revision).ok());
        let modified = version.entry.as_ref().map_or(version.revision, |entry| entry.modified);
        assert_eq!(modified, version.revision);
    }
    let page = past.versions(&key, all[2].revision, 4).expect("it is kept");
    assert_eq!(page, all[3..7]);
    assert_eq!(past.versions(&subject.key("never"), Revision::MAX, 9), Ok(vec![]));
}

fn check_changes(subject: &Subject, past: &dyn Past, before: Revision) {
    let newest = past.extent().newest;
    let mut told: Vec<Arc<Batch>> = Vec::new();
    let mut after = before;
    while after < newest {
        let more = past.changes(after, CHUNK_BYTES).expect("they are kept");
        assert!(!more.is_empty(), "after {after}");
        after = more.last().map_or(after, |batch| batch.revision);
        told.extend(more);
    }
    assert!(told.iter().zip(before.get() + 1..).all(|(batch, next)| batch.revision.get() == next));
    assert!(told.windows(2).all(|pair| pair[0].time_ms <= pair[1].time_ms));
    let own: Vec<_> = told.iter().filter(|batch| batch.origin.starts_with(b"origin")).collect();
    assert_eq!(own.len(), 20);
    for batch in told.iter().filter(|batch| batch.touches(&subject.key(""))) {
        for event in batch.events.iter() {
            let previous = Revision::new(batch.revision.get() - 1);
            assert_eq!(Ok(&event.previous), past.get(&event.key, previous).as_ref());
            assert_eq!(Ok(&event.current), past.get(&event.key, batch.revision).as_ref());
        }
    }
}
