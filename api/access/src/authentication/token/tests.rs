//! Service account tokens against a store: which are accepted, for how long, and what ends them.

use bytes::Bytes;
use quorate_env::{Clock, SystemEnv};
use quorate_meta::{Names, Naming};
use quorate_store::{MemoryOptions, MemoryStore, Operation, Store, Txn};
use quorate_wire::stored;
use serde_json::json;

use super::*;
use quorate_registry::keys::Key;

const NOW_MS: u64 = 1_893_456_000_000;

/// A new set with one key.
pub(super) fn key_set() -> KeySet {
    KeySet::new(&[KeyMaterial::generate(0).expect("a new key")]).expect("a usable key")
}

struct Cluster {
    names: &'static Names,
    store: MemoryStore,
    tokens: ServiceAccountTokens,
}

fn own() -> Vec<String> {
    vec!["api".to_owned()]
}

fn options() -> TokenOptions {
    TokenOptions {
        issuers: vec!["issuer".into(), "former".into()],
        audiences: own(),
        ..TokenOptions::default()
    }
}

impl Cluster {
    fn new() -> Self {
        let names = Naming::Svc.names();
        let clock: std::sync::Arc<dyn Clock> = std::sync::Arc::new(SystemEnv);
        let tokens = ServiceAccountTokens::new(names, options());
        tokens.set_keys(key_set());
        Self { names, store: MemoryStore::new(MemoryOptions::new(clock)), tokens }
    }

    async fn put(&self, resource: &str, name: &str, object: serde_json::Value) {
        let value = stored::encode(&object.into(), &[]).unwrap();
        self.commit(Operation::Put { key: key(resource, name), value }).await;
    }

    async fn commit(&self, operation: Operation) {
        self.store
            .txn(Txn { conditions: Vec::new(), operations: vec![operation], ..Txn::default() })
            .await
            .unwrap();
    }

    async fn remove(&self, resource: &str, name: &str) {
        self.commit(Operation::Delete { key: key(resource, name) }).await;
    }

    async fn with_account() -> Self {
        let cluster = Self::new();
        cluster.put("serviceaccounts", "robot", object("robot", "u1")).await;
        cluster
    }

    fn issue(&self, issue: Issue) -> String {
        self.tokens.issue(issue, NOW_MS).unwrap().token
    }

    fn at(&self, token: &str, now_ms: u64) -> String {
        match self.tokens.check(token, &own(), &self.store.snapshot(), now_ms) {
            Ok(accepted) => accepted.user.name.clone(),
            Err(refusal) => format!("{refusal:?}"),
        }
    }

    #[track_caller]
    fn check(&self, token: &str, expect: &str) {
        // Twice: the second time the signature is cached.
        assert_eq!([self.at(token, NOW_MS), self.at(token, NOW_MS)], [expect, expect]);
    }
}

const ROBOT: &str = "system:serviceaccount:ns:robot";

fn key(resource: &str, name: &str) -> Bytes {
    let namespace = (resource != "nodes").then_some("ns");
    Key::Object { group: "", resource, namespace, name }.encode()
}

fn object(name: &str, uid: &str) -> serde_json::Value {
    json!({"metadata": {"name": name, "namespace": "ns", "uid": uid}})
}

fn identified(name: &str, uid: &str) -> ObjectIdentity {
    ObjectIdentity { name: name.into(), uid: uid.into() }
}

fn issue() -> Issue {
    Issue {
        namespace: "ns".into(),
        account: identified("robot", "u1"),
        audiences: own(),
        lifetime: Some(3600),
        bound: None,
        id: "1".into(),
    }
}

fn bound(bound: BoundObjectReference) -> Issue {
    Issue { bound: Some(bound), ..issue() }
}

#[tokio::test]
async fn a_token_lives_from_its_making_to_its_end() {
    let cluster = Cluster::with_account().await;
    let token = cluster.issue(issue());
    cluster.check(&token, ROBOT);
    assert_eq!(cluster.at(&token, NOW_MS + 3_599_000), ROBOT);
    assert_eq!(cluster.at(&token, NOW_MS + 3_600_000), "Expired");
    assert_eq!(cluster.at(&token, NOW_MS - 5_000), ROBOT);
    assert_eq!(cluster.at(&token, NOW_MS - 6_000), "Early");
}

