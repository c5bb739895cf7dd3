//! Changes that only renew a lease: left out and counted, unless they are asked for.

use serde_json::json;

use super::*;

const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn renewals_are_shown_when_they_are_asked_for() {
    let cluster = Cluster::start(1, &["--naming", "kubernetes"]);
    let past = PastCommands::new(&cluster);
    let mut client = cluster.client(1);
    let renewed = |second: u32| json!({"spec": {"holderIdentity": "one", "renewTime": format!("2026-01-01T00:00:{second:02}.000000Z")}});
    let mut lease = renewed(0);
    lease["metadata"] = json!({"name": "leader"});
    create(&mut client, LEASES, lease).await;
    for second in [1, 2] {
        patch(&mut client, &format!("{LEASES}/leader"), renewed(second)).await;
    }
    let shown = |line: &str| {
        let output = past.command(line).output().unwrap();
        assert!(output.status.success(), "{line}\n{}", all(&output));
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        (String::from_utf8_lossy(&output.stdout).lines().count(), told)
    };
    let (lines, told) = shown("changes -n default --name leader");
    assert_eq!(lines, 2, "the heading and the creation");
    assert!(told.contains("renewals of leases not shown: 2 (--all shows them)"), "{told}");
    for line in
        ["changes -n default --name leader --all", "changes -n default --name leader --type lease"]
    {
        assert_eq!(shown(line), (4, String::new()), "{line}");
    }
}
