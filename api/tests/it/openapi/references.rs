//! References in the OpenAPI documents: each has its target there, and no two operations have one
//! name, over all that a server serves.

use std::collections::BTreeSet;

use quorate_meta::Naming;
use quorate_store::Retention;
use serde_json::Value;

use crate::harness::Server;

/// The texts that a document has under a key, wherever that is.
fn texts<'d>(document: &'d Value, key: &str, found: &mut Vec<&'d str>) {
    match document {
        Value::Object(map) => {
            for (name, value) in map {
                match value {
                    Value::String(text) if name == key => found.push(text),
                    other => texts(other, key, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| texts(item, key, found)),
        _ => {}
    }
}

/// Checks a document that has its schemas at this place, and gives the names of its operations.
pub(crate) fn check(url: &str, document: &Value, schemas: &str) -> Vec<String> {
    let defined: BTreeSet<String> = document
        .pointer(schemas)
        .and_then(Value::as_object)
        .expect("schemas")
        .keys()
        .cloned()
        .collect();
    let (mut references, mut ids) = (Vec::new(), Vec::new());
    texts(document, "$ref", &mut references);
    texts(document, "operationId", &mut ids);
    let prefix = format!("#{schemas}/");
    let named = |text: &str| text.strip_prefix(prefix.as_str()).unwrap_or(text).to_owned();
    let used: BTreeSet<String> = references.into_iter().map(named).collect();
    let lost: Vec<&String> = used.difference(&defined).collect();
    assert!(lost.is_empty(), "{url} refers to what it does not define: {lost:?}");
    let idle: Vec<&String> = defined.difference(&used).collect();
    assert!(idle.is_empty(), "{url} defines what nothing refers to: {idle:?}");
    ids.sort_unstable();
    let twice: Vec<_> = ids.windows(2).filter(|pair| pair[0] == pair[1]).collect();
    assert!(!ids.is_empty() && twice.is_empty(), "{url}: {twice:?}");
    ids.into_iter().map(str::to_owned).collect()
}

#[tokio::test]
async fn references_lead_somewhere_and_operations_have_names_of_their_own() {
    for naming in [Naming::Svc, Naming::Kubernetes] {
        let server = Server::with(naming, Retention::default());
        let whole = check("/openapi/v2", &server.get("/openapi/v2").await.json(), "/definitions");
        assert!(whole.len() > 300, "{} operations", whole.len());
        let mut parts = Vec::new();
        for part in server.get("/openapi/v3").await.json()["paths"].as_object().unwrap().values() {
            let url = part["serverRelativeURL"].as_str().unwrap();
            parts.extend(check(url, &server.get(url).await.json(), "/components/schemas"));
        }
        parts.sort_unstable();
        assert_eq!(parts, whole, "the parts together have the operations of the whole");
    }
}
