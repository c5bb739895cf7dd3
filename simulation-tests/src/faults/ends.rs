//! Why a node may end by itself: a disk that fails is the end of the process, and so is the news
//! that it was removed.

use super::coverage;

/// Words of the reasons that a fault explains.
const ACCEPTED_ENDS: [&str; 5] = [
    coverage::SYNC_FAILURE,
    coverage::STATE_FAILURE,
    coverage::NO_SPACE,
    "lost power",
    "empty its data folder and let it join again",
];
/// What a member says whose disk is an older copy.
const OLDER_COPY: &str = "is an older copy";

/// Whether a fault explains the end.
pub(super) fn is_accepted(reason: &str) -> bool {
    ACCEPTED_ENDS.iter().any(|accepted| reason.contains(accepted))
}

/// Whether the member found that its disk is an older copy.
pub(super) fn is_older_copy(reason: &str) -> bool {
    reason.contains(OLDER_COPY)
}
