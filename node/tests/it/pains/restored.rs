//! A restore under clients that know more than the backup (etcd#16028, etcd#14303): after `etcdctl
//! snapshot restore` revisions count on from where the backup was, so that informers keep caches of
//! what never was, and stale writers pass their checks.

use http::Method;
use serde_json::{Value, json};

use crate::backup::{Backups, ready, succeeds};
use crate::load::{collection, make_namespace};
use crate::support::{Answer, Client, Cluster};

/// The first line of a watch after a revision.
async fn watch_error(client: &mut Client, revision: u64) -> Value {
    let path =
        format!("{}?watch=1&resourceVersion={revision}&timeoutSeconds=5", collection("load"));
    let answer = client.send(Method::GET, &path, None).await.unwrap();
    match answer.body {
        Value::String(lines) => serde_json::from_str(lines.lines().next().unwrap()).unwrap(),
        body => body,
    }
}

async fn put(client: &mut Client, name: &str, at: Option<u64>, value: &str) -> Answer {
    let mut metadata = json!({ "name": name });
    if let Some(at) = at {
        metadata["resourceVersion"] = at.to_string().into();
    }
    let body = json!({ "metadata": metadata, "data": { "value": value } });
    let path = format!("{}/{name}", collection("load"));
    client.send(Method::PUT, &path, Some(&body)).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn informers_notice_a_restore_and_stale_writes_fail() {
    let mut cluster = Cluster::start(1, &[]);
    let backups = Backups::new(&cluster);
    let mut client = cluster.client(1);
    make_namespace(&mut client, "load").await;
    for name in ["changed", "deleted", "kept"] {
        let body = json!({ "metadata": { "name": name }, "data": { "value": "backed up" } });
        client.post(&collection("load"), &body).await.expect(201);
    }
    let kept = client.get(&format!("{}/kept", collection("load"))).await.revision();
    succeeds(&backups.create(&cluster, 1, &["--with-credentials"]));
    // What a client still sees after the backup, and holds in its cache.
    let changed = put(&mut client, "changed", None, "later").await.expect(200).revision();
    let deleted = format!("{}/deleted", collection("load"));
    client.send(Method::DELETE, &deleted, None).await.unwrap().expect(200);
    let body = json!({ "metadata": { "name": "later" } });
    client.post(&collection("load"), &body).await.expect(201);
    let cached = client.get(&collection("load")).await.revision();

    cluster.kill(1);
    let folder = cluster.spare("restored");
    succeeds(&backups.restore_as(&cluster, 1, &folder, &["--keep-credentials"]));
    cluster.serve(&folder);
    // The same address and credentials: nothing else tells the client of the restore.
    ready(&mut client).await;
    let told = watch_error(&mut client, cached).await;
    let status = if told["type"] == "ERROR" { &told["object"] } else { &told };
    assert_eq!((&status["code"], &status["reason"]), (&json!(410), &json!("Expired")), "{told}");
    // The informer lists anew, not older than what it has.
    let list = format!(
        "{}?resourceVersion={cached}&resourceVersionMatch=NotOlderThan",
        collection("load")
    );
    let list = client.get(&list).await.expect(200);
    assert!(list.revision() > cached + 1_000_000, "{cached}, then {}", list.revision());
    let items = list.body["items"].as_array().unwrap();
    let value = |name: &str| {
        items
            .iter()
            .find(|item| item["metadata"]["name"] == name)
            .map(|item| &item["data"]["value"])
    };
    let backed_up = Some(&json!("backed up"));
    assert_eq!(
        [value("changed"), value("deleted"), value("kept"), value("later")],
        [backed_up, backed_up, backed_up, None]
    );
    // A writer that has seen what is gone does not overwrite; one that has seen what is there does.
    put(&mut client, "changed", Some(changed), "by a stale writer").await.expect(409);
    put(&mut client, "kept", Some(kept), "by a current writer").await.expect(200);
    let next = put(&mut client, "changed", None, "new").await.expect(200).revision();
    assert!(next > cached + 1_000_000, "revision {next} may have been used");
}
