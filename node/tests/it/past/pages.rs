//! A history of more versions than one page has.

use serde_json::json;

use super::*;

/// More than a page of the command.
const VERSIONS: usize = 250;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_history_of_several_pages_is_whole() {
    let cluster = Cluster::start(1, &["--naming", "kubernetes"]);
    let past = PastCommands::new(&cluster);
    let mut client = cluster.client(1);
    make_map(&mut client, "default", "busy", "0").await;
    for number in 1..VERSIONS {
        patch(&mut client, &map("default", "busy"), json!({"data": {"k": number.to_string()}}))
            .await;
    }
    let values = |line: &str| -> Vec<String> {
        let records = past.records(line);
        records.iter().map(|change| change["object"]["data"]["k"].to_string()).collect()
    };
    let expect: Vec<String> = (0..VERSIONS).rev().map(|number| format!("\"{number}\"")).collect();
    assert_eq!(values("history cm busy -o json"), expect);
    assert_eq!(values("history cm busy -o json --limit 220"), expect[..220]);
    assert_eq!(past.run("history cm busy").lines().count(), VERSIONS + 1);
    // The server gives as many at a time as it is asked for, up to 1,000.
    let path = format!("{}?history=true&objects=false&limit=1000", map("default", "busy"));
    let page = client.get(&path).await.expect(200).body;
    assert_eq!(page["items"].as_array().unwrap().len(), VERSIONS);
    assert!(page["metadata"].get("continue").is_none(), "{}", page["metadata"]);
}
