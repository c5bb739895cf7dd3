//! Backups of a cluster that is written to and whose leader is killed, and clusters that are restored
//! from them.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use http::Method;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::load::{Load, Written, collection, make_namespace};
use crate::support::{Client, Cluster, quorate};

/// The number whose addresses a restored node takes.
const RESTORED: u64 = 6;
/// The same for a second one beside it.
const RESTORED_TOO: u64 = 7;

/// A repository of a test.
pub(crate) struct Backups {
    repository: PathBuf,
    key: PathBuf,
}

impl Backups {
    pub(crate) fn new(cluster: &Cluster) -> Self {
        let (repository, key) = (cluster.spare("backups"), cluster.spare("backup.key"));
        succeeds(&quorate(&["backup", "key"]).arg(&key).output().unwrap());
        let again = quorate(&["backup", "key"]).arg(&key).output().unwrap();
        assert_eq!(again.status.code(), Some(2), "a key is not written over");
        Self { repository, key }
    }

    /// Backs up by way of a node.
    pub(crate) fn create(&self, cluster: &Cluster, node: u64, arguments: &[&str]) -> Output {
        let config = cluster.spare(&format!("{node}.kubeconfig"));
        if !config.exists() {
            std::fs::write(&config, Cluster::run(&["kubeconfig"], &cluster.node(node))).unwrap();
        }
        let mut command = quorate(&["backup", "create", "--to"]);
        command.arg(&self.repository).arg("--key-file").arg(&self.key).args(arguments);
        command.arg("--kubeconfig").arg(config).output().unwrap()
    }

    fn read(&self, arguments: &[&str]) -> Output {
        let mut command = quorate(arguments);
        command.arg("--from").arg(&self.repository).arg("--key-file").arg(&self.key);
        command.output().unwrap()
    }

    /// Restores into a folder beside the cluster's, with the addresses of [`RESTORED`].
    fn restore(&self, cluster: &Cluster, folder: &Path, arguments: &[&str]) -> Output {
        self.restore_as(cluster, RESTORED, folder, arguments)
    }

