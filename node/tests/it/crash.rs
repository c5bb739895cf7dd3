//! A crash of all nodes at once.

use crate::load::{Load, collection, make_namespace};
use crate::support::{Cluster, Watcher};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_whole_cluster_comes_back_as_it_was() {
    let mut cluster = Cluster::start(3, &[]);
    let begin = make_namespace(&mut cluster.client(1), "load").await;
    let load = Load::start(&cluster, &[1, 2, 3], "load");
    load.goes_on(500).await;
    (1..=3).for_each(|node| cluster.kill(node));
    let written = load.finish().await;
    for node in 1..=3 {
        let folder = cluster.node(node);
        cluster.serve(&folder);
    }
    for node in 1..=3 {
        cluster.ready(node).await;
    }
    for node in 1..=3 {
        written.check_is_there(&mut cluster.client(node), "load").await;
        // From before the crash: history is on disk, so no watch has to begin anew.
        let mut watcher = Watcher::start(vec![cluster.client(node)], &collection("load"), begin);
        written.check_was_seen(&watcher.until(written.last()).await);
        let mut late =
            Watcher::start(vec![cluster.client(node)], &collection("load"), written.last() - 1);
        let event = &late.until(written.last()).await[0];
        assert_eq!(event.revision, written.last());
    }
    let next = make_namespace(&mut cluster.client(2), "after").await;
    assert!(next > written.last(), "revision {next} was used before");
}
