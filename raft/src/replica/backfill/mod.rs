//! Back-fill between members: how a member asks others for what its archive lacks, and how it
//! answers them.
//!
//! Invariant: only members of this cluster are asked and answered (`network::call_auth`). What is
//! missing, and whether an answer can be believed, is decided in `quorate_archive`.

mod client;
mod message;
mod serve;

pub(super) use client::MemberArchives;
pub(super) use serve::ArchiveService;