    /// The same with the addresses of a number.
    pub(crate) fn restore_as(
        &self,
        cluster: &Cluster,
        number: u64,
        folder: &Path,
        arguments: &[&str],
    ) -> Output {
        let (bind, peer) = (cluster.address(number), cluster.peer_address(number));
        let folder = folder.to_str().unwrap();
        let fixed = ["restore", "--data-dir", folder, "--bind", &bind, "--peer-bind", &peer];
        self.read(&[&fixed, arguments].concat())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_comes_back_as_it_was_at_a_revision() {
    let mut cluster = Cluster::start(3, &[]);
    let backups = Backups::new(&cluster);
    make_namespace(&mut cluster.client(1), "load").await;
    let load = Load::start(&cluster, &[1, 2, 3], "load");
    load.goes_on(200).await;
    let leader = cluster.leader(1).await;
    let survivor = leader % 3 + 1;
    succeeds(&backups.create(&cluster, survivor, &[]));
    load.goes_on(200).await;
    cluster.kill(leader);
    load.goes_on(200).await;
    succeeds(&backups.create(&cluster, survivor, &["--changes-only"]));
    load.goes_on(200).await;
    succeeds(&backups.create(&cluster, survivor, &[]));
    load.goes_on(100).await;
    let written = load.finish().await;
    succeeds(&backups.create(&cluster, survivor, &["--changes-only"]));
    let verified = succeeds(&backups.read(&["backup", "verify"]));
    assert!(verified.contains("2 bases restored"), "{verified}");
    let listed = succeeds(&backups.read(&["backup", "list", "-o", "json"]));
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed["bases"].as_array().unwrap().len(), 2);
    assert!(listed["lastRevision"].as_u64().unwrap() >= written.last(), "{listed}");

    // A write that is in the changes between the two bases.
    let first = listed["bases"][0]["revision"].as_u64().unwrap();
    let second = listed["bases"][1]["revision"].as_u64().unwrap();
    let (point, _) = written.revisions.range((first + second) / 2..).next().unwrap();
    let point = *point;
    let folder = cluster.spare("restored");
    succeeds(&backups.restore(&cluster, &folder, &["--at", &point.to_string()]));
    let again = backups.restore(&cluster, &folder, &[]);
    assert_eq!(again.status.code(), Some(2), "a folder that holds something is refused");
    cluster.serve(&folder);
    let mut client = Client::new(&cluster.address(RESTORED), &folder.join("pki"), "admin");
    ready(&mut client).await;
    check_point(&written, &mut client, point).await;
    comes_back_at_a_time(&mut cluster, &backups, &written, (survivor, point)).await;

    // Clients of the old cluster begin anew, and its nodes are refused.
    let next = make_namespace(&mut client, "after").await;
    assert!(next > written.last() + 1_000_000_000_000, "revision {next} may have been used");
    let old = format!("{}?watch=true&resourceVersion={point}", collection("load"));
    let answer = client.send(Method::GET, &old, None).await.unwrap();
    assert!(answer.status == 410 || answer.body.to_string().contains("410"), "{answer:?}");
    let old_id = cluster.status(&cluster.node(survivor)).unwrap()["cluster"].clone();
    let status = cluster.status(&folder).unwrap();
    assert_ne!(status["cluster"], old_id);
    assert_eq!(status["members"].as_array().unwrap().len(), 1);
    // The certificates of the old cluster are of no use here.
    let mixed = cluster.spare("mixed");
    std::fs::create_dir(&mixed).unwrap();
    std::fs::copy(folder.join("pki/ca.crt"), mixed.join("ca.crt")).unwrap();
    for file in ["admin.crt", "admin.key"] {
        std::fs::copy(cluster.root().join("pki").join(file), mixed.join(file)).unwrap();
    }
    let mut stranger = Client::new(&cluster.address(RESTORED), &mixed, "admin");
    stranger.send(Method::GET, "/api/v1/namespaces", None).await.unwrap().expect(401);
}

/// The moment of a write as a time: what was there then, by the archive of the cluster, is what comes back.
async fn comes_back_at_a_time(
    cluster: &mut Cluster,
    backups: &Backups,
    written: &Written,
    (node, point): (u64, u64),
) {
    let mut living = cluster.client(node);
    let path = format!("/past/changes?since={}&until={point}", point - 1);
    let change = living.get(&path).await.expect(200).body["items"][0].clone();
    assert_eq!(change["revision"], point.to_string());
    let time = change["time"].as_str().unwrap();
    let state = living.get(&format!("{}?asOf={time}&limit=1", collection("load"))).await;
    let revision = state.expect(200).revision();
    assert!(revision >= point, "all writes of the millisecond count");
    let folder = cluster.spare("restored-at-a-time");
    let told = backups.restore_as(cluster, RESTORED_TOO, &folder, &["--at", time]);
    let told = succeeds(&told);
    assert!(told.contains(&format!("as of revision {revision}, ")), "{told}");
    cluster.serve(&folder);
    let mut client = Client::new(&cluster.address(RESTORED_TOO), &folder.join("pki"), "admin");
    ready(&mut client).await;
    check_point(written, &mut client, revision).await;

    // A millisecond before it the write is not there.
    let before = OffsetDateTime::parse(time, &Rfc3339).unwrap() - Duration::from_millis(1);
    let before = before.format(&Rfc3339).unwrap();
    let told = backups.restore(cluster, &cluster.spare("restored-before"), &["--at", &before]);
    let told = succeeds(&told);
    let revision = told.split_once("as of revision ").unwrap().1.split_once(',').unwrap().0;
    assert!(revision.parse::<u64>().unwrap() < point, "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restored_cluster_keeps_its_credentials_when_told_to_and_grows() {
    let mut cluster = Cluster::start(1, &[]);
    let backups = Backups::new(&cluster);
    let mut client = cluster.client(1);
    make_namespace(&mut client, "team").await;
    let bob = cluster.spare("bob.kubeconfig");
    let user = ["kubeconfig", "--user", "bob", "--group", "dev"];
    std::fs::write(&bob, Cluster::run(&user, &cluster.node(1))).unwrap();
    let mut stranger = quorate(&["backup", "create", "--to"]);
    stranger.arg(&backups.repository).arg("--key-file").arg(&backups.key);
    let refused = stranger.arg("--kubeconfig").arg(&bob).output().unwrap();
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && told.contains("/backup/identity"), "{told}");
    succeeds(&backups.create(&cluster, 1, &[]));
    let folder = cluster.spare("restored");
    let refused = backups.restore(&cluster, &folder, &["--keep-credentials"]);
    assert!(!refused.status.success());
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(told.contains("the backup has no credentials"), "{told}");
    let path = "/api/v1/namespaces/team/serviceaccounts/default/token";
    let body = serde_json::json!({ "apiVersion": "authentication.svc/v1", "kind": "TokenRequest", "spec": {} });
    let asked = client.send(Method::POST, path, Some(&body)).await.unwrap();
    let token = asked.body["status"]["token"].as_str().map(str::to_owned);
    succeeds(&backups.create(&cluster, 1, &["--with-credentials"]));
    cluster.kill(1);
    succeeds(&backups.restore(&cluster, &folder, &["--keep-credentials"]));
    cluster.serve(&folder);
    // The administrator of the old cluster is one of the new cluster.
    let mut client = Client::new(&cluster.address(RESTORED), &cluster.root().join("pki"), "admin");
    ready(&mut client).await;
    client.get("/api/v1/namespaces/team").await.expect(200);
    if let Some(token) = token {
        let pki = cluster.root().join("pki");
        let mut account = Client::bearer(&cluster.address(RESTORED), &pki, &token);
        account.get("/api/v1/namespaces/team").await.expect(403);
    }
    let fresh = cluster.spare("node-2");
    join_restored(&cluster, &folder, &fresh);
    cluster.serve(&fresh);
    cluster.ready(2).await;
    cluster.client(2).get("/api/v1/namespaces/team").await.expect(200);
}

/// Lets a further node join the restored one, with the addresses of node 2.
fn join_restored(cluster: &Cluster, member: &Path, fresh: &Path) {
    let made = Cluster::run(&["token", "create", "-o", "json"], member);
    let made: serde_json::Value = serde_json::from_str(&made).unwrap();
    let text = |name: &str| made[name].as_str().unwrap().to_owned();
    let (token, hash) = (text("token"), text("caHash"));
    let (at, bind, peer) =
        (cluster.peer_address(RESTORED), cluster.address(2), cluster.peer_address(2));
    let fixed = ["join", &at, "--token", &token, "--ca-hash", &hash, "--bind", &bind];
    let mut command = quorate(&fixed);
    command.args(["--peer-bind", &peer, "--data-dir"]).arg(fresh);
    succeeds(&command.output().unwrap());
}

/// What was acknowledged up to a revision is there, the write that made it too, and nothing that came after it.
async fn check_point(written: &Written, client: &mut Client, point: u64) {
    let list = client.get(&collection("load")).await.expect(200);
    let mut there = std::collections::BTreeMap::new();
    for item in list.body["items"].as_array().unwrap() {
        let name = item["metadata"]["name"].as_str().unwrap().to_owned();
        let revision: u64 = item["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
        let generation =
            item["data"]["generation"].as_str().map(|text| text.parse::<u64>().unwrap());
        assert!(generation.is_none() || revision <= point, "{name} is of revision {revision}");
        there.insert(name, (revision, generation));
    }
    let before = written.revisions.range(..=point);
    assert!(before.clone().count() > 0 && written.last() > point);
    for (revision, (name, generation)) in before {
        let found = there.get(name);
        let kept = found.is_some_and(|(_, found)| *found >= Some(*generation));
        assert!(kept, "{name} at revision {revision}: {found:?}");
    }
    if let Some((name, generation)) = written.revisions.get(&point) {
        assert_eq!(there.get(name), Some(&(point, Some(*generation))), "the last write");
    }
}

pub(crate) async fn ready(client: &mut Client) {
    crate::support::eventually("the restored node is ready", async || {
        let answer = client.send(Method::GET, "/readyz", None).await.ok()?;
        (answer.status == 200).then_some(())
    })
    .await;
}

/// What a command has printed that must have succeeded.
#[track_caller]
pub(crate) fn succeeds(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_namespace_comes_back_into_the_living_cluster() {
    let cluster = Cluster::start(1, &[]);
    let backups = Backups::new(&cluster);
    let mut client = cluster.client(1);
    make_namespace(&mut client, "team").await;
    for name in ["a", "b", "c"] {
        client.post(&collection("team"), &config_map(name, "before")).await.expect(201);
    }
    succeeds(&backups.create(&cluster, 1, &[]));
    let a = format!("{}/a", collection("team"));
    client.send(Method::PUT, &a, Some(&config_map("a", "after"))).await.unwrap().expect(200);
    for name in ["b", "c"] {
        let path = format!("{}/{name}", collection("team"));
        client.send(Method::DELETE, &path, None).await.unwrap().expect(200);
    }
    let config = cluster.root().join("admin.kubeconfig");
    let restore = |arguments: &[&str]| {
        let fixed = ["restore", "--namespace", "team", "--kubeconfig", config.to_str().unwrap()];
        succeeds(&backups.read(&[&fixed, arguments].concat()))
    };
    let plan = restore(&[]);
    for line in ["stays   configmaps/a", "create  configmaps/b", "Nothing was changed"] {
        assert!(plan.contains(line), "{plan}");
    }
    client.get(&format!("{}/b", collection("team"))).await.expect(404);
    restore(&["--yes"]);
    for (name, expect) in [("a", "after"), ("b", "before"), ("c", "before")] {
        let found = client.get(&format!("{}/{name}", collection("team"))).await.expect(200);
        assert_eq!(found.body["data"]["text"], expect, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_leader_backs_up_by_itself() {
    let folder = tempfile::TempDir::new().unwrap();
    let (repository, key) = (folder.path().join("backups"), folder.path().join("backup.key"));
    succeeds(&quorate(&["backup", "key"]).arg(&key).output().unwrap());
    let flags = [
        format!("--backup-to={}", repository.display()),
        format!("--backup-key-file={}", key.display()),
    ];
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let mut cluster = Cluster::start_with(1, &flags, folder, "");
    let backups = Backups { repository, key };
    let mut client = cluster.client(1);
    let last = make_namespace(&mut client, "team").await;
    crate::support::eventually("the repository has the namespace", async || {
        let output = backups.read(&["backup", "list", "-o", "json"]);
        let listed: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
        (listed["lastRevision"].as_u64()? >= last).then_some(())
    })
    .await;
    // The repository has it before the backup is over.
    let metrics = crate::support::eventually("the backup is counted", async || {
        let metrics = client.get("/metrics").await.expect(200).body.to_string();
        metrics.contains("quorate_backup_lag_seconds ").then_some(metrics)
    })
    .await;
    assert!(metrics.contains("quorate_backup_failures_total 0"), "{metrics}");
    succeeds(&backups.read(&["backup", "verify"]));
    let served = quorate(&["inspect", "--data-dir"]).arg(cluster.node(1)).output().unwrap();
    assert!(!served.status.success(), "a folder that is served is refused");
    cluster.stop(1);
    let before = contents(&cluster.node(1));
    let told = Cluster::run(&["inspect", "-o", "json"], &cluster.node(1));
    assert!(contents(&cluster.node(1)) == before, "an inspection changes nothing");
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    let files = told["files"].as_object().unwrap();
    let archive = files.iter().filter(|(name, _)| name.starts_with("archive/"));
    let bytes = archive.map(|(_, tally)| tally["bytes"].as_u64().unwrap()).sum::<u64>();
    assert!(bytes > 0, "{told}");
    assert_eq!((&told["sound"], &told["node"]), (&true.into(), &1.into()));
    assert!(told["state"]["revision"].as_u64().unwrap() >= last, "{told}");
    assert!(told["resources"]["namespaces"]["count"].as_u64().unwrap() >= 4, "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fork_of_a_running_cluster_is_thrown_away() {
    let cluster = Cluster::start(1, &[]);
    let mut client = cluster.client(1);
    make_namespace(&mut client, "team").await;
    let mut command = quorate(&["fork", "--kubeconfig"]);
    command.arg(cluster.root().join("admin.kubeconfig")).stdout(Stdio::piped());
    let mut fork = command.spawn().unwrap();
    let mut lines = BufReader::new(fork.stdout.take().unwrap()).lines().map(Result::unwrap);
    let address = lines.next().unwrap().rsplit_once("https://").unwrap().1.to_owned();
    let config = lines.next().unwrap().rsplit_once('=').unwrap().1.to_owned();
    assert!(lines.next().unwrap().starts_with("ready"));
    let folder = Path::new(&config).parent().unwrap();
    let mut forked = Client::new(&address, &folder.join("pki"), "admin");
    forked.get("/api/v1/namespaces/team").await.expect(200);
    make_namespace(&mut forked, "other").await;
    client.get("/api/v1/namespaces/other").await.expect(404);
    let pid = fork.id().to_string();
    Command::new("kill").args(["-s", "TERM", &pid]).status().unwrap();
    assert!(fork.wait().unwrap().success());
    assert!(!folder.exists());
}

/// What every file in a folder has.
fn contents(folder: &Path) -> std::collections::BTreeMap<PathBuf, Vec<u8>> {
    let mut all = std::collections::BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(contents(&path));
        } else {
            all.insert(path.clone(), std::fs::read(&path).unwrap());
        }
    }
    all
}

fn config_map(name: &str, text: &str) -> serde_json::Value {
    serde_json::json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name },
        "data": { "text": text },
    })
}
