//! The chapters about backups, with a bucket on this machine in place of the operator's.

#[path = "../../../../raft/backup/tests/it/s3_server.rs"]
#[expect(dead_code, reason = "the tests of backups use more of it")]
mod s3_server;

use serde_json::Value;

use self::s3_server::S3Server;
use super::chapter::Chapter;
use super::keeping::{colour, shop};
use super::sandbox::{Sandbox, until};
use super::starting::cluster;

/// A cluster of one member that has a shop, and a bucket.
async fn cluster_with_bucket() -> Option<(Sandbox, S3Server)> {
    let mut sandbox = cluster(1)?;
    let server = S3Server::start().await;
    let place = [
        ("AWS_ENDPOINT_URL", format!("http://{}", server.address)),
        ("AWS_ALLOW_HTTP", "true".to_owned()),
    ];
    sandbox.variables.extend(place.map(|(name, value)| (name.to_owned(), value)));
    shop(&mut sandbox);
    Some((sandbox, server))
}

/// Every revision that can be restored is at most this.
fn last_revision(sandbox: &mut Sandbox) -> u64 {
    let list = "quorate backup list --from s3://backups/cluster --key-file /etc/quorate/backup.key -o json";
    let told: Value = serde_json::from_str(&sandbox.run(1, list)).unwrap();
    told["lastRevision"].as_u64().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn backups() {
    let Some((mut sandbox, server)) = cluster_with_bucket().await else { return };
    let mut chapter = Chapter::open("Backups");
    let told = chapter.run_with(&mut sandbox, "quorate backup verify");
    assert!(told.contains("1 bases restored"), "{told}");
    assert!(server.state.objects.lock().unwrap().keys().all(|key| key.starts_with("cluster/")));
    chapter.run_to_the_end(&mut sandbox);
    let before = last_revision(&mut sandbox);
    sandbox.run(1, "kubectl create configmap more --from-literal=a=b -n shop");
    let path = "kubectl get configmap more -n shop -o jsonpath={.metadata.resourceVersion}";
    let written: u64 = sandbox.run(1, path).parse().unwrap();
    assert!(written > before);
    until("the leader has backed the change up", || {
        (last_revision(&mut sandbox) >= written).then_some(())
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restore() {
    let Some((mut sandbox, _server)) = cluster_with_bucket().await else { return };
    let mut chapter = Chapter::open("Backups");
    chapter.run_until(&mut sandbox, "quorate backup list");
    chapter.leave();
    sandbox.kill(1);
    sandbox.run(1, "find /var/lib/quorate -mindepth 1 -delete");
    let mut chapter = Chapter::open("Restore");
    chapter.run_with(&mut sandbox, "quorate status");
    assert_eq!(colour(&mut sandbox), "blue");
    sandbox.run(1, "kubectl delete namespace shop");
    let told = chapter.run_with(&mut sandbox, "quorate restore");
    assert!(told.contains("create  configmaps/settings"), "{told}");
    let (there, _) = sandbox.try_run(1, "kubectl get namespace shop");
    assert!(!there, "the first command changes nothing");
    chapter.run_until(&mut sandbox, "quorate fork");
    assert_eq!(colour(&mut sandbox), "blue");
    let told = chapter.run_to_the_end(&mut sandbox);
    let config = told.lines().find_map(|line| line.strip_prefix("export KUBECONFIG=")).unwrap();
    let ask = format!("kubectl --kubeconfig {config} get configmap settings -n shop -o name");
    assert_eq!(sandbox.run(1, &ask), "configmap/settings\n");
    sandbox.end_lasting();
    assert!(!std::path::Path::new(config).exists(), "Ctrl-C removes the fork");
}
