//! The faults: what is done to a node, what goes on meanwhile, and how it ends.

use crate::support::Compose;

/// A fault of one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// Off the network of the cluster.
    CutOff,
    /// Killed, and down for a while.
    Kill,
    /// Stopped, and down for a while.
    Stop,
    /// Its processes stand still.
    Pause,
    /// Its disk lets writes through at moments only.
    SlowDisk,
    /// Its disk has no room.
    FullDisk,
    /// Stopped and started.
    Restart,
    /// A new container in the place of the old one.
    Replace,
}

impl Fault {
    /// All of them.
    pub(super) const ALL: [Self; 8] = [
        Self::CutOff,
        Self::Kill,
        Self::Stop,
        Self::Pause,
        Self::SlowDisk,
        Self::FullDisk,
        Self::Restart,
        Self::Replace,
    ];

    /// Whether the nodes have to have disks of their own for it.
    pub(super) fn needs_disks(self) -> bool {
        matches!(self, Self::SlowDisk | Self::FullDisk)
    }

    /// Does it to a node, waits until something else is done, and ends it. Whether the node is well
    /// then is the caller's business. Something must be writing at other nodes.
    pub(super) async fn inflict(
        self,
        compose: &Compose,
        node: u64,
        mut meanwhile: impl AsyncFnMut(),
    ) {
        match self {
            Self::CutOff => {
                compose.cut_off(node);
                meanwhile().await;
                compose.reconnect(node);
            }
            Self::Kill => {
                compose.kill(node);
                meanwhile().await;
                compose.start(node);
            }
            Self::Stop => {
                compose.stop(node);
                meanwhile().await;
                compose.start(node);
            }
            Self::Pause => {
                compose.pause(node);
                meanwhile().await;
                compose.resume(node);
            }
            Self::SlowDisk => {
                let mut slow = compose.slow_disk(node);
                meanwhile().await;
                assert!(slow.wait().unwrap().success(), "the disk of node {node} froze each time");
            }
            Self::FullDisk => {
                compose.fill_disk(node).await;
                meanwhile().await;
                compose.free_disk(node);
            }
            Self::Restart => {
                compose.restart(node);
                meanwhile().await;
            }
            Self::Replace => {
                compose.replace(node);
                meanwhile().await;
            }
        }
    }
}
