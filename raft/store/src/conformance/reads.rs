//! Cases about reading the newest state.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::{join, join_all};

use super::subject::{Subject, within};
use crate::{Revision, Store};

/// Keys come in byte order, pages join without gap or repeat, counts agree.
pub async fn ordered_ranges(store: Arc<dyn Store>) {
    const KEYS: usize = 57;
    let subject = Subject::new(store, "ranges").await;
    for number in (0..KEYS).rev() {
        subject.commit([subject.put(&format!("in/{number:03}"), "x")]).await;
    }
    let around = ["im", "in", "in.", "in0", "io/1", "\u{7f}"].map(|name| subject.put(name, "x"));
    let revision = subject.commit(around).await;
    let snapshot = subject.snapshot(revision).await;

    let prefix = subject.key("in/");
    let expect: Vec<_> = (0..KEYS).map(|number| subject.key(&format!("in/{number:03}"))).collect();
    let all: Vec<_> = snapshot.range(&prefix, None).map(|(key, _)| key.clone()).collect();
    assert_eq!(all, expect);
    assert_eq!(snapshot.count(&prefix, None), KEYS);
    for size in [1, 7, KEYS, KEYS + 1] {
        let mut paged = Vec::new();
        loop {
            let after = paged.last().cloned();
            assert_eq!(snapshot.count(&prefix, after.as_deref()), KEYS - paged.len());
            let page = snapshot.range(&prefix, after.as_deref()).take(size);
            let before = paged.len();
            paged.extend(page.map(|(key, _)| key.clone()));
            if paged.len() == before {
                break;
            }
        }
        assert_eq!(paged, expect, "in pages of {size}");
    }
    let names: Vec<_> =
        subject.contents(&snapshot, "in").into_iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), KEYS + 3);
    assert_eq!(
        (&*names[0], &*names[1], &*names[2], &*names[KEYS + 2]),
        ("in", "in.", "in/000", "in0")
    );
}

/// A read index covers whatever was acknowledged before it was asked for, and is applied here.
pub async fn read_index_is_monotone(store: Arc<dyn Store>) {
    const WRITES: usize = 50;
    const READERS: usize = 4;
    let subject = Subject::new(store, "read-index").await;
    let acknowledged = std::sync::atomic::AtomicU64::new(0);
    let ordering = std::sync::atomic::Ordering::SeqCst;
    let writer = async {
        for number in 0..WRITES {
            let revision = subject.commit([subject.put("a", &number.to_string())]).await;
            acknowledged.store(revision.get(), ordering);
        }
    };
    let readers = (0..READERS).map(async |_| {
        let mut last = Revision::ZERO;
        while acknowledged.load(ordering) < WRITES as u64
            || last.get() < acknowledged.load(ordering)
        {
            let before = Revision::new(acknowledged.load(ordering));
            let index = within(subject.store.read_index()).await.expect("read index");
            assert!(index >= before, "{before} was acknowledged before the read index {index}");
            assert!(index >= last, "read index went back from {last} to {index}");
            assert!(subject.store.snapshot().revision() >= index, "read index {index} is applied");
            last = index;
            tokio::task::yield_now().await;
        }
    });
    join(writer, join_all(readers)).await;
}

/// `applied` returns when the revision is there, not earlier.
pub async fn applied_waits(store: Arc<dyn Store>) {
    let subject = Subject::new(store, "applied").await;
    let first = subject.commit([subject.put("a", "1")]).await;
    let mut waiting = Box::pin(subject.store.applied(first.next()));
    assert!((&mut waiting).now_or_never().is_none(), "nothing was written yet");
    let second = subject.commit([subject.put("a", "2")]).await;
    assert_eq!(second, first.next());
    within(waiting).await;
    assert!(subject.store.snapshot().revision() >= second);
    within(subject.store.applied(Revision::ZERO)).await;
    assert!(subject.store.status().applied >= second);
}
