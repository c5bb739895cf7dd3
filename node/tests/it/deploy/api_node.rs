//! The API node: whatever becomes of it, no client of a voter notices, and it comes back with
//! everything.

use super::{Fault, check_lonely, load, write_works};
use crate::load::{collection, make_namespace};
use crate::support::{API_NODE, Compose, VOTERS};

/// What is done to it.
const FAULTS: [Fault; 5] = [Fault::CutOff, Fault::Stop, Fault::Kill, Fault::Pause, Fault::FullDisk];
/// What a node says that ends because its disk is full, whichever of log and state comes first.
const FULL: [&str; 2] = ["No space left on device", "the disk may be full"];

/// Does all of it, one after the other, while clients write at the voters.
pub(super) async fn faults_of_the_api_node_disturb_no_voter(
    compose: &Compose,
    step: impl Fn(&str),
) {
    for fault in FAULTS {
        if fault.needs_disks() && compose.disks().is_none() {
            continue;
        }
        let namespace = format!("api-{fault:?}").to_lowercase();
        let mut client = compose.client(1);
        make_namespace(&mut client, &namespace).await;
        seen_at_the_api_node(compose, &namespace).await;
        let load = load(compose, &VOTERS, &namespace);
        load.goes_on(20).await;
        fault
            .inflict(compose, API_NODE, async || {
                load.goes_on(20).await;
                write_works(&mut client, &namespace).await;
                if fault == Fault::CutOff {
                    check_lonely(compose, API_NODE, &namespace).await;
                }
            })
            .await;
        compose.ready(API_NODE).await;
        if fault == Fault::FullDisk {
            let logs = compose.logs(API_NODE);
            let says = |line: &str| {
                line.contains("quorate: ") && FULL.iter().any(|words| line.contains(words))
            };
            assert!(logs.lines().any(says), "the node says why it has ended: {logs}");
        }
        let mut back = compose.client(API_NODE);
        back.get(&format!("{}/last", collection(&namespace))).await.expect(200);
        let written = load.finish().await;
        assert_eq!((written.unknown, &written.refused[..]), (0, &[][..]), "{fault:?}");
        for node in super::NODES {
            written.check_is_there(&mut compose.client(node), &namespace).await;
        }
        step(&format!(
            "the API node: {fault:?}; {} writes at the voters, none without an answer",
            written.revisions.len()
        ));
    }
}

/// Waits until it has a namespace: what it has is what it is asked for when it is cut off.
async fn seen_at_the_api_node(compose: &Compose, namespace: &str) {
    compose.client(API_NODE).get(&format!("/api/v1/namespaces/{namespace}")).await.expect(200);
}
