//! Principals that are valid no more: their account, the object that their token is bound to, the
//! key that signed it, their line in a file, or their rights are gone.

use http::Method;
use quorate_access::authentication::StaticTokens;
use quorate_access::authentication::token::{KeyMaterial, KeySet};
use serde_json::{Value, json};

use super::{Castle, NAMESPACE, ROLES};
use crate::harness::START_MS;

impl Castle {
    async fn remove(&self, path: &str) {
        let answer = self
            .server
            .send(Method::DELETE, &format!("{path}?gracePeriodSeconds=0"), &[], "")
            .await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }

    /// The credential of the account, bound to an object or to none.
    async fn credential(&self, bound: Option<(&str, &Value)>) -> String {
        let spec = bound.map_or_else(
            || json!({}),
            |(kind, object)| {
                let (name, uid) = (&object["metadata"]["name"], &object["metadata"]["uid"]);
                json!({"boundObjectRef": {"apiVersion": "v1", "kind": kind, "name": name, "uid": uid}})
            },
        );
        let path = format!("{NAMESPACE}/serviceaccounts/robot/token");
        let made = self.make(&path, json!({ "spec": spec })).await;
        format!("Bearer {}", made["status"]["token"].as_str().unwrap())
    }

    async fn knows(&self, credential: &str) -> u16 {
        self.get(None, "/api", &[("authorization", credential)]).await
    }
}

#[tokio::test]
async fn tokens_of_what_is_gone() {
    let castle = Castle::new().await;
    let mut count = 0;
    let pod = json!({"metadata": {"name": "anchor"},
        "spec": {"serviceAccountName": "robot", "containers": [{"name": "c", "image": "i"}]}});
    for (kind, plural, object) in
        [("Secret", "secrets", json!({"metadata": {"name": "anchor"}})), ("Pod", "pods", pod)]
    {
        let made = castle.make(&format!("{NAMESPACE}/{plural}"), object.clone()).await;
        let credential = castle.credential(Some((kind, &made))).await;
        assert_eq!(castle.knows(&credential).await, 200);
        castle.remove(&format!("{NAMESPACE}/{plural}/anchor")).await;
        count += Castle::refused_with(kind, castle.knows(&credential).await, 401);
        castle.make(&format!("{NAMESPACE}/{plural}"), object).await;
        count += Castle::refused_with("another of the name", castle.knows(&credential).await, 401);
    }
    let credential = castle.credential(None).await;
    assert_eq!(castle.knows(&credential).await, 200);
    let other = KeyMaterial::generate(START_MS).unwrap();
    castle.server.api.authentication.service_accounts.set_keys(KeySet::new(&[other]).unwrap());
    count += Castle::refused_with("a key that was removed", castle.knows(&credential).await, 401);
    let credential = castle.credential(None).await;
    assert_eq!(castle.knows(&credential).await, 200);
    castle.remove(&format!("{NAMESPACE}/serviceaccounts/robot")).await;
    count += Castle::refused_with("an account", castle.knows(&credential).await, 401);
    assert_eq!(castle.knows("Bearer static-secret").await, 200);
    castle.server.api.authentication.set_static_tokens(StaticTokens::default());
    count +=
        Castle::refused_with("a line of a file", castle.knows("Bearer static-secret").await, 401);
    println!("{count} attempts of principals that are gone, none got in");
    assert_eq!(count, 7);
}

#[tokio::test]
async fn rights_that_were_taken_away() {
    let castle = Castle::new().await;
    let rule = json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]});
    castle
        .make(&format!("{ROLES}/roles"), json!({"metadata": {"name": "maps"}, "rules": [rule]}))
        .await;
    let binding = json!({"metadata": {"name": "maps"},
        "roleRef": {"apiGroup": "rbac.authorization.svc.io", "kind": "Role", "name": "maps"},
        "subjects": [{"kind": "User", "name": "joe"}]});
    let joe = || Some(castle.authority.issue("joe", None));
    let maps = format!("{NAMESPACE}/configmaps");
    let mut count = 0;
    for (what, path) in [("a binding", "rolebindings/maps"), ("a role", "roles/maps")] {
        castle.make(&format!("{ROLES}/rolebindings"), binding.clone()).await;
        assert_eq!(castle.get(joe(), &maps, &[]).await, 200);
        castle.remove(&format!("{ROLES}/{path}")).await;
        count += Castle::refused_with(what, castle.get(joe(), &maps, &[]).await, 403);
    }
    println!("{count} attempts with rights that were taken away, none got in");
    assert_eq!(count, 2);
}