#[tokio::test]
async fn a_token_is_for_its_audiences() {
    let cluster = Cluster::with_account().await;
    let audiences = |of: &[&str]| of.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let token = cluster.issue(Issue { audiences: audiences(&["vault", "registry"]), ..issue() });
    let check = |asked: &[&str], expect: Option<&[&str]>| {
        let accepted =
            cluster.tokens.check(&token, &audiences(asked), &cluster.store.snapshot(), NOW_MS);
        assert_eq!(
            accepted.map(|accepted| accepted.audiences).ok(),
            expect.map(audiences),
            "{asked:?}"
        );
    };
    check(&["vault"], Some(&["vault"]));
    check(&["registry", "other", "vault"], Some(&["registry", "vault"]));
    check(&["other"], None);
    check(&["api"], None);
    check(&[], None);
}

#[tokio::test]
async fn a_token_comes_from_a_known_issuer_and_a_known_key() {
    let cluster = Cluster::with_account().await;
    let of = |issuer: &str, names: &'static Names| {
        let options = TokenOptions {
            issuers: vec![issuer.into()],
            audiences: own(),
            ..TokenOptions::default()
        };
        ServiceAccountTokens::new(names, options)
    };
    let material = KeyMaterial::generate(0).unwrap();
    let shared = || KeySet::new(std::slice::from_ref(&material)).unwrap();
    cluster.tokens.set_keys(shared());
    let check = |issuer: &str, names: &'static Names, keys: KeySet, expect: &str| {
        let other = of(issuer, names);
        other.set_keys(keys);
        cluster.check(&other.issue(issue(), NOW_MS).unwrap().token, expect);
    };
    check("issuer", cluster.names, shared(), ROBOT);
    check("former", cluster.names, shared(), ROBOT);
    check("stranger", cluster.names, shared(), "Issuer");
    check("issuer", cluster.names, key_set(), "Signature");
    check("issuer", Naming::Kubernetes.names(), shared(), "Claims");
    assert_eq!(of("issuer", cluster.names).issue(issue(), NOW_MS), Err(Refusal::NoKeys));
}

#[tokio::test]
async fn a_removed_key_ends_its_tokens_and_an_added_one_does_not() {
    let cluster = Cluster::with_account().await;
    let [first, second] = [0, 1].map(|made| KeyMaterial::generate(made).unwrap());
    cluster.tokens.set_keys(KeySet::new(std::slice::from_ref(&first)).unwrap());
    let token = cluster.issue(issue());
    cluster.check(&token, ROBOT);
    cluster.tokens.set_keys(KeySet::new(&[first, second.clone()]).unwrap());
    cluster.check(&token, ROBOT);
    cluster.check(&cluster.issue(Issue { id: "2".into(), ..issue() }), ROBOT);
    cluster.tokens.set_keys(KeySet::new(&[second]).unwrap());
    cluster.check(&token, "Signature");
}

