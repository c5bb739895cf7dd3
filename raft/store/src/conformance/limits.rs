//! Cases about size: what the store says it holds, and what happens when it is full.

use std::sync::Arc;

use super::subject::{Subject, eventually, within};
use crate::{Error, NotApplied, Outcome, Store, Txn};

/// [`size_limit`] wants a store whose limit is above zero and at most this many bytes.
pub const SIZE_LIMIT_MAX_BYTES: u64 = 1 << 20;

/// The size is that of keys and values, and comes back when they go.
pub async fn size(store: Arc<dyn Store>) {
    let subject = Subject::new(store, "size").await;
    let revision = subject.commit([]).await;
    subject.snapshot(revision).await;
    let before = subject.store.status().size;
    let check = async |operations: Vec<_>, expect: usize| {
        let revision = subject.commit(operations).await;
        within(subject.store.applied(revision)).await;
        eventually(|| subject.store.status().size == before + expect as u64).await;
    };
    let (a, b) = (subject.key("a").len(), subject.key("bb").len());
    check(vec![subject.put("a", "12345")], a + 5).await;
    check(vec![subject.put("a", "1"), subject.put("bb", "123")], a + 1 + b + 3).await;
    check(vec![subject.delete("a"), subject.delete("absent")], b + 3).await;
    check(vec![subject.delete("bb")], 0).await;
}

/// What the limits refuse of a transaction is refused in the same words and not applied, and what
/// they let pass is applied.
pub async fn transaction_limit(store: Arc<dyn Store>) {
    let subject = Subject::new(store, "transaction").await;
    let limits = subject.store.limits();
    let put = |bytes: usize| Txn {
        conditions: vec![],
        operations: vec![subject.put("k", &"x".repeat(bytes))],
        ..Txn::default()
    };
    let most = limits.txn_bytes - put(0).footprint();
    let refusal = limits.check_txn(&put(most + 1)).expect_err("a transaction that is too large");
    let refused = within(subject.store.txn(put(most + 1))).await.expect_err("the same transaction");
    assert_eq!(refused, Error::NotApplied(refusal));
    assert_eq!(limits.check_txn(&put(most)), Ok(()));
    let Outcome::Committed { revision } =
        within(subject.store.txn(put(most))).await.expect("it fits")
    else {
        panic!("it has no condition");
    };
    let snapshot = subject.snapshot(revision).await;
    assert_eq!(snapshot.get(&subject.key("k")).map(|entry| entry.value.len()), Some(most));
    subject.commit([subject.delete("k")]).await;
}

/// At the size limit what adds to the store is refused and certainly not applied. What does not
/// passes: renewals and deletes; and puts come back once there is room.
pub async fn size_limit(store: Arc<dyn Store>) {
    let subject = Subject::new(store, "limit").await;
    let limit = subject.store.status().size_limit;
    assert!(
        limit > 0 && limit <= SIZE_LIMIT_MAX_BYTES,
        "the store was made with a limit of {limit} bytes"
    );
    let value = "x".repeat(1024);
    let mut filled = 0;
    let refused = loop {
        let txn = Txn {
            conditions: vec![],
            operations: vec![subject.put(&filled.to_string(), &value)],
            ..Txn::default()
        };
        match within(subject.store.txn(txn)).await {
            Ok(_) => filled += 1,
            Err(error) => break error,
        }
        assert!(filled as u64 <= limit / 1024 + 1, "the limit of {limit} bytes holds");
    };
    assert!(matches!(refused, Error::NotApplied(NotApplied::OutOfSpace { .. })), "{refused}");
    // As a lease is renewed, and as an object that finalizers hold is marked for deletion.
    subject.commit([subject.put("0", &"y".repeat(value.len()))]).await;
    subject.commit([subject.put("1", &"x".repeat(value.len() + 100))]).await;
    let grown = Txn {
        conditions: vec![],
        operations: vec![subject.put("2", &value.repeat(4))],
        ..Txn::default()
    };
    let refused = within(subject.store.txn(grown)).await.expect_err("it grows");
    assert!(matches!(refused, Error::NotApplied(NotApplied::OutOfSpace { .. })), "{refused}");
    let revision = subject.commit([subject.delete("0"), subject.delete("1")]).await;
    let snapshot = subject.snapshot(revision).await;
    assert_eq!(subject.contents(&snapshot, "").len(), filled - 2, "what was refused is not there");
    subject.commit([subject.put("0", &value)]).await;
}
