//! What a pod has to do before its node can serve, decided from its folder and the registration. No IO.

use quorate_raft::ClusterId;

use super::registration::{Founded, Registration};
use crate::cli::PodRole;

/// What is in a pod's data folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Folder {
    /// Nothing that was ever served.
    Empty,
    /// A node that serves, of this cluster.
    SetUp(ClusterId),
    /// A node that has left the cluster.
    Left,
}

/// What is to be done.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// Nothing: the node can serve.
    Keep,
    /// Claim the founding, and found the cluster.
    Found,
    /// Tell that the cluster in the folder is founded.
    Publish,
    /// Join the cluster with its token.
    Join { ca_hash: String, token: String },
    /// Look again later; for this reason.
    Wait(&'static str),
    /// Never serve this folder.
    Refuse(String),
}

/// Decides. The first voter alone founds, and only while nothing says that there was a cluster before:
/// neither the registration, nor its own folder, nor `peer_answers`.
pub(super) fn decide(
    folder: Folder,
    registered: Option<&Registration>,
    (role, ordinal): (PodRole, u64),
    peer_answers: bool,
) -> Decision {
    let founds = role == PodRole::Voter && ordinal == 0;
    match (folder, registered) {
        (Folder::SetUp(own), Some(Registration::Founded(founded))) if own != founded.cluster => {
            Decision::Refuse(format!(
                "the folder is of cluster {own}, and {} is registered: only one of them can be right",
                founded.cluster
            ))
        }
        (Folder::SetUp(_), Some(Registration::Founded(_))) => Decision::Keep,
        (Folder::SetUp(_), _) if founds => Decision::Publish,
        (Folder::SetUp(_), _) => Decision::Keep,
        (_, Some(Registration::Founded(Founded { ca_hash, token: Some(token), .. }))) => {
            Decision::Join { ca_hash: ca_hash.clone(), token: token.clone() }
        }
        (_, Some(Registration::Founded(_))) => {
            Decision::Wait("the leader has not made a join token yet")
        }
        (Folder::Left, _) => Decision::Wait("the node has left a cluster that is not registered"),
        (Folder::Empty, None) if founds && peer_answers => {
            Decision::Wait("a member answers, and will register the cluster again")
        }
        (Folder::Empty, _) if founds => Decision::Found,
        (Folder::Empty, _) => Decision::Wait("the cluster is not founded yet"),
    }
}
