//! Impersonation: the permissions that a client needs for each part of the user it acts as.

use http::Method;
use quorate_access::authentication::User;
use serde_json::{Value, json};

use crate::harness::{Answer, Server};

const MAPS: &str = "/api/v1/namespaces/a/configmaps";
const WHO: &str = "/apis/authentication.svc.io/v1/selfsubjectreviews";

/// Binds a rule in the whole cluster to a user.
async fn grant(server: &Server, name: &str, user: &str, rule: Value) {
    let role = json!({"metadata": {"name": name}, "rules": [rule]});
    let (reference, subject) =
        (json!({"kind": "ClusterRole", "name": name}), json!({"kind": "User", "name": user}));
    let binding = json!({"metadata": {"name": name}, "roleRef": reference, "subjects": [subject]});
    for (plural, body) in [("clusterroles", role), ("clusterrolebindings", binding)] {
        let path = format!("/apis/rbac.authorization.svc.io/v1/{plural}");
        let made = server.send(Method::POST, &path, &[], body.to_string()).await;
        assert_eq!(made.status, 201, "{}", made.text());
    }
}

fn may_impersonate(group: &str, resource: &str, name: &str) -> Value {
    json!({"apiGroups": [group], "resources": [resource], "resourceNames": [name], "verbs": ["impersonate"]})
}

#[track_caller]
fn refused(answer: &Answer, resource: &str, group: &str) {
    assert_eq!(answer.status, 403, "{}", answer.text());
    let message = answer.json()["message"].as_str().unwrap_or_default().to_owned();
    let why = format!(
        "User \"joe\" cannot impersonate resource {resource:?} in API group {group:?} at the cluster scope"
    );
    assert!(message.ends_with(&why), "{message}");
}

#[tokio::test]
async fn each_part_of_somebody_takes_a_permission_of_its_own() {
    let server = Server::with_namespace().await;
    let joe = server.by(Some(User::new("joe", [])));
    let lists = json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]});
    grant(&server, "lists", "ann", lists).await;
    let ann = ("impersonate-user", "ann");
    refused(&joe.send(Method::GET, MAPS, &[ann], "").await, "users", "");
    grant(&server, "ann", "joe", may_impersonate("", "users", "ann")).await;
    assert_eq!(joe.send(Method::GET, MAPS, &[ann], "").await.status, 200);
    let of_users = "authentication.svc.io";
    for (turn, (group, resource, header, value)) in [
        ("", "groups", "impersonate-group", "dev"),
        (of_users, "uids", "impersonate-uid", "7"),
        (of_users, "userextras/scopes", "impersonate-extra-scopes", "view"),
    ]
    .into_iter()
    .enumerate()
    {
        let act =
            async |value: &str| joe.send(Method::GET, MAPS, &[ann, (header, value)], "").await;
        refused(&act(value).await, resource, group);
        grant(&server, &format!("part-{turn}"), "joe", may_impersonate(group, resource, value))
            .await;
        assert_eq!(act(value).await.status, 200, "{header}");
        refused(&act("other").await, resource, group);
    }
    let other = [ann, ("impersonate-extra-other", "view")];
    refused(&joe.send(Method::GET, MAPS, &other, "").await, "userextras/other", of_users);
    let whole = [
        ann,
        ("impersonate-group", "dev"),
        ("impersonate-uid", "7"),
        ("impersonate-extra-scopes", "view"),
    ];
    let answer = joe.send(Method::POST, WHO, &whole, "{}").await;
    let groups = ["dev", "system:authenticated"];
    let expect =
        json!({"username": "ann", "uid": "7", "groups": groups, "extra": {"scopes": ["view"]}});
    assert_eq!(answer.json()["status"]["userInfo"], expect, "{}", answer.text());
    let two = [&whole[..], &[("impersonate-extra-scopes", "edit")]].concat();
    refused(&joe.send(Method::POST, WHO, &two, "{}").await, "userextras/scopes", of_users);
}

#[tokio::test]
async fn nobody_acts_as_two() {
    let server = Server::with_namespace().await;
    let check = async |headers: &[(&str, &str)], expect: &str| {
        let answer = server.send(Method::GET, MAPS, headers, "").await;
        assert_eq!(
            (answer.status.as_u16(), answer.json()["message"].as_str()),
            (400, Some(expect)),
            "{headers:?}"
        );
    };
    let master = [("impersonate-user", "ann"), ("impersonate-group", "system:masters")];
    let with = |more: &[(&'static str, &'static str)]| [&master[..], more].concat();
    let twice = "the header impersonate-user comes more than once";
    check(&with(&[("impersonate-user", "joe")]), twice).await;
    check(&with(&[("impersonate-user", "ann")]), twice).await;
    check(
        &with(&[("impersonate-uid", "1"), ("impersonate-uid", "2")]),
        &twice.replace("user", "uid"),
    )
    .await;
}
