//! Scans in pages, over archives of which parts are not here.

use bytes::Bytes;
use quorate_store::{Entry, Event, Extent, Gap, Purge, PurgeCount, Version};

use super::*;

/// An archive that knows no more than its transactions.
#[derive(Debug, Clone)]
struct Transactions {
    oldest: u64,
    newest: u64,
    gaps: Vec<(u64, u64)>,
    value: Bytes,
}

impl Transactions {
    fn batch(&self, revision: u64) -> Arc<Batch> {
        let revision = Revision::new(revision);
        let entry = Entry { value: self.value.clone(), created: revision, modified: revision };
        let event = Event { key: Bytes::from("key"), current: Some(entry), previous: None };
        let origin = Bytes::new();
        Arc::new(Batch { revision, time_ms: 0, events: Arc::new([event]), origin })
    }
}

impl Past for Transactions {
    fn extent(&self) -> Extent {
        Extent::default()
    }

    fn revision_at(&self, _: u64) -> Result<Revision, PastError> {
        Err(PastError::Unreadable)
    }

    fn time_of(&self, _: Revision) -> Result<u64, PastError> {
        Err(PastError::Unreadable)
    }

    fn get(&self, _: &[u8], _: Revision) -> Result<Option<Entry>, PastError> {
        Err(PastError::Unreadable)
    }

    fn range(
        &self,
        _: &[u8],
        _: Option<&[u8]>,
        _: Revision,
        _: usize,
    ) -> Result<Vec<(Bytes, Entry)>, PastError> {
        Err(PastError::Unreadable)
    }

    fn versions(&self, _: &[u8], _: Revision, _: usize) -> Result<Vec<Version>, PastError> {
        Err(PastError::Unreadable)
    }

    fn count_purged(&self, _: &Purge) -> Result<PurgeCount, PastError> {
        Err(PastError::Unreadable)
    }

    fn changes(&self, after: Revision, max_bytes: usize) -> Result<Vec<Arc<Batch>>, PastError> {
        let after = after.get();
        if after < self.oldest {
            return Err(PastError::Expired { oldest: Revision::new(self.oldest), oldest_ms: 0 });
        }
        if let Some((begin, last)) = self.gaps.iter().find(|gap| (gap.0..gap.1).contains(&after)) {
            let gap = Gap { after: Revision::new(*begin), last: Revision::new(*last) };
            return Err(PastError::Missing { gap });
        }
        let end = self.gaps.iter().map(|gap| gap.0).find(|begin| *begin > after);
        let (mut found, mut bytes) = (Vec::new(), 0);
        for revision in after + 1..=end.unwrap_or(self.newest) {
            if bytes >= max_bytes {
                break;
            }
            let batch = self.batch(revision);
            bytes += batch.footprint();
            found.push(batch);
        }
        Ok(found)
    }
}

/// What all pages of so many transactions have, and whether the last one was an error.
fn pages(past: &Transactions, order: Order, range: (u64, u64), size: usize) -> (Vec<u64>, bool) {
    let (mut found, mut from) = (Vec::new(), None);
    let (after, until) = (Revision::new(range.0), Revision::new(range.1));
    loop {
        let mut scan = Scan::new(Arc::new(past.clone()), order, after, until, from);
        for place in 0..size {
            match scan.next() {
                Ok(Some(batch)) => found.push(batch.revision.get()),
                Ok(None) => break,
                Err(_) => {
                    assert_eq!(place, 0, "an error after a part of a page");
                    return (found, true);
                }
            }
        }
        from = scan.rest();
        if from.is_none() {
            return (found, false);
        }
    }
}

#[test]
fn each_transaction_is_told_once_up_to_what_is_not_here() {
    let check = |oldest: u64, gaps: &[(u64, u64)], newest: &[u64], first: &[u64]| {
        let value = Bytes::new();
        let past = Transactions { oldest, newest: 9, gaps: gaps.to_vec(), value };
        for size in [1, 2, 3, 100] {
            let fails = !gaps.is_empty();
            let found = pages(&past, Order::Newest, (0, 9), size);
            assert_eq!(found, (newest.to_vec(), fails), "{oldest} {gaps:?} {size}");
            let found = pages(&past, Order::Oldest, (oldest, 9), size);
            assert_eq!(found, (first.to_vec(), fails), "{oldest} {gaps:?} {size}");
        }
    };
    check(0, &[], &[9, 8, 7, 6, 5, 4, 3, 2, 1], &[1, 2, 3, 4, 5, 6, 7, 8, 9]);
    check(6, &[], &[9, 8, 7], &[7, 8, 9]);
    check(0, &[(3, 5)], &[9, 8, 7, 6], &[1, 2, 3]);
    check(0, &[(2, 3), (6, 7)], &[9, 8], &[1, 2]);
    check(4, &[(5, 6)], &[9, 8, 7], &[5]);
    check(0, &[(7, 9)], &[], &[1, 2, 3, 4, 5, 6, 7]);
    check(0, &[(0, 2)], &[9, 8, 7, 6, 5, 4, 3], &[]);
}

#[test]
fn large_transactions_are_read_a_few_at_a_time() {
    let check = |bytes: usize, newest: u64| {
        let value = Bytes::from(vec![b'x'; bytes]);
        let past = Transactions { oldest: 0, newest, gaps: Vec::new(), value };
        let expect: Vec<u64> = (4..=newest).collect();
        for size in [7, 2000] {
            let (found, fails) = pages(&past, Order::Oldest, (3, newest), size);
            assert!(found == expect && !fails, "{bytes} {newest} {size}");
            let (mut found, fails) = pages(&past, Order::Newest, (3, newest), size);
            found.reverse();
            assert!(found == expect && !fails, "{bytes} {newest} {size}");
        }
    };
    check(0, 1500);
    check(100_000, 700);
    check(READ_BYTES + 1, 40);
}
