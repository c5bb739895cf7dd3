//! Generates the client and server stubs of the peer RPC service. Messages are opaque bytes here
//! (no protobuf compiler is needed); `src/network/wire.rs` says what is inside them.

use tonic_build::manual::{Builder, Method, Service};

fn main() {
    let method = |name: &str, route: &str| {
        Method::builder()
            .name(name)
            .route_name(route)
            .input_type("bytes::Bytes")
            .output_type("bytes::Bytes")
            .codec_path("crate::network::codec::BytesCodec")
    };
    let service = Service::builder()
        .package("quorate.peer.v1")
        .name("Peer")
        .method(method("vote", "Vote").build())
        .method(method("pre_vote", "PreVote").build())
        // The route keeps the name of the first release: it is part of the wire format.
        .method(method("rollback_check", "Witness").build())
        .method(method("transfer_leader", "TransferLeader").build())
        .method(method("append", "Append").client_streaming().server_streaming().build())
        .method(method("snapshot", "Snapshot").client_streaming().build())
        .method(method("forward", "Forward").client_streaming().server_streaming().build())
        .method(method("admin", "Admin").build())
        .method(method("join", "Join").build())
        .method(method("archive_inventory", "ArchiveInventory").build())
        .method(method("archive_changes", "ArchiveChanges").build())
        .build();
    Builder::new().compile(&[service]);
}
