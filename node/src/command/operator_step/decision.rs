//! What a pod has to do before its node can serve, decided from its folder and the registration. No IO.

use quorate_raft::ClusterId;

use super::registration::{Founded, Registration};
use crate::cli::PodRole;

/// What is in a pod's data folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Folder {
    /// Nothing that was ever served.
    Empty,
    /// The first node of a new cluster of this id that was never served: its founding may be registered or
    /// not.
    Founding(ClusterId),
    /// A member of this cluster, or one that is about to be.
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
/// neither the registration, nor its own folder, nor `others_serve`. A voter with data tells of its cluster
/// where nothing is registered, also over a claim: what was served counts more than what is just founded.
pub(super) fn decide(
    folder: Folder,
    registered: Option<&Registration>,
    (role, ordinal): (PodRole, u64),
    others_serve: bool,
) -> Decision {
    let founds = role == PodRole::Voter && ordinal == 0;
    match (folder, registered) {
        (Folder::Founding(own), Some(Registration::Founded(founded))) if own == founded.cluster => {
            Decision::Keep
        }
        (Folder::SetUp(own), Some(Registration::Founded(founded))) if own != founded.cluster => {
            Decision::Refuse(format!(
                "the folder is of cluster {own}, and {} is registered: only one of them can be right",
                founded.cluster
            ))
        }
        (Folder::SetUp(_), Some(Registration::Founded(_))) => Decision::Keep,
        (Folder::SetUp(_), _) if role == PodRole::Voter => Decision::Publish,
        (Folder::SetUp(_), _) => Decision::Keep,
        (_, Some(Registration::Founded(Founded { ca_hash, token: Some(token), .. }))) => {
            Decision::Join { ca_hash: ca_hash.clone(), token: token.clone() }
        }
        (_, Some(Registration::Founded(_))) => {
            Decision::Wait("the leader has not made a join token yet")
        }
        (Folder::Left, _) => Decision::Wait("the node has left a cluster that is not registered"),
        (Folder::Empty | Folder::Founding(_), None) if founds && others_serve => {
            Decision::Wait("a member answers, and will register the cluster again")
        }
        (Folder::Empty | Folder::Founding(_), _) if founds => Decision::Found,
        (Folder::Empty | Folder::Founding(_), _) => {
            Decision::Wait("the cluster is not founded yet")
        }
    }
}
