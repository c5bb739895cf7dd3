//! The writes that this node has refused: counts, and a sample of them, in memory.
//!
//! Invariants: [`MAX_COUNTS`] counts and [`MAX_SAMPLES`] samples at most, of each count no more than
//! [`SAMPLES_OF_ONE`]; texts are cut. What has no place of its own is counted all the same. Dry runs
//! are not counted, nor requests whose user is not known.
//!
//! Not here: who may read it.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use http::header::USER_AGENT;
use parking_lot::Mutex;
use quorate_access::authentication::User;
use quorate_meta::SmolStr;

use crate::request_record::RequestRecord;

/// Different counts.
const MAX_COUNTS: usize = 1024;
/// Refused writes that are kept as a sample.
pub(crate) const MAX_SAMPLES: usize = 1024;
/// Refused writes of one count in the sample.
const SAMPLES_OF_ONE: usize = 16;
/// Bytes of a text that are kept.
const TEXT_BYTES: usize = 512;
/// The user under whom everything is counted that comes after the first [`MAX_COUNTS`].
const OTHERS: &str = "…";

/// What refused writes are counted by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct RefusalKey {
    pub(crate) user: SmolStr,
    pub(crate) verb: &'static str,
    pub(crate) group: SmolStr,
    pub(crate) resource: SmolStr,
    pub(crate) subresource: SmolStr,
    pub(crate) code: u16,
    pub(crate) reason: String,
}

/// One refused write.
#[derive(Debug, Clone)]
pub(crate) struct RefusedWrite {
    pub(crate) key: RefusalKey,
    pub(crate) time_ms: u64,
    pub(crate) user: Arc<User>,
    pub(crate) impersonator: Option<Arc<User>>,
    pub(crate) namespace: Option<SmolStr>,
    pub(crate) name: Option<SmolStr>,
    pub(crate) message: String,
    pub(crate) user_agent: String,
    pub(crate) audit_id: String,
}

/// What is known of refused writes at one moment.
#[derive(Debug, Clone)]
pub(crate) struct RefusedWritesTold {
    pub(crate) since_ms: u64,
    pub(crate) counts: Vec<(RefusalKey, u64)>,
    /// Oldest first.
    pub(crate) samples: Vec<RefusedWrite>,
    /// Refused writes that are not in the sample.
    pub(crate) dropped: u64,
}

/// The refused writes of a node.
#[derive(Debug)]
pub(crate) struct RefusedWrites {
    since_ms: u64,
    kept: Mutex<Refusals>,
}

#[derive(Debug, Default)]
struct Refusals {
    counts: HashMap<RefusalKey, Count>,
    samples: VecDeque<RefusedWrite>,
    dropped: u64,
}

#[derive(Debug, Default)]
struct Count {
    all: u64,
    sampled: usize,
}

impl RefusedWrites {
    /// None yet.
    pub(crate) fn new(now_ms: u64) -> Self {
        Self { since_ms: now_ms, kept: Mutex::default() }
    }

    /// Takes note of a request that has failed, if it was a write.
    pub(crate) fn note(&self, record: &RequestRecord<'_>, headers: &http::HeaderMap) {
        let (info, Some(user), Some(status)) = (record.info(), record.user(), record.failure())
        else {
            return;
        };
        if !info.verb.is_write() || !info.is_resource || info.query.get("dryRun").is_some() {
            return;
        }
        let key = RefusalKey {
            user: cut(&user.name).into(),
            verb: info.verb.name(),
            group: cut(&info.group).into(),
            resource: cut(&info.resource).into(),
            subresource: cut(info.subresource.as_deref().unwrap_or_default()).into(),
            code: status.code,
            reason: status.reason.as_str().to_owned(),
        };
        let agent = headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok());
        let make = |key: RefusalKey| RefusedWrite {
            key,
            time_ms: record.received_ms(),
            user: Arc::clone(user),
            impersonator: record.original_user().cloned(),
            namespace: info.namespace.as_deref().map(|text| cut(text).into()),
            name: info.name.as_deref().or(record.object_name()).map(|text| cut(text).into()),
            message: cut(&status.message).to_owned(),
            user_agent: cut(agent.unwrap_or_default()).to_owned(),
            audit_id: cut(record.id().to_str().unwrap_or_default()).to_owned(),
        };
        self.kept.lock().add(key, make);
    }

    /// What is known.
    pub(crate) fn told(&self) -> RefusedWritesTold {
        let kept = self.kept.lock();
        let mut counts: Vec<_> =
            kept.counts.iter().map(|(key, count)| (key.clone(), count.all)).collect();
        counts.sort_by(|(one, of_one), (other, of_other)| {
            of_other.cmp(of_one).then_with(|| (&one.user, one.verb).cmp(&(&other.user, other.verb)))
        });
        let samples = kept.samples.iter().cloned().collect();
        RefusedWritesTold { since_ms: self.since_ms, counts, samples, dropped: kept.dropped }
    }
}

impl Refusals {
    fn add(&mut self, key: RefusalKey, make: impl FnOnce(RefusalKey) -> RefusedWrite) {
        let has_room = self.counts.len() < MAX_COUNTS || self.counts.contains_key(&key);
        let counted = if has_room { key.clone() } else { others() };
        let count = self.counts.entry(counted).or_default();
        count.all += 1;
        if !has_room || count.sampled == SAMPLES_OF_ONE {
            self.dropped += 1;
            return;
        }
        count.sampled += 1;
        self.samples.push_back(make(key));
        if self.samples.len() > MAX_SAMPLES
            && let Some(oldest) = self.samples.pop_front()
        {
            self.dropped += 1;
            if let Some(count) = self.counts.get_mut(&oldest.key) {
                count.sampled = count.sampled.saturating_sub(1);
            }
        }
    }
}

/// The count of what has no count of its own.
fn others() -> RefusalKey {
    let none = SmolStr::default();
    RefusalKey {
        user: OTHERS.into(),
        verb: "",
        group: none.clone(),
        resource: none.clone(),
        subresource: none,
        code: 0,
        reason: String::new(),
    }
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT_BYTES)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(key: RefusalKey) -> RefusedWrite {
        RefusedWrite {
            key,
            time_ms: 0,
            user: Arc::new(User::anonymous()),
            impersonator: None,
            namespace: None,
            name: None,
            message: String::new(),
            user_agent: String::new(),
            audit_id: String::new(),
        }
    }

    #[test]
    fn counts_and_samples_are_bounded() {
        let refused = RefusedWrites::new(5);
        let key = |user: usize| RefusalKey { user: format!("u{user}").into(), ..others() };
        for user in (0..MAX_COUNTS + 100).chain([0; 40]) {
            refused.kept.lock().add(key(user), write);
        }
        let told = refused.told();
        assert_eq!(told.counts.iter().map(|(_, count)| count).sum::<u64>(), 1024 + 140);
        assert_eq!(told.counts.len(), MAX_COUNTS + 1);
        let (first, most) = &told.counts[0];
        assert_eq!((first.user.as_str(), *most), (OTHERS, 100));
        assert_eq!((told.counts[1].0.user.as_str(), told.counts[1].1), ("u0", 41));
        assert_eq!(told.samples.len(), MAX_SAMPLES);
        let all = told.counts.iter().map(|(_, count)| count).sum::<u64>();
        assert_eq!(told.dropped, all - told.samples.len() as u64);
    }
}
