//! Faults of archives: a folder that is gone, decays, is another member's, or takes nothing more.
//!
//! A folder changes while its member is down, as its operator and its disk do it.

use std::io;

use turmoil::Sim;

use super::kind::{Fault, FaultKind};
use crate::archive_folder::ArchiveFolder;
use crate::cluster::Cluster;

/// Begins one at a node that runs. False when it does nothing.
pub(super) fn begin(sim: &mut Sim<'_>, cluster: &Cluster, fault: &Fault) -> io::Result<bool> {
    let (node, other) = (fault.node, fault.other);
    match fault.kind {
        FaultKind::LostArchive => {
            cluster.kill(sim, node);
            cluster.set_archive(node, ArchiveFolder::default());
        }
        FaultKind::DecayedArchive => {
            cluster.kill(sim, node);
            cluster.archive(node).decay(fault.seed)?;
        }
        FaultKind::SwappedArchives if cluster.runs(sim, other) => {
            cluster.kill(sim, node);
            cluster.kill(sim, other);
            let (one, two) = (cluster.archive(node), cluster.archive(other));
            cluster.set_archive(node, two);
            cluster.set_archive(other, one);
        }
        FaultKind::FullArchive => cluster.archive(node).set_full(true),
        _ => return Ok(false),
    }
    Ok(true)
}
