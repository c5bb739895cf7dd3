//! The Raft node that all parts of a replica share: openraft with this node's id and cluster.
//!
//! A part that has to know which member leads, how far the log is applied or what openraft reports
//! takes a [`RaftNode`] and nothing more; a part that reads or writes replicated keys takes a
//! `quorate_store::Store` besides. So `membership`, `rollback`, `admin` and `replica` are functions
//! and small types over these two handles, none of them reaches into another, and the arrows go one
//! way: they use `core`, and `core` uses the state machine and openraft.
//!
//! Not here: transactions and linearizable reads (`replica`), changes of the members
//! (`membership`).

mod raft_node;

pub(crate) use raft_node::{Leader, Raft, RaftNode};
