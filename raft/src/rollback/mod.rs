//! Whether a member's disk is the one that it had: a disk that went back (a backup was restored, a machine was reverted to a snapshot) has
//! forgotten votes that it gave and entries that it confirmed, and others count on both. Nothing on such a disk says so, but the other
//! members have seen more: they are its witnesses.
//!
//! Every member remembers, in memory, the most that each other one has shown of itself, see [`Shown`]. A member that starts asks all
//! voters for that before it votes, follows or stands for election. If its disk has less, it stops with a message that says what to do, and starts
//! no more. A leader hands Raft no answer that takes back what was confirmed to it: Raft would go wrong on it.
//!
//! Invariants: what a member shows is durable on its disk before, and never goes back on a disk that is its own, so nobody is
//! ever refused for a power cut; whoever has not gone back loses no more than [`check`]'s limit of time at a start.
//!
//! What is found for certain: every copy that is older than something shown to a voter that runs since then and can be reached at the start. A
//! voter that was restarted since knows only of elections that the member won with it. After the limit a member goes on without those it
//! cannot reach (a quorum must be able to start while the others are gone), and asks on.
//!
//! What is not found: an old copy together with the loss or the restart of every witness, as when all machines are reverted at once; entries that a
//! leader made durable itself, if it led by the same vote already when the copy was made; a disk with nothing on it at all, or a copy from
//! before the member had heard of those that vote now: they are whom it asks.

mod check;
mod high_water;

pub(crate) mod marker;

pub(crate) use check::{Disk, Gate, check};
pub(crate) use high_water::{Follower, HighWater, Shown};