#[tokio::test]
async fn a_token_ends_with_its_account() {
    let cluster = Cluster::with_account().await;
    let token = cluster.issue(issue());
    cluster.check(&token, ROBOT);
    cluster
        .put(
            "serviceaccounts",
            "robot",
            json!({"metadata": {"name": "robot", "uid": "u1", "labels": {"a": "b"}}}),
        )
        .await;
    cluster.check(&token, ROBOT);
    cluster.remove("serviceaccounts", "robot").await;
    cluster.check(&token, r#"Gone("service account")"#);
    cluster.put("serviceaccounts", "robot", object("robot", "u2")).await;
    cluster.check(&token, r#"Gone("service account")"#);
}

#[tokio::test]
async fn a_token_ends_with_what_it_is_bound_to() {
    for (resource, kind, of) in [
        ("pods", "pod", bound(BoundObjectReference::Pod(identified("it", "x"), None))),
        ("secrets", "secret", bound(BoundObjectReference::Secret(identified("it", "x")))),
        ("nodes", "node", bound(BoundObjectReference::Node(identified("it", "x")))),
    ] {
        let cluster = Cluster::with_account().await;
        let (token, gone) = (cluster.issue(of), format!("Gone({kind:?})"));
        cluster.check(&token, &gone);
        cluster.put(resource, "it", object("it", "x")).await;
        cluster.check(&token, ROBOT);
        let mut leaving = object("it", "x");
        leaving["metadata"]["deletionTimestamp"] = "2030-01-01T00:00:00Z".into();
        cluster.put(resource, "it", leaving).await;
        cluster.check(&token, ROBOT);
        assert_eq!(cluster.at(&token, NOW_MS + 60_001), gone);
        cluster.put(resource, "it", object("it", "y")).await;
        cluster.check(&token, &gone);
        cluster.remove(resource, "it").await;
        cluster.check(&token, &gone);
    }
}

#[tokio::test]
async fn a_token_without_an_end_is_good_while_its_secret_holds_it() {
    use base64::Engine;
    let cluster = Cluster::with_account().await;
    let token = cluster.issue(Issue {
        lifetime: None,
        ..bound(BoundObjectReference::Secret(identified("it", "x")))
    });
    let held = |kind: &str, token: &str| {
        let token = base64::engine::general_purpose::STANDARD.encode(token);
        json!({"metadata": {"name": "it", "namespace": "ns", "uid": "x"}, "type": kind, "data": {"token": token}})
    };
    let kind = "svc.io/service-account-token";
    cluster.put("secrets", "it", held(kind, &token)).await;
    cluster.check(&token, ROBOT);
    assert_eq!(cluster.at(&token, u64::MAX / 2), ROBOT);
    let mut marked = held(kind, &token);
    for (label, expect) in [("x", ROBOT), ("svc.io/legacy-token-invalid-since", "Marked")] {
        marked["metadata"]["labels"][label] = "2024-01-01".into();
        cluster.put("secrets", "it", marked.clone()).await;
        cluster.check(&token, expect);
    }
    let counted = |token_use| cluster.tokens.counts().of(token_use);
    assert_eq!([TokenUse::OfSecret, TokenUse::OfInvalidSecret].map(counted), [5, 2]);
    // Verified once more at a time so late that what was verified before is too old.
    assert_eq!([TokenUse::Verified, TokenUse::Hit, TokenUse::Valid].map(counted), [2, 5, 0]);
    cluster.put("secrets", "it", held(kind, "another")).await;
    cluster.check(&token, "Replaced");
    cluster.put("secrets", "it", held("Opaque", &token)).await;
    cluster.check(&token, "Replaced");
    cluster.remove("secrets", "it").await;
    cluster.check(&token, r#"Gone("secret")"#);
    // Nothing but a secret holds a token that never ends.
    cluster.check(&cluster.issue(Issue { lifetime: None, ..issue() }), "Claims");
}

#[tokio::test]
async fn the_user_says_what_the_token_is_bound_to() {
    let cluster = Cluster::with_account().await;
    cluster.put("pods", "p", object("p", "pu")).await;
    let node = Some(identified("n", "nu"));
    let token = cluster.issue(bound(BoundObjectReference::Pod(identified("p", "pu"), node)));
    let accepted = cluster.tokens.check(&token, &own(), &cluster.store.snapshot(), NOW_MS).unwrap();
    let user = &accepted.user;
    let groups = ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"];
    assert_eq!(
        (user.uid.as_str(), user.groups.as_slice()),
        ("u1", groups.map(str::to_owned).as_slice())
    );
    let extra: Vec<_> =
        user.extra.iter().map(|(key, values)| format!("{key}={}", values.join(","))).collect();
    let expect = ["credential-id=JTI=1", "node-name=n", "node-uid=nu", "pod-name=p", "pod-uid=pu"];
    assert_eq!(extra, expect.map(|text| format!("authentication.svc.io/{text}")));
}
