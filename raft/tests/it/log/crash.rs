//! Random work with the power cut at every call in turn: what was acknowledged is there afterwards,
//! and of the rest a prefix.

use openraft::storage::{RaftLogReader, RaftLogStorage};
use quorate_env::disk::MemoryDisk;
use quorate_raft::log::Log;
use quorate_raft::types::{LogEntry, LogId, Vote};

use super::support::{Contents, Random, append, block_on, contents, entry, log_id, open, queue};

/// Operations in one run.
const OPERATIONS: u64 = 24;

/// Every state that the disk may show: the acknowledged one, then one more for each step that was
/// asked for since.
struct Model {
    states: Vec<Contents>,
    votes: Vec<Option<Vote>>,
    committed: Option<LogId>,
    term: u64,
}

impl Model {
    fn new() -> Self {
        let empty = Contents { purged: None, last: None, entries: Vec::new(), vote: None };
        Self { states: vec![empty], votes: vec![None], committed: None, term: 1 }
    }

    fn latest(&self) -> &Contents {
        self.states.last().expect("there is always one state")
    }

    fn next_index(&self) -> u64 {
        self.latest().last.map_or(0, |last| last.index + 1)
    }

    fn step(&mut self, change: impl FnOnce(&mut Contents)) {
        let mut state = self.latest().clone();
        change(&mut state);
        self.states.push(state);
    }

    fn append(&mut self, entry: LogEntry) {
        self.step(|state| {
            state.last = Some(entry.log_id);
            state.entries.push(entry);
        });
    }

    fn truncate(&mut self, after: Option<LogId>) {
        self.step(|state| {
            state
                .entries
                .retain(|entry| after.is_some_and(|after| entry.log_id.index <= after.index));
            state.last = after.or(state.purged);
        });
    }

    fn purge(&mut self, upto: LogId) {
        self.step(|state| {
            state.entries.retain(|entry| entry.log_id.index > upto.index);
            state.purged = Some(upto);
            state.last = state.last.filter(|last| last.index > upto.index).or(Some(upto));
        });
    }

    /// Everything asked for so far is durable.
    fn acknowledge(&mut self) {
        self.states.drain(..self.states.len() - 1);
    }

    fn allows(&self, found: &Contents) -> bool {
        let same = |state: &Contents| {
            (state.purged, state.last) == (found.purged, found.last)
                && state.entries == found.entries
        };
        self.states.iter().any(same) && self.votes.contains(&found.vote)
    }
}

/// Does one random thing. The error means that the power has gone.
async fn operate(log: &mut Log, model: &mut Model, random: &mut Random) -> std::io::Result<()> {
    match random.below(10) {
        0 => {
            model.term += 1;
            let vote = Vote::new(model.term, 1);
            model.votes.push(Some(vote));
            log.save_vote(&vote).await?;
            model.votes.drain(..model.votes.len() - 1);
            model.acknowledge();
        }
        1 => {
            let state = model.latest();
            let keep = usize::try_from(random.below(state.entries.len() as u64 + 1)).unwrap();
            let after = if keep == 0 { state.purged } else { Some(state.entries[keep - 1].log_id) };
            let after = after.max(model.committed);
            if after < state.last {
                model.truncate(after);
                log.truncate_after(after).await?;
                model.acknowledge();
            }
        }
        2 | 3 => {
            let state = model.latest();
            let first = state.purged.map_or(0, |purged| purged.index + 1);
            let upto = first + random.below(state.entries.len() as u64 + 3);
            let held = state
                .entries
                .iter()
                .find(|entry| entry.log_id.index == upto)
                .map(|entry| entry.log_id);
            let upto = held.unwrap_or_else(|| log_id(model.term, upto));
            model.purge(upto);
            log.purge(upto).await?;
        }
        4 => {
            model.committed = model.states[0].last;
            log.save_committed(model.committed).await?;
        }
        _ => append_some(log, model, random).await?,
    }
    Ok(())
}

/// Up to three appends at once, then waits for all.
async fn append_some(log: &mut Log, model: &mut Model, random: &mut Random) -> std::io::Result<()> {
    let mut waiting = Vec::new();
    for _ in 0..=random.below(3) {
        let mut entries = Vec::new();
        for _ in 0..=random.below(4) {
            let bytes = usize::try_from(random.below(1500)).unwrap();
            let entry = entry(model.term, model.next_index(), bytes);
            model.append(entry.clone());
            entries.push(entry);
        }
        waiting.push(queue(log, entries).await);
    }
    for durable in waiting {
        durable.await.unwrap_or_else(|_| Err(std::io::Error::other("forgotten")))?;
    }
    model.acknowledge();
    Ok(())
}

async fn work(disk: &MemoryDisk, seed: u64) -> Model {
    let (mut model, mut random) = (Model::new(), Random::new(seed));
    let Ok(mut log) = Log::open(super::support::options(disk)).await else {
        return model;
    };
    for _ in 0..OPERATIONS {
        if operate(&mut log, &mut model, &mut random).await.is_err() {
            assert!(disk.crashed(), "an error without a crash");
            break;
        }
        let held = log.try_get_log_entries(..).await;
        assert!(
            disk.crashed() || held.unwrap() == model.latest().entries,
            "reads differ before any crash"
        );
    }
    model
}

/// Finds the disk after the crash, checks what is there, goes on writing, and opens it once more.
async fn check(disk: &MemoryDisk, model: &Model, place: &str) {
    let mut log = match Log::open(super::support::options(disk)).await {
        Ok(log) => log,
        Err(error) => panic!("{place}: {error}"),
    };
    let found = contents(&mut log).await;
    let states: Vec<String> = model.states.iter().map(Contents::summary).collect();
    assert!(model.allows(&found), "{place}: found {}, none of {states:?}", found.summary());
    let next = found.last.map_or(0, |last| last.index + 1);
    append(&mut log, vec![entry(99, next, 3000)]).await.unwrap();
    let expect = contents(&mut log).await;
    log.close().await.unwrap();
    let mut again = open(disk).await;
    assert_eq!(contents(&mut again).await, expect, "{place}: opened again");
}

fn crash_everywhere(seed: u64) {
    let mut calls = 0;
    block_on(async {
        let disk = MemoryDisk::new();
        let model = work(&disk, seed).await;
        assert!(model.latest().last.is_some(), "the work must do something");
        calls = disk.calls();
    });
    for call in 0..calls {
        block_on(async {
            let disk = MemoryDisk::new();
            disk.crash_after(call);
            let model = work(&disk, seed).await;
            let found = disk.crash(seed ^ call);
            check(&found, &model, &format!("seed {seed}, crash at call {call} of {calls}")).await;
        });
    }
}

#[test]
fn nothing_acknowledged_is_lost_wherever_the_power_goes() {
    for seed in 1..=12 {
        crash_everywhere(seed);
    }
}

#[test]
fn recovery_itself_may_be_cut_short_again_and_again() {
    for seed in 1..=40 {
        block_on(async {
            let mut disk = MemoryDisk::new();
            disk.crash_after(60 + seed * 3);
            let model = work(&disk, seed).await;
            for attempt in 0..6 {
                disk = disk.crash(seed * 7 + attempt);
                disk.crash_after(attempt);
                drop(Log::open(super::support::options(&disk)).await);
            }
            check(&disk.crash(seed), &model, &format!("seed {seed}")).await;
        });
    }
}
