//! ClusterTrustBundles: who may write which, how they are found, and that of the server itself.

use std::time::Duration;

use http::Method;
use quorate_access::authentication::User;
use serde_json::{Value, json};

use super::{PATIENCE_STEPS, REQUESTS, authority, conditions, control, post, request};
use crate::harness::Server;

const BUNDLES: &str = "/apis/certificates.svc.io/v1beta1/clustertrustbundles";

/// A ClusterTrustBundle of a signer, or of none when `signer` is empty.
fn bundle(name: &str, signer: &str, text: &str) -> String {
    json!({"metadata": {"name": name}, "spec": {"signerName": signer, "trustBundle": text}})
        .to_string()
}

/// Creates a ClusterRole of this rule and binds the user `joe` to it.
async fn grant_to_joe(server: &Server, name: &str, rule: Value) {
    let role = json!({"metadata": {"name": name}, "rules": [rule]});
    let subjects = json!([{"kind": "User", "name": "joe"}]);
    let reference = json!({"kind": "ClusterRole", "name": name});
    let binding = json!({"metadata": {"name": name}, "roleRef": reference, "subjects": subjects});
    for (plural, body) in [("clusterroles", role), ("clusterrolebindings", binding)] {
        let path = format!("/apis/rbac.authorization.svc.io/v1/{plural}");
        let made = server.send(Method::POST, &path, &[], body.to_string()).await;
        assert_eq!(made.status, 201, "{}", made.text());
    }
}

#[tokio::test]
async fn who_approves_signs_or_attests_may_do_so_for_the_signer() {
    const SIGNER: &str = "example.com/signer";
    let server = Server::new();
    let joe = server.by(Some(User::new("joe", [])));
    let grant = async |name: &str, rule: Value| grant_to_joe(&server, name, rule).await;
    let rule = |resources: &[&str], verb: &str, names: &[&str]| {
        let groups = ["certificates.svc.io"];
        json!({"apiGroups": groups, "resources": resources, "verbs": [verb], "resourceNames": names})
    };
    let parts = [
        "certificatesigningrequests/approval",
        "certificatesigningrequests/status",
        "clustertrustbundles",
    ];
    grant("writes", rule(&parts, "*", &[])).await;
    post(&server, request("a", ("ann", "dev"), SIGNER)).await;
    let (path, anchors) = (format!("{REQUESTS}/a"), authority());
    let merge = [("content-type", "application/merge-patch+json")];
    let status = |types: &[&str]| json!({"status": conditions(types)}).to_string();
    let act = async |verb: &str| match verb {
        "approve" => {
            joe.send(Method::PATCH, &format!("{path}/approval"), &merge, status(&["Approved"]))
                .await
        }
        "sign" => {
            joe.send(
                Method::PATCH,
                &format!("{path}/status"),
                &merge,
                status(&["Approved", "Failed"]),
            )
            .await
        }
        _ => {
            joe.send(Method::POST, BUNDLES, &[], bundle("example.com:signer:a", SIGNER, &anchors))
                .await
        }
    };
    for (verb, what, granted, done) in [
        ("approve", "approve requests with", SIGNER, 200),
        ("sign", "sign requests with", "example.com/*", 200),
        ("attest", "attest for", SIGNER, 201),
    ] {
        let refusal = format!("user not permitted to {what} signerName {SIGNER:?}");
        let refused = async || {
            let answer = act(verb).await;
            assert_eq!(answer.status, 403, "{verb}: {}", answer.text());
            let message = answer.json()["message"].as_str().unwrap_or_default().to_owned();
            assert!(message.ends_with(&refusal), "{verb}: {message}");
        };
        refused().await;
        grant(
            &format!("{verb}-others"),
            rule(&["signers"], verb, &["example.com/other", "other.com/*"]),
        )
        .await;
        refused().await;
        grant(verb, rule(&["signers"], verb, &[granted])).await;
        let answer = act(verb).await;
        assert_eq!(answer.status, done, "{verb}: {}", answer.text());
    }
}

