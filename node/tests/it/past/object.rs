//! One object: what it was, its history, its fields' origins, and its return.

use serde_json::json;

use super::*;
use crate::load::make_namespace;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_is_followed_and_comes_back() {
    let cluster = Cluster::start(1, &["--naming", "kubernetes"]);
    let past = PastCommands::new(&cluster);
    let mut client = cluster.client(1);
    make_namespace(&mut client, "shop").await;
    let first = version(&make_map(&mut client, "shop", "settings", "old").await);
    let changed =
        patch(&mut client, &map("shop", "settings"), json!({"data": {"k": "new", "more": "1"}}))
            .await;
    reads(&past, first, version(&changed));
    differences(&past, first, version(&changed));
    origins(&past, first);
    delete(&mut client, &map("shop", "settings")).await;
    comes_back(&past, &mut client, &changed).await;
    history(&past);
    is_put_back(&past, &mut client, first).await;
}

fn reads(past: &PastCommands, first: u64, last: u64) {
    let value = |line: &str| past.run(line);
    let old = value(&format!("get cm settings -n shop --as-of {first} -o yaml"));
    assert!(old.contains("\n  k: old\n") && !old.contains("managedFields"), "{old}");
    let now = value("get configmap/settings -n shop -o json");
    assert!(now.contains("\"k\": \"new\""), "{now}");
    let names = value(&format!("get configmaps -n shop --as-of {last} -l app=web -o name"));
    assert_eq!(names, "configmap/settings\n");
    let before = first - 1;
    assert_eq!(value(&format!("get configmaps -A --as-of {before} -l app=web -o name")), "");
    let table = value(&format!("get configmaps -A --as-of {first} -l app=web"));
    let mut lines = table.lines();
    assert!(lines.next().unwrap().starts_with("NAMESPACE   NAME       DATA"), "{table}");
    assert!(lines.next().unwrap().starts_with("shop        settings   1 "), "{table}");
    assert_eq!(lines.next(), None, "{table}");
    let gone = past.fail(&format!("get cm settings -n shop --as-of {before}"));
    assert!(gone.contains("\"settings\" not found (NotFound)"), "{gone}");
    let future = past.fail("get cm settings -n shop --as-of 999999999");
    assert!(future.contains("BadRequest"), "{future}");
}

fn differences(past: &PastCommands, first: u64, last: u64) {
    let one = past.run(&format!("diff cm settings -n shop --from {first} --to {last}"));
    let lines: Vec<&str> = one.lines().collect();
    assert_eq!(lines[0], format!("--- configmap/settings in shop\t{first}"));
    assert_eq!(lines[1], format!("+++ configmap/settings in shop\t{last}"));
    for line in ["-  k: old", "+  k: new", "+  more: \"1\""] {
        assert!(lines.contains(&line), "{one}");
    }
    let all = past.run(&format!("diff -n shop --from {}", first - 1));
    assert!(
        all.contains("--- /dev/null\t") && all.contains("+++ configmap/settings in shop\tnow"),
        "{all}"
    );
    let none = past.command(&format!("diff cm -n shop --from {last}")).output().unwrap();
    assert!(none.status.success() && none.stdout.is_empty(), "{}", super::all(&none));
}

fn origins(past: &PastCommands, first: u64) {
    let blame = past.run("blame cm settings -n shop");
    let line = |text: &str| {
        let found = blame.lines().find(|line| line.ends_with(&format!("│ {text}")));
        found.unwrap_or_else(|| panic!("{text}: {blame}")).to_owned()
    };
    assert!(
        line("  more: \"1\"").contains("admin") && line("  more: \"1\"").contains("patch"),
        "{blame}"
    );
    assert!(line("    app: web").contains("create"), "{blame}");
    let older = past.run(&format!("blame cm settings -n shop --as-of {first} -o wide"));
    assert!(older.contains("  k: old") && older.contains(&first.to_string()), "{older}");
}

/// It is there again, under another uid, and only once.
async fn comes_back(past: &PastCommands, client: &mut Client, was: &Value) {
    let dry = past.run("undelete cm settings -n shop --dry-run");
    assert_eq!(dry, "configmap/settings in shop undeleted (dry run)\n");
    assert_eq!(client.get(&map("shop", "settings")).await.status, 404);
    past.run("undelete cm settings -n shop");
    let now = client.get(&map("shop", "settings")).await.expect(200).body;
    assert_eq!(
        (&now["data"], &now["metadata"]["labels"]),
        (&was["data"], &was["metadata"]["labels"])
    );
    assert_ne!(uid(&now), uid(was));
    let again = past.fail("undelete cm settings -n shop");
    assert!(again.contains("configmap/settings in shop is there; --replace"), "{again}");
}

fn history(past: &PastCommands) {
    let records = past.records("history cm settings -n shop -o json");
    let types: Vec<_> = records.iter().map(|change| change["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["ADDED", "DELETED", "MODIFIED", "ADDED"]);
    let table = past.run("history cm settings -n shop");
    let words = |at: usize| table.lines().nth(at).unwrap().split_whitespace().collect::<Vec<_>>();
    assert_eq!(words(0), ["REVISION", "TIME", "AGE", "VERB", "USER", "MANAGER", "CHANGED"]);
    let told: Vec<_> = (1..5).map(|at| (words(at)[3], *words(at).last().unwrap())).collect();
    let expect = [
        ("create", "(created)"),
        ("delete", "(deleted)"),
        ("patch", ".data.more"),
        ("create", "(created)"),
    ];
    assert_eq!(told, expect, "{table}");
    assert_eq!(past.run("history cm settings -n shop --limit 1").lines().count(), 2);
}

/// An object that is there is put back as it was, if that is asked for.
async fn is_put_back(past: &PastCommands, client: &mut Client, first: u64) {
    let line = format!("undelete cm settings -n shop --as-of {first} --replace");
    assert_eq!(past.run(&line), "configmap/settings in shop put back\n");
    let now = client.get(&map("shop", "settings")).await.expect(200).body;
    assert_eq!(now["data"], json!({"k": "old"}));
    assert_eq!(past.run(&line), "configmap/settings in shop unchanged\n");
}
