//! A bad manifest that was applied to many objects: found, undone, and the namespace as it was.

use serde_json::json;

use super::*;
use crate::load::make_namespace;

const OBJECTS: usize = 500;
/// Those of them that are deleted in the end.
const DELETED: usize = OBJECTS / 10;

/// The manifest: it changes every object, and takes some away altogether.
async fn roll_out(client: &mut Client) {
    for number in 0..OBJECTS {
        let path = format!("{}?fieldManager=rollout-7", map("shop", &format!("m{number}")));
        let change = json!({"data": {"k": "bad"}, "metadata": {"labels": {"app": null}}});
        patch(client, &path, change).await;
    }
    for number in 0..DELETED {
        delete(client, &map("shop", &format!("m{number}"))).await;
    }
}

/// All objects are there as they were before.
async fn check_is_undone(client: &mut Client) {
    let path = "/api/v1/namespaces/shop/configmaps?labelSelector=app%3Dweb";
    let list = client.get(path).await.expect(200);
    let items = list.body["items"].as_array().unwrap();
    assert_eq!(items.len(), OBJECTS);
    assert!(items.iter().all(|item| item["data"] == json!({"k": "good"})));
}

/// Lines that end, or begin, like this.
fn count(text: &str, fits: impl Fn(&str) -> bool) -> usize {
    text.lines().filter(|line| fits(line)).count()
}

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
    roll_out(&mut client).await;

    // Found: one manager has changed 500 objects, first after this revision.
    let found = past
        .records("changes --since 1h -n shop --type cm --manager rollout-7 --oldest-first -o json");
    assert_eq!(found.len(), OBJECTS);
    let first: u64 = found[0]["revision"].as_str().unwrap().parse().unwrap();
    assert_eq!((first > good, found[0]["changed"][0].as_str()), (true, Some(".data.k")));
    let deleted =
        past.records("changes --since 1h -n shop --verb delete --type configmaps -o json");
    assert_eq!(deleted.len(), DELETED);
    let before = first - 1;
    let diff = past.run(&format!("diff configmaps -n shop --from {before}"));
    assert_eq!(diff.matches("-  k: good").count(), OBJECTS);

    // Undone: everything as it was, what is gone and what is there otherwise.
    let line = format!("undelete configmaps -n shop --as-of {before} --replace");
    let plan = past.run(&format!("{line} --dry-run"));
    assert_eq!(count(&plan, |line| line.ends_with("(dry run)")), OBJECTS);
    let done = past.run(&line);
    assert_eq!(count(&done, |line| line.ends_with(" undeleted")), DELETED, "{done}");
    assert_eq!(count(&done, |line| line.ends_with(" put back")), OBJECTS - DELETED, "{done}");
    check_is_undone(&mut client).await;
    // Once more changes nothing.
    let again = past.run(&line);
    assert!(again.contains("\n0 brought back, "), "{again}");

    // The same with a backup that was made before it.
    let place = back_up(&cluster, &past);
    roll_out(&mut client).await;
    is_undone_from_a_backup(&past, &place, &mut client).await;
}

async fn is_undone_from_a_backup(past: &PastCommands, place: &str, client: &mut Client) {
    // What is gone comes back from the archive, what is there is left alone.
    let found = past
        .records("changes --since 1h -n shop --manager rollout-7 --oldest-first -o json --type cm");
    let first: u64 = found[OBJECTS]["revision"].as_str().unwrap().parse().unwrap();
    let done = past.run(&format!("undelete configmaps -n shop --as-of {}", first - 1));
    assert_eq!(count(&done, |line| line.ends_with(" undeleted")), DELETED, "{done}");

    // The rest comes back from the backup; the plan first.
    let line = format!("restore --namespace shop {place}");
    let kept = past.run(&line);
    assert_eq!(count(&kept, |line| line.starts_with("  stays   configmaps/m")), OBJECTS, "{kept}");
    let plan = past.run(&format!("{line} --replace"));
    let replaced = |line: &str| line.starts_with("  replace configmaps/m");
    assert_eq!(count(&plan, replaced), OBJECTS - DELETED, "{plan}");
    assert!(plan.ends_with("Nothing was changed. To carry it out, add --yes.\n"), "{plan}");
    let first = client.get(&map("shop", &format!("m{DELETED}"))).await.expect(200).body;
    assert_eq!(first["data"]["k"], "bad", "a plan changes nothing");
    assert_eq!(count(&past.run(&format!("{line} --replace --yes")), replaced), OBJECTS - DELETED);
    check_is_undone(client).await;
    let again = past.run(&format!("{line} --replace"));
    assert_eq!(count(&again, |line| !line.starts_with("  stays ")), 2, "{again}");
}
