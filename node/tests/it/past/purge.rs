//! A secret that is purged: gone from every member's answers and archives.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::*;
use crate::load::make_namespace;

const SECRETS: &str = "/api/v1/namespaces/shop/secrets";
/// What `first-value-of-a-secret` is in the stored form.
const ENCODED: &str = "Zmlyc3QtdmFsdWUtb2YtYS1zZWNyZXQ=";

/// Whether a file below a folder has this text.
fn has(folder: &Path, text: &str) -> bool {
    fs::read_dir(folder).into_iter().flatten().flatten().any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return has(&path, text);
        }
        let bytes = fs::read(&path).unwrap_or_default();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    })
}

/// Asks a member for the secret as it was.
async fn is_gone(cluster: &Cluster, node: u64, first: u64) {
    let mut client = cluster.client(node);
    let path = format!("{SECRETS}/token");
    eventually("the member has applied the purge", async || {
        let then = client.get(&format!("{path}?asOf={first}")).await;
        (then.status == 410 && then.body.to_string().contains("purged")).then_some(())
    })
    .await;
    for page in [format!("{path}?history=true"), "/past/changes?resource=secrets".to_owned()] {
        let answer = client.get(&page).await.expect(200);
        let text = answer.body.to_string();
        assert!(text.contains("purged") && !text.contains(ENCODED), "{text}");
    }
    let list = client.get(&format!("{SECRETS}?asOf={first}")).await.expect(200);
    assert!(!list.body.to_string().contains(ENCODED));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_purged_secret_is_gone_at_every_member() {
    let mut cluster = Cluster::start(3, &[]);
    let past = PastCommands::new(&cluster);
    let mut client = cluster.client(1);
    make_namespace(&mut client, "shop").await;
    let object =
        json!({"metadata": {"name": "token"}, "stringData": {"k": "first-value-of-a-secret"}});
    let first = version(&create(&mut client, SECRETS, object).await);
    let path = format!("{SECRETS}/token");
    patch(&mut client, &path, json!({"stringData": {"k": "second"}})).await;
    delete(&mut client, &path).await;
    // A stop and a start bring what waits into the archive.
    cluster.stop(3);
    let folder = cluster.node(3);
    assert!(has(&folder.join("archive"), ENCODED), "the search finds what is there");
    cluster.serve(&folder);
    cluster.ready(3).await;
    let line = "archive purge secret token -n shop --reason leaked";
    assert!(past.fail(line).contains("--yes"));
    let dry = past.run(&format!("{line} --dry-run"));
    assert!(dry.contains("would be purged (versions: 2, objects: 1)"), "{dry}");
    client.get(&format!("{path}?asOf={first}")).await.expect(200);
    let done = past.run(&format!("{line} --yes"));
    assert!(done.contains("purged (versions: 2, objects: 1)"), "{done}");
    for node in 1..=3 {
        is_gone(&cluster, node, first).await;
    }
    assert!(past.run("history secret token -n shop").contains("(purged)"));
    let archive = folder.join("archive");
    eventually("the bytes are gone", async || (!has(&archive, ENCODED)).then_some(())).await;
    for node in 1..=3 {
        let folder = cluster.node(node);
        cluster.stop(node);
        assert!(!has(&folder.join("archive"), ENCODED), "node {node}");
        cluster.serve(&folder);
        cluster.ready(node).await;
        is_gone(&cluster, node, first).await;
    }
}