#[tokio::test]
async fn bundles_are_named_after_their_signer_and_found_by_it() {
    const SIGNER: &str = "example.com/signer";
    let server = Server::new();
    let (one, two) = (authority(), authority());
    let check = async |name: &str, signer: &str, text: &str, code: u16, why: &str| {
        let answer = server.send(Method::POST, BUNDLES, &[], bundle(name, signer, text)).await;
        assert_eq!(answer.status, code, "{name} {signer}: {}", answer.text());
        assert!(answer.text().contains(why), "{name} {signer}: {}", answer.text());
    };
    let both = format!("{one}{two}");
    check("plain", "", &both, 201, "").await;
    check("example.com:signer:a", SIGNER, &one, 201, "").await;
    check("example.com:signer:b", "", &one, 422, "without signer name must not have").await;
    let prefix = "must be named with prefix example.com:signer:";
    for other in ["other", "example.com:other:a", "example.com.signer"] {
        check(other, SIGNER, &one, 422, prefix).await;
    }
    check("example.com:signer:", SIGNER, &one, 422, "metadata.name").await;
    check("duplicate", "", &format!("{both}{one}"), 422, "duplicate trust anchor (indices [0 2])")
        .await;
    let selectors: [(&str, &[&str]); 4] = [
        ("spec.signerName%3Dexample.com%2Fsigner", &["example.com:signer:a"]),
        ("spec.signerName!%3Dexample.com%2Fsigner", &["plain"]),
        ("spec.signerName%3D", &["plain"]),
        ("spec.signerName%3Dexample.com%2Fother", &[]),
    ];
    for (selector, expect) in selectors {
        assert_eq!(
            server.get(&format!("{BUNDLES}?fieldSelector={selector}")).await.names(),
            expect,
            "{selector}"
        );
    }
    let selector = "fieldSelector=spec.signerName%3Dexample.com%2Fsigner";
    let mut watch = server.watch(&format!("{BUNDLES}?watch=1&{selector}")).await;
    check("example.com:signer:c", SIGNER, &one, 201, "").await;
    assert_eq!(watch.brief(2).await, ["ADDED example.com:signer:a", "ADDED example.com:signer:c"]);
}

/// Waits until there is one bundle, with this text; gives its name.
async fn published(reader: &Server, expect: &str) -> String {
    for _ in 0..PATIENCE_STEPS {
        // No client may read bundles before the default roles are there.
        let list = reader.get(BUNDLES).await.json();
        let items = list["items"].as_array().map(Vec::as_slice).unwrap_or_default();
        if let [item] = items
            && item["spec"]["trustBundle"] == expect
        {
            return item["metadata"]["name"].as_str().unwrap().to_owned();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the bundles stay {}", reader.get(BUNDLES).await.text());
}

#[tokio::test]
async fn the_servers_own_authority_is_published_to_everybody_who_is_known() {
    let server = Server::new();
    let reader = server.by(Some(User::new("joe", [])));
    let (first, second) = (authority(), authority());
    let controllers = control(&server, first.clone());
    let name = published(&reader, &first).await;
    assert!(name.starts_with("svc.io:kube-apiserver-serving:"), "{name}");
    // The controller restores the bundle after a client changes or deletes it.
    let path = format!("{BUNDLES}/{name}");
    let patch = json!({"spec": {"trustBundle": second}}).to_string();
    let headers = [("content-type", "application/merge-patch+json")];
    assert_eq!(server.send(Method::PATCH, &path, &headers, patch).await.status, 200);
    published(&reader, &first).await;
    assert_eq!(server.send(Method::DELETE, &path, &[], "").await.status, 200);
    published(&reader, &first).await;
    controllers.stop();
    let _controllers = control(&server, second.clone());
    assert_ne!(published(&reader, &second).await, name);
    assert_eq!(server.by(None).get(BUNDLES).await.status, 401);
}
