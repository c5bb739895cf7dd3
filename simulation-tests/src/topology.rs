//! The addresses of a simulated cluster: hosts, their names, ports and data folders.

use quorate_raft::types::Peer;
use quorate_store::NodeId;

/// Where nodes listen for peers.
pub(crate) const PEER_PORT: u16 = 7000;

/// The number of a host. Founders have the numbers of their hosts as members; later members have
/// numbers of their own.
pub(crate) type HostId = u64;

/// The name of a host.
pub(crate) fn host_name(host: HostId) -> String {
    format!("n{host}")
}

/// Where a member keeps its data.
pub(crate) fn folder(host: HostId, node: NodeId) -> String {
    format!("{}-{node}", host_name(host))
}

/// The addresses of the member on a host.
pub(crate) fn peer(host: HostId) -> Peer {
    Peer { address: format!("{}:{PEER_PORT}", host_name(host)), api: String::new() }
}
