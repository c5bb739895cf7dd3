//! The rollback check: whether a member's disk is an older copy of itself.
//!
//! A disk that went back (a backup was restored, a virtual machine was reverted) has forgotten
//! votes that the member cast and entries that it confirmed, and Raft's safety rests on both (Raft
//! dissertation, section 3.8). Nothing on such a disk says so, but the other members have seen
//! more.
//!
//! Every member keeps, in memory, a high water mark of each other member: the newest vote and log
//! entry that it has shown ([`HighWaterMark`]). A starting member asks all voters for its own mark
//! before it votes, follows or stands for election. If its disk has less, it stops with a message
//! that says what to do, and starts no more. A leader passes no answer to openraft that takes back
//! what the follower had confirmed: openraft would go wrong on it.
//!
//! Invariants: what a member shows is durable on its disk before, and never goes back on a disk
//! that is its own, so a power cut is never taken for a rollback; a member that has not gone back
//! loses at most the start limit of the check.
//!
//! Found for certain: every copy that is older than something shown to a voter that runs since then
//! and can be reached at the start. A voter that was restarted since knows only of elections that
//! the member won with its vote. After the limit a member takes part without the voters that it
//! cannot reach (a quorum must be able to start while the others are gone), and goes on asking.
//!
//! Not found: an old copy together with the loss or the restart of every voter that has seen more,
//! as when all machines are reverted at once; entries that a leader made durable itself, if it led
//! by the same vote when the copy was made; a disk with nothing on it at all, or a copy from before
//! the member had heard of the present voters: they are the ones that it asks.

mod check;
mod gate;
mod high_water;

pub(crate) mod marker;

pub(crate) use check::{CheckedFolder, NoAnswer, RollbackCheck, VoterQuery, seen_of};
pub(crate) use gate::StartGate;
pub(crate) use high_water::{FollowerMark, HighWaterMark, HighWaterMarks};
