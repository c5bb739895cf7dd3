//! Cases about deciding transactions: conditions, conflicts, revisions.

use std::sync::Arc;

use bytes::Bytes;
use futures::future::join_all;

use super::subject::{Subject, within};
use crate::{Condition, Entry, Error, NotApplied, Operation, Outcome, Revision, Store, Txn};

/// Conditions hold exactly when they say; all of them must.
pub async fn conditions(store: Arc<dyn Store>) {
    let subject = Subject::new(store, "conditions").await;
    let committed = |outcome: &Outcome| matches!(outcome, Outcome::Committed { .. });
    let a = subject.commit([subject.put("a", "1")]).await;
    let (modified, exists) =
        (|name, revision| subject.modified(name, revision), |name| subject.exists(name));
    let cases: [(Vec<Condition>, bool); 9] = [
        (vec![], true),
        (vec![modified("a", a)], true),
        (vec![modified("a", Revision::ZERO)], false),
        (vec![modified("a", a.next())], false),
        (vec![modified("absent", Revision::ZERO)], true),
        (vec![modified("absent", a)], false),
        (vec![exists("a"), modified("absent", Revision::ZERO)], true),
        (vec![exists("a"), exists("absent")], false),
        (vec![exists("a"), modified("a", a), modified("a", Revision::ZERO)], false),
    ];
    for (index, (conditions, expect)) in cases.into_iter().enumerate() {
        let name = format!("written-{index}");
        let outcome = subject.decide(conditions.clone(), [subject.put(&name, "x")]).await;
        assert_eq!(committed(&outcome), expect, "{conditions:?}: {outcome:?}");
        let (Outcome::Committed { revision } | Outcome::Conflict { revision, .. }) = outcome;
        let written = subject.snapshot(revision).await.get(&subject.key(&name)).is_some();
        assert_eq!(
            written, expect,
            "a transaction is carried out exactly when it commits: {conditions:?}"
        );
    }
    let reused = subject.decide([modified("a", a)], [subject.delete("a")]).await;
    assert!(committed(&reused), "{reused:?}");
    let gone = subject.decide([exists("a")], []).await;
    assert!(!committed(&gone), "{gone:?}");
}

/// A conflict names the first condition that failed and what its key holds.
pub async fn conflicts_tell_the_current_entry(store: Arc<dyn Store>) {
    let subject = Subject::new(store, "conflicts").await;
    let created = subject.commit([subject.put("a", "1"), subject.put("b", "1")]).await;
    let modified = subject.commit([subject.put("a", "2")]).await;
    let conditions =
        [subject.modified("b", created), subject.modified("a", created), subject.exists("absent")];
    let outcome = subject.decide(conditions, [subject.put("c", "1")]).await;
    let current = Some(Entry { value: Bytes::from_static(b"2"), created, modified });
    assert_eq!(outcome, Outcome::Conflict { condition: 1, current, revision: modified });
    let outcome = subject.decide([subject.exists("absent")], [subject.delete("a")]).await;
    assert_eq!(outcome, Outcome::Conflict { condition: 0, current: None, revision: modified });
    assert_eq!(subject.commit([]).await, modified, "a conflict takes no revision");
}

/// `created` and `modified` follow the key's life.
pub async fn entries_know_their_revisions(store: Arc<dyn Store>) {
    let subject = Subject::new(store, "entries").await;
    let check = async |created: Revision, modified: Revision, value: &'static str| {
        let snapshot = subject.snapshot(modified).await;
        let expect = Entry { value: Bytes::from_static(value.as_bytes()), created, modified };
        assert_eq!(snapshot.get(&subject.key("a")), Some(&expect));
    };
    let first = subject.commit([subject.put("a", "1")]).await;
    check(first, first, "1").await;
    let second = subject.commit([subject.put("a", "2")]).await;
    check(first, second, "2").await;
    let same = subject.commit([subject.put("a", "2")]).await;
    check(first, same, "2").await;
    let deleted = subject.commit([subject.delete("a")]).await;
    assert_eq!(subject.snapshot(deleted).await.get(&subject.key("a")), None);
    let again = subject.commit([subject.put("a", "")]).await;
    check(again, again, "").await;
}

/// A transaction that breaks a rule is refused, and certainly not applied.
pub async fn invalid_transactions(store: Arc<dyn Store>) {
    let subject = Subject::new(store, "invalid").await;
    let empty = Operation::Put { key: Bytes::new(), value: Bytes::new() };
    for operations in [
        vec![subject.put("a", "1"), subject.put("a", "2")],
        vec![subject.put("a", "1"), subject.delete("a")],
        vec![subject.put("a", "1"), empty],
    ] {
        let outcome =
            within(subject.store.txn(Txn { conditions: vec![], operations, ..Txn::default() }))
                .await;
        assert!(matches!(outcome, Err(Error::NotApplied(NotApplied::Invalid(_)))), "{outcome:?}");
    }
    let revision = subject.commit([]).await;
    assert_eq!(subject.contents(&subject.snapshot(revision).await, ""), []);
}

/// Each committed transaction with operations takes the next revision, whatever it changes; nothing
/// else takes one.
pub async fn one_revision_per_transaction(store: Arc<dyn Store>) {
    let subject = Subject::new(store, "revisions").await;
    let start =
        subject.commit([subject.put("a", "1"), subject.put("b", "1"), subject.put("c", "1")]).await;
    let mut expect = start.next();
    for operations in [
        vec![subject.put("a", "2")],
        vec![subject.delete("b"), subject.put("a", "3")],
        vec![subject.delete("absent")],
        vec![subject.put("a", "3")],
    ] {
        assert_eq!(subject.commit(operations.clone()).await, expect, "{operations:?}");
        subject.decide([subject.exists("absent")], [subject.put("a", "4")]).await;
        subject.decide([subject.exists("a")], []).await;
        expect = expect.next();
    }
}

/// Many writers add to one counter by comparing and setting: none of their additions is lost, none
/// counts twice.
pub async fn contended_counter(store: Arc<dyn Store>) {
    const WRITERS: usize = 8;
    const ADDITIONS: usize = 10;
    let subject = Subject::new(store, "counter").await;
    let writers = (0..WRITERS).map(async |_| {
        let mut current = None;
        let mut revisions = Vec::new();
        while revisions.len() < ADDITIONS {
            let count: usize = current.as_ref().map_or(0, count);
            let seen = current.as_ref().map_or(Revision::ZERO, |entry: &Entry| entry.modified);
            let next = subject.put("counter", &(count + 1).to_string());
            current = match subject.decide([subject.modified("counter", seen)], [next]).await {
                Outcome::Committed { revision } => {
                    revisions.push(revision);
                    let value = Bytes::from((count + 1).to_string());
                    Some(Entry { value, created: revision, modified: revision })
                }
                Outcome::Conflict { current, .. } => current,
            };
        }
        revisions
    });
    let mut revisions: Vec<_> = join_all(writers).await.into_iter().flatten().collect();
    revisions.sort_unstable();
    revisions.dedup();
    assert_eq!(revisions.len(), WRITERS * ADDITIONS, "no revision is used twice");
    let last = *revisions.last().expect("there were writers");
    let snapshot = subject.snapshot(last).await;
    assert_eq!(snapshot.get(&subject.key("counter")).map(count), Some(WRITERS * ADDITIONS));
}

fn count(entry: &Entry) -> usize {
    std::str::from_utf8(&entry.value)
        .expect("it was written as text")
        .parse()
        .expect("it was written as a number")
}
