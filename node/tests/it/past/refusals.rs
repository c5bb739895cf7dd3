//! What the commands say where they cannot do what is asked.

use serde_json::json;

use super::*;
use crate::load::make_namespace;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn errors_say_what_to_change() {
    let cluster = Cluster::start(1, &["--naming", "kubernetes"]);
    let past = PastCommands::new(&cluster);
    let mut client = cluster.client(1);
    make_namespace(&mut client, "shop").await;
    let check = |line: &str, expect: &str| {
        let told = past.fail(line);
        assert!(told.contains(expect), "{line}: {told}");
        assert_eq!(told.lines().count(), 1, "{line}: {told}");
    };
    check("get gadgets --as-of 1h", "the server doesn't have a resource type \"gadgets\"");
    check("history cm nothing -n shop", "(NotFound)");
    check("undelete cm nothing -n shop", "(NotFound)");
    check("undelete configmaps -n shop", "name one of the configmaps, or say with --as-of");
    check("undelete ns default", "has not been deleted");
    check("get cm --as-of 1h --context other", "no kubeconfig has a context 'other'");
    check("history cm", "name an object: configmaps NAME");
    let missing = PastCommands::with(&cluster.root().join("missing.kubeconfig"));
    let told = missing.fail("changes");
    assert!(told.contains("no kubeconfig names a current context"), "{told}");

    // A user without rights, by impersonation.
    check("get secrets -n shop --as-of 1h --as joe", "(Forbidden)");
    check("changes --as joe", "(Forbidden)");
    let line = "get ns shop --as system:admin --as-group system:masters -o name";
    assert_eq!(past.run(line), "namespace/shop\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refused_writes_are_told() {
    let cluster = Cluster::start(1, &["--naming", "kubernetes"]);
    let past = PastCommands::new(&cluster);
    let mut client = cluster.client(1).saying(&[("impersonate-user", "joe")]);
    let object = json!({"metadata": {"name": "a"}});
    client.post("/api/v1/namespaces/default/configmaps", &object).await.expect(403);
    let table = past.run("changes --refused --user joe");
    let row = table.lines().nth(1).unwrap().split_whitespace().collect::<Vec<_>>();
    assert_eq!(row, ["1", "403", "Forbidden", "create", "configmaps", "joe"], "{table}");
    assert!(table.contains("configmaps"), "{table}");
    let record = &past.records("changes --refused --user joe -o json")[0];
    assert_eq!(record["items"][0]["code"], 403);
}
