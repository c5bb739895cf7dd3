//! Names of types as users write them.

use super::*;

/// `GROUP VERSION PLURAL SINGULAR KIND SHORT`, in the order of discovery.
const SERVED: [&str; 8] = [
    "- v1 pods pod Pod po",
    "- v1 events event Event ev",
    "- v1 namespaces namespace Namespace ns",
    "apps v1 deployments deployment Deployment deploy",
    "events.k8s.io v1 events event Event ev",
    "example.com v2 widgets widget Widget wd",
    "example.com v1 widgets widget Widget wd",
    "example.org v1 pods pod Pod po",
];

fn resources() -> Resources {
    let mut all = Resources::default();
    for row in SERVED {
        let [group, version, plural, singular, kind, short] =
            row.split(' ').collect::<Vec<_>>().try_into().unwrap();
        let group = if group == "-" { "" } else { group };
        let scope = if plural == "namespaces" { "Cluster" } else { "Namespaced" };
        let document = serde_json::json!({
            "kind": "APIGroupDiscoveryList",
            "items": [{"metadata": {"name": group}, "versions": [{"version": version, "resources": [{
                "resource": plural, "singularResource": singular, "shortNames": [short], "scope": scope,
                "responseKind": {"kind": kind}, "verbs": ["get", "list"],
                "subresources": [{"subresource": "status"}],
            }]}]}],
        });
        all.add(&document.into()).unwrap();
    }
    all
}

#[test]
fn types_have_many_names() {
    let all = resources();
    let check = |asked: &str, expect: &str| {
        let found = all.resolve(asked).map(|found| found.collection(Some("n")));
        assert_eq!(found.unwrap_or_else(|error| error.to_string()), expect, "{asked}");
    };
    let pods = "/api/v1/namespaces/n/pods";
    for name in ["pods", "pod", "po", "Pod", "PODS", "pods.v1"] {
        check(name, pods);
    }
    let deployments = "/apis/apps/v1/namespaces/n/deployments";
    for name in ["deploy", "deployments.apps", "Deployment.apps", "deployments.v1.apps"] {
        check(name, deployments);
    }
    check("ns", "/api/v1/namespaces");
    check("ev", "/api/v1/namespaces/n/events");
    check("events.events.k8s.io", "/apis/events.k8s.io/v1/namespaces/n/events");
    check("events.events", "/apis/events.k8s.io/v1/namespaces/n/events");
    check("widgets", "/apis/example.com/v2/namespaces/n/widgets");
    check("widgets.v1.example.com", "/apis/example.com/v1/namespaces/n/widgets");
    check("pods.example.org", "/apis/example.org/v1/namespaces/n/pods");
    check("gadgets", "the server doesn't have a resource type \"gadgets\"");
    check("pods.nowhere", "the server doesn't have a resource type \"pods.nowhere\"");
}

#[test]
fn kinds_are_found() {
    let all = resources();
    let check = |version: &str, kind: &str, expect: Option<&str>| {
        let found = all.of_kind(version, kind).map(|found| found.object(None, "a"));
        assert_eq!(found.as_deref(), expect, "{version} {kind}");
    };
    check("v1", "Pod", Some("/api/v1/pods/a"));
    check("example.com/v1", "Widget", Some("/apis/example.com/v1/widgets/a"));
    check("example.com/v1beta1", "Widget", Some("/apis/example.com/v2/widgets/a"));
    check("example.com/v1", "Gadget", None);
}

#[test]
fn each_resource_is_preferred_once() {
    let all = resources();
    let names: Vec<_> =
        all.preferred().map(|found| format!("{} {}", found.full_name(), found.version)).collect();
    assert_eq!(names.len(), 7);
    assert!(names.contains(&"widgets.example.com v2".to_owned()));
    let widget = all.resolve("wd").unwrap();
    assert_eq!(widget.object_name("a"), "widget.example.com/a");
    assert!(widget.has_subresource("status") && !widget.has_subresource("scale"));
    assert!(widget.has_verb("get") && !widget.has_verb("create"));
}
