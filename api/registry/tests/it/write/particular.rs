//! A kind that differs from others in everything that a strategy can say of its writes.

use super::*;

/// A kind that overrides every default of a strategy.
#[derive(Debug)]
struct Particular;

impl Strategy for Particular {
    fn create_on_update(&self) -> bool {
        true
    }

    fn unconditional_update(&self) -> bool {
        false
    }

    fn counts_generations(&self) -> bool {
        true
    }
}

#[tokio::test]
async fn a_kind_may_ask_for_versions_count_generations_and_be_created_by_updates() {
    let cluster = Cluster::new().await;
    let graph = &cluster.graph;
    let plain = builtin::catalogue(graph).find("", "v1", "configmaps").cloned().unwrap();
    let resource = Resource { strategy: Arc::new(Particular), ..Arc::into_inner(plain).unwrap() };
    let put = async |version: String, uid: &str, data: &str| {
        let metadata = json!({"name": "a", "resourceVersion": version, "uid": uid});
        let object =
            cluster.decoded("configmaps", json!({"metadata": metadata, "data": {"k": data}}));
        let target = Target { resource: &resource, namespace: Some("n"), name: "a" };
        cluster.writer.put(target, REPLACE, &anybody, |_| Ok(object.clone())).await
    };
    let generation = || cluster.get("configmaps", "a")["metadata"]["generation"].clone();
    assert_eq!(
        refused(put(String::new(), "u", "1").await),
        refusal(409, "Conflict"),
        "no such object"
    );
    let created = put(String::new(), "", "1").await.unwrap();
    assert_eq!((created.outcome, generation()), (Outcome::Created, json!(1)));
    for anything in ["", "0"] {
        assert_eq!(refused(put(anything.into(), "", "2").await), refusal(422, "Invalid"));
    }
    let changed = put(created.revision.to_string(), "", "2").await.unwrap();
    assert_eq!((changed.outcome, generation()), (Outcome::Updated, json!(2)));
    let same = put(changed.revision.to_string(), "", "2").await.unwrap();
    assert_eq!((same.outcome, generation()), (Outcome::Unchanged, json!(2)));
}
