//! `quorate status` tells of the archive of every member.

use super::*;
use crate::load::make_namespace;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_archives_of_all_members_are_told() {
    let mut cluster = Cluster::start(3, &[]);
    for node in 1..=3 {
        cluster.ready(node).await;
    }
    make_namespace(&mut cluster.client(1), "shop").await;
    let archives = |cluster: &Cluster| {
        let status = Cluster::run(&["status", "-o", "json"], &cluster.node(1));
        let status: Value = serde_json::from_str(&status).unwrap();
        status["archives"].as_array().unwrap().clone()
    };
    let told = archives(&cluster);
    let nodes: Vec<_> = told.iter().map(|archive| archive["node"].as_u64().unwrap()).collect();
    assert_eq!(nodes, [1, 2, 3]);
    for archive in &told {
        assert_eq!((&archive["kept"], &archive["failures"]), (&true.into(), &0.into()), "{told:?}");
        assert!(archive["oldest"].is_u64() && archive["gaps"].is_array(), "{told:?}");
    }
    let table = Cluster::run(&["status"], &cluster.node(1));
    assert!(table.contains("ARCHIVE FROM") && table.contains("revision "), "{table}");
    cluster.kill(3);
    let told = archives(&cluster);
    assert!(told[2]["error"].is_string() && told[1]["kept"] == true, "{told:?}");
    let health = Cluster::run(&["status", "--ready", "-o", "json"], &cluster.node(1));
    assert!(!health.contains("archives"), "{health}");
}
