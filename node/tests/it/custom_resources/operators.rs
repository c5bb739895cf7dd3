//! What an operator has to do in these tests: for each custom object it keeps a ConfigMap of the same
//! name that says what the object wants, and tells in the object's status of which generation that is.

use http::Method;
use serde_json::{Value, json};

use crate::support::{Client, Cluster, eventually};

/// Where the operators' ConfigMaps are.
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
/// Objects that are there from the beginning.
const AT_FIRST: usize = 4;
/// How often the leader is killed.
const KILLS: usize = 2;

/// The custom resource of an operator.
pub(super) struct Craft {
    /// The objects of the namespace `default`.
    pub(super) collection: &'static str,
    pub(super) kind: &'static str,
    /// A field of `spec` that the ConfigMap repeats, and its value.
    pub(super) text: (&'static str, &'static str),
    /// A field of `spec` that changes, and that the ConfigMap repeats.
    pub(super) number: &'static str,
}

/// Makes, changes and deletes objects while the leader is killed again and again, and waits each time
/// until the operator has done what is wanted.
pub(super) async fn kept_through_changes_of_leader(cluster: &mut Cluster, craft: &Craft) {
    for number in 0..AT_FIRST {
        send(cluster, Method::POST, craft.collection, &craft.object(number)).await;
    }
    craft.settled(cluster, AT_FIRST).await;
    for kill in 1..=KILLS {
        let leader = cluster.leader(1).await;
        cluster.kill(leader);
        let survivor = leader % 3 + 1;
        eventually("another leader", async || {
            cluster.status(&cluster.node(survivor))?["leader"].as_u64().filter(|new| *new != leader)
        })
        .await;
        let folder = cluster.node(leader);
        cluster.serve(&folder);
        cluster.ready(leader).await;
        for number in kill..AT_FIRST + kill - 1 {
            let change = json!({ "spec": { craft.number: 10 * kill + number } });
            send(cluster, Method::PATCH, &craft.path(number), &change).await;
        }
        let added = craft.object(AT_FIRST + kill - 1);
        send(cluster, Method::POST, craft.collection, &added).await;
        send(cluster, Method::DELETE, &craft.path(kill - 1), &json!({})).await;
        craft.settled(cluster, AT_FIRST).await;
    }
    send(cluster, Method::DELETE, craft.collection, &json!({})).await;
    craft.settled(cluster, 0).await;
}

impl Craft {
    fn object(&self, number: usize) -> Value {
        let (text, value) = self.text;
        json!({
            "apiVersion": "craft.example.com/v1",
            "kind": self.kind,
            "metadata": { "name": format!("made-{number}") },
            "spec": { text: value, self.number: number },
        })
    }

    fn path(&self, number: usize) -> String {
        format!("{}/made-{number}", self.collection)
    }

    /// Waits until there are so many objects, each served by the operator as it is now, and no other
    /// ConfigMap of the operator's.
    async fn settled(&self, cluster: &Cluster, count: usize) {
        let mut client = cluster.client(1);
        let kind = self.kind;
        eventually(&format!("{count} objects of kind {kind} are as wanted"), async || {
            let objects = items(&mut client, self.collection).await?;
            let maps = items(&mut client, MAPS).await?;
            let made: Vec<&Value> =
                maps.iter().filter(|map| map["data"][self.text.0].is_string()).collect();
            let is_served = |object: &Value| {
                let number = &object["spec"][self.number];
                object["status"]["generation"] == object["metadata"]["generation"]
                    && object["metadata"]["deletionTimestamp"].is_null()
                    && made.iter().any(|map| {
                        map["metadata"]["name"] == object["metadata"]["name"]
                            && map["data"][self.number].as_str() == Some(&*number.to_string())
                    })
            };
            (objects.len() == count && made.len() == count && objects.iter().all(is_served))
                .then_some(())
        })
        .await;
    }
}

/// Sends a write until it is acknowledged, which it must be.
async fn send(cluster: &Cluster, method: Method, path: &str, body: &Value) {
    let mut client = cluster.client(1);
    eventually(&format!("{method} {path}"), async || {
        let answer = client.send(method.clone(), path, Some(body)).await.ok()?;
        [200, 201].contains(&answer.status).then_some(())
    })
    .await;
}

async fn items(client: &mut Client, path: &str) -> Option<Vec<Value>> {
    let answer = client.send(Method::GET, path, None).await.ok()?;
    answer.body["items"].as_array().cloned()
}
