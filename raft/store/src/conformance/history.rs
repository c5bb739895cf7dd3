//! Cases about older revisions: exact reads while they are kept, a clear answer once they are not.

use std::sync::Arc;

use super::subject::{Subject, eventually, within};
use crate::{HistoryError, Revision, Store};

/// [`compaction`] writes at most this many transactions of 1 KiB until it wants to see a revision
/// dropped.
pub const COMPACTION_WRITES: usize = 2000;

/// Every retained revision reads exactly as it was; one that does not exist yet is refused as such.
pub async fn exact_reads(store: Arc<dyn Store>) {
    let subject = Subject::new(store, "exact").await;
    let mut expect = Vec::new();
    for step in 0..30_u32 {
        let value = step.to_string();
        let operations = match step % 5 {
            0 => vec![subject.put("a", &value), subject.put("b", &value)],
            1 => vec![subject.delete("a"), subject.put("c", &value)],
            2 => vec![subject.put("a", &value), subject.delete("c")],
            3 => vec![subject.delete("b"), subject.delete("absent")],
            _ => vec![subject.put(&format!("d{value}"), &value)],
        };
        let revision = subject.commit(operations).await;
        let snapshot = subject.snapshot(revision).await;
        assert_eq!(snapshot.revision(), revision, "the case is the only writer");
        expect.push((revision, subject.contents(&snapshot, ""), snapshot.digest()));
    }
    for (revision, contents, digest) in expect.iter().chain(expect.iter().rev()) {
        let snapshot = subject.store.snapshot_at(*revision).expect("the revision is kept");
        assert_eq!(snapshot.revision(), *revision);
        assert_eq!(&subject.contents(&snapshot, ""), contents, "at {revision}");
        assert_eq!(snapshot.digest(), *digest, "at {revision}");
    }
    let applied = expect.last().expect("there were steps").0;
    let future = subject.store.snapshot_at(applied.next());
    assert_eq!(future, Err(HistoryError::Future { at: applied.next(), applied }));
}

/// A list in pages shows one state, whatever happens between the pages.
pub async fn paging_at_an_old_revision(store: Arc<dyn Store>) {
    const KEYS: usize = 20;
    let subject = Subject::new(store, "paging").await;
    let names: Vec<_> = (0..KEYS).map(|number| format!("{number:02}")).collect();
    let puts: Vec<_> = names.iter().map(|name| subject.put(name, "old")).collect();
    let revision = subject.commit(puts).await;
    within(subject.store.applied(revision)).await;
    let mut listed: Vec<(String, bool)> = Vec::new();
    for round in 0..KEYS {
        let snapshot = subject.store.snapshot_at(revision).expect("the revision is kept");
        let after = listed.last().map(|(name, _)| subject.key(name));
        let page = snapshot.range(&subject.key(""), after.as_deref()).take(3);
        listed.extend(page.map(|(key, entry)| (subject.name(key), entry.value == "old")));
        let changed = subject.put(&names[round], "new");
        let deleted = subject.delete(&names[KEYS - 1 - round]);
        let created = subject.put(&format!("{round:02}-between"), "new");
        let newest = subject.commit([changed, deleted, created]).await;
        within(subject.store.applied(newest)).await;
    }
    assert_eq!(listed, names.into_iter().map(|name| (name, true)).collect::<Vec<_>>());
}

/// What is no longer kept is refused with the oldest revision that is, for reads and for watches
/// alike. Wants a store that keeps less history than [`COMPACTION_WRITES`] transactions.
pub async fn compaction(store: Arc<dyn Store>) {
    let subject = Subject::new(store, "compaction").await;
    let value = "x".repeat(1024);
    let first = subject.commit([subject.put("a", "first")]).await;
    let mut asleep = subject.watch("a", first);
    let mut quiet = subject.watch("quiet", first);
    let mut newest = first;
    for _ in 0..COMPACTION_WRITES {
        newest = subject.commit([subject.put("a", &value)]).await;
        within(subject.store.applied(newest)).await;
        quiet.position();
        if subject.store.status().oldest > first.next() {
            break;
        }
    }
    eventually(|| subject.store.status().oldest > first.next()).await;
    let oldest = subject.store.status().oldest;
    let compacted = HistoryError::Compacted { oldest };
    for gone in [Revision::ZERO, first, Revision::new(oldest.get() - 1)] {
        assert_eq!(subject.store.snapshot_at(gone), Err(compacted), "{gone}");
        assert_eq!(subject.store.watch(subject.key(""), gone).err(), Some(compacted), "{gone}");
    }
    for kept in oldest.get()..=newest.get() {
        let snapshot =
            subject.store.snapshot_at(Revision::new(kept)).expect("the revision is kept");
        let entry = snapshot.get(&subject.key("a")).expect("the key was never deleted");
        assert_eq!(entry.modified.get(), kept, "the case is the only writer");
    }
    let mut watch = subject.watch("a", oldest);
    for revision in oldest.get() + 1..=newest.get() {
        assert_eq!(super::subject::next(&mut watch).await.revision().get(), revision);
    }
    eventually(|| quiet.position() >= newest).await;
    let last = subject.commit([subject.put("quiet", "x")]).await;
    assert_eq!(
        super::subject::next(&mut quiet).await.revision(),
        last,
        "a watch that missed nothing goes on"
    );
    match within(asleep.next()).await {
        Ok(batch) => assert_eq!(
            batch.revision(),
            first.next(),
            "a slow watch may go on from memory, without a gap"
        ),
        Err(error) => assert!(matches!(error, HistoryError::Compacted { .. }), "{error}"),
    }
}
