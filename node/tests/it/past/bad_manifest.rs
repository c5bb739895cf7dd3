//! A bad manifest that was applied to many objects: found, undone, and the namespace as it was.

use serde_json::json;

use super::*;
use crate::load::make_namespace;

const OBJECTS: usize = 500;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_manifest_is_found_and_undone() {
    let cluster = Cluster::start(1, &["--naming", "kubernetes"]);
    let past = PastCommands::new(&cluster);
    let mut client = cluster.client(1);
    make_namespace(&mut client, "shop").await;
    let mut good = 0;
    for number in 0..OBJECTS {
        good = version(&make_map(&mut client, "shop", &format!("m{number}"), "good").await);
    }
    for number in 0..OBJECTS {
        let path = format!("{}?fieldManager=rollout-7", map("shop", &format!("m{number}")));
        patch(
            &mut client,
            &path,
            json!({"data": {"k": "bad"}, "metadata": {"labels": {"app": null}}}),
        )
        .await;
    }
    // And some that it took away altogether.
    for number in 0..OBJECTS / 10 {
        delete(&mut client, &map("shop", &format!("m{number}"))).await;
    }

    // Found: one manager has changed 500 objects, first after this revision.
    let found = past
        .records("changes --since 1h -n shop --type cm --manager rollout-7 --oldest-first -o json");
    assert_eq!(found.len(), OBJECTS);
    let first: u64 = found[0]["revision"].as_str().unwrap().parse().unwrap();
    assert_eq!((first > good, found[0]["changed"][0].as_str()), (true, Some(".data.k")));
    let deleted =
        past.records("changes --since 1h -n shop --verb delete --type configmaps -o json");
    assert_eq!(deleted.len(), OBJECTS / 10);
    let before = first - 1;
    let diff = past.run(&format!("diff configmaps -n shop --from {before}"));
    assert_eq!(diff.matches("-  k: good").count(), OBJECTS);

    // Undone: everything as it was, what is gone and what is there otherwise.
    let line = format!("undelete configmaps -n shop --as-of {before} --replace");
    let plan = past.run(&format!("{line} --dry-run"));
    assert_eq!(plan.lines().filter(|line| line.ends_with("(dry run)")).count(), OBJECTS);
    let done = past.run(&line);
    let count = |what: &str| done.lines().filter(|line| line.ends_with(what)).count();
    assert_eq!(
        (count(" undeleted"), count(" put back")),
        (OBJECTS / 10, OBJECTS - OBJECTS / 10),
        "{done}"
    );
    let list =
        client.get("/api/v1/namespaces/shop/configmaps?labelSelector=app%3Dweb").await.expect(200);
    let items = list.body["items"].as_array().unwrap();
    assert_eq!(items.len(), OBJECTS);
    assert!(items.iter().all(|item| item["data"] == json!({"k": "good"})));
    // Once more changes nothing.
    let again = past.run(&line);
    assert!(again.contains("\n0 brought back, "), "{again}");
}
