//! Lists of a large collection with selectors: the same whether they are scanned or looked up, page
//! by page, while objects change.

mod chosen;
mod compared;
mod definitions;

use http::Method;
use quorate_api::SelectorIndexOptions;
use serde_json::{Value, json};

use crate::harness::Server;

const MAPS: &str = "/api/v1/namespaces/a/configmaps";
/// Enough for an index.
const OBJECTS: usize = 2100;

/// An index is used for the smallest collection.
const ALWAYS: SelectorIndexOptions =
    SelectorIndexOptions { max_bytes: 64 << 20, min_objects: 0, objects_per_candidate: 1 };
const NEVER: SelectorIndexOptions = SelectorIndexOptions { min_objects: usize::MAX, ..ALWAYS };

/// Lists that a server has answered like this.
async fn count(server: &Server, result: &str) -> u64 {
    sample(server, &format!("quorate_selector_index_lists_total{{result=\"{result}\"}}")).await
}

/// A number that the server tells of itself.
async fn sample(server: &Server, name: &str) -> u64 {
    let metrics = server.get("/metrics").await.text();
    let line = metrics.lines().find_map(|line| line.strip_prefix(name));
    line.map_or(0, |value| value.trim().parse().expect("a whole number"))
}

/// The names on all pages, with the number of pages.
async fn pages(server: &Server, query: &str) -> (Vec<String>, usize) {
    let (mut names, mut count, mut token) = (Vec::new(), 0, String::new());
    loop {
        let page = server.get(&format!("{MAPS}?{query}&continue={token}")).await;
        assert_eq!(page.status, 200, "{}", page.text());
        names.extend(page.names());
        count += 1;
        let page: Value = page.json();
        match page["metadata"]["continue"].as_str() {
            Some(next) if !next.is_empty() => next.clone_into(&mut token),
            _ => return (names, count),
        }
    }
}

#[tokio::test]
async fn what_is_looked_up_is_what_a_scan_finds() {
    let server = Server::with_namespace().await;
    let group = |number: usize| (number % 300).to_string();
    let name = |number: usize| format!("m{number:04}");
    for number in 0..OBJECTS {
        server.create("a", &name(number), &[("group", &group(number)), ("app", "x")]).await;
    }
    let of_group = |wanted: &[usize]| -> Vec<String> {
        (0..OBJECTS).filter(|number| wanted.contains(&(number % 300))).map(name).collect()
    };
    let check = async |selector: &str, limit: usize, expect: &[String]| {
        // Scanned, made, looked up.
        for _ in 0..3 {
            let query = format!("labelSelector={selector}&limit={limit}");
            let (names, count) = pages(&server, &query).await;
            assert_eq!(names, expect, "{selector} {limit}");
            let full = if limit == 0 { 1 } else { expect.len().div_ceil(limit).max(1) };
            assert_eq!(count, full, "{selector} {limit}");
        }
    };
    let seven = of_group(&[7]);
    check("group%3D7", 0, &seven).await;
    check("group%3D7", 3, &seven).await;
    check("group%3D7,app%3Dx", seven.len(), &seven).await;
    check("group+in+(7,8)", 5, &of_group(&[7, 8])).await;
    check("group%3Dnone", 5, &[]).await;
    check(
        "app%3Dx,group+notin+(1)",
        0,
        &(0..OBJECTS).filter(|n| n % 300 != 1).map(name).collect::<Vec<_>>(),
    )
    .await;

    // A page shows the state of the first one, whatever leaves and joins the group meanwhile.
    let first = server.get(&format!("{MAPS}?labelSelector=group%3D7&limit=2")).await.json();
    let token = first["metadata"]["continue"].as_str().unwrap();
    let label = async |name: &str, value: &str| {
        server.patch(name, json!({"metadata": {"labels": {"group": value}}})).await
    };
    label(&seven[2], "8").await;
    label(&name(8), "7").await;
    server.delete(&seven[3]).await;
    let now: Vec<String> = [seven[0].clone(), name(8), seven[1].clone()]
        .into_iter()
        .chain(seven[4..].iter().cloned())
        .collect();
    check("group%3D7", 4, &now).await;
    let rest = server.get(&format!("{MAPS}?labelSelector=group%3D7&continue={token}")).await;
    assert_eq!(rest.names(), seven[2..]);

    let start = "watch=1&timeoutSeconds=1&labelSelector=group%3D7";
    let events = server.watch(&format!("{MAPS}?{start}")).await.all().await;
    let added: Vec<String> = now.iter().map(|name| format!("ADDED {name}")).collect();
    assert_eq!(events, added);
    let gone =
        server.send(Method::DELETE, &format!("{MAPS}?labelSelector=group%3D7"), &[], "").await;
    assert_eq!(gone.status, 200, "{}", gone.text());
    check("group%3D7", 0, &[]).await;
    assert_eq!(server.get(MAPS).await.names().len(), OBJECTS - 1 - now.len());
}
