//! The built-in IDL files in both naming profiles, and lookups in the graph.

use quorate_meta::{GroupVersionKind, GroupVersionResource, Naming, Value};

use super::*;

#[test]
fn both_profiles_load() {
    for naming in [Naming::Svc, Naming::Kubernetes] {
        let graph = Graph::builtin(naming.names());
        assert_eq!((graph.types().len(), graph.kinds().len()), (626, 102), "{naming}");
        for (index, ty) in graph.types().iter().enumerate() {
            assert_eq!(ty.id.index(), index, "{}", ty.full_name());
        }
    }
}

#[test]
fn lookups() {
    let graph = Graph::builtin(Naming::Kubernetes.names());
    let role = graph
        .kind(&GroupVersionKind::new("rbac.authorization.k8s.io", "v1", "Role"))
        .expect("Role");
    assert_eq!(
        (role.resource.as_ref(), role.namespaced, role.neutral_group),
        ("roles", true, "rbac.authorization")
    );
    assert_eq!(role.gvr(), GroupVersionResource::new("rbac.authorization.k8s.io", "v1", "roles"));
    let pods = graph.resource(&GroupVersionResource::new("", "v1", "pods")).expect("pods");
    let eviction = pods.subresource("eviction").expect("eviction");
    assert_eq!(eviction.kind, GroupVersionKind::new("policy", "v1", "Eviction"));
    let event = graph.kind(&GroupVersionKind::new("events.k8s.io", "v1", "Event")).expect("Event");
    assert_eq!((event.storage_group.as_str(), event.storage_version.as_deref()), ("", Some("v1")));
    assert_eq!(
        (role.storage_group.as_str(), role.storage_version.as_deref()),
        ("rbac.authorization.k8s.io", Some("v1"))
    );
    assert!(pods.has_verb("watch") && !pods.has_verb("proxy"));
    assert!(
        graph.resource(&GroupVersionResource::new("", "v1", "")).is_none(),
        "kinds without a resource have no name"
    );
}

#[test]
fn names_follow_the_profile() {
    let check = |naming: Naming, name: &str, default: &str| {
        let graph = Graph::builtin(naming.names());
        let schema = graph.type_named("apiextensions/v1.JSONSchemaProps").expect("a type");
        assert!(schema.property(name).is_some(), "{name}");
        let role_ref = graph.type_named("rbac.authorization/v1.RoleRef").expect("a type");
        let group = role_ref.property("apiGroup").and_then(|field| field.default.clone());
        assert_eq!(group, Some(Value::from(default)));
    };
    check(Naming::Svc, "x-svc-embedded-type", "rbac.authorization.svc.io");
    check(Naming::Kubernetes, "x-kubernetes-embedded-resource", "rbac.authorization.k8s.io");
}

#[test]
fn inline_fields_are_pulled_up() {
    let graph = Graph::builtin(Naming::Svc.names());
    let selector = graph.type_named("core/v1.ConfigMapKeySelector").expect("a type");
    let names: Vec<_> = selector.properties.iter().map(|field| field.name.as_ref()).collect();
    assert_eq!(names, ["key", "name", "optional"]);
    assert_eq!(selector.fields[0].name, "localObjectReference");
}

#[test]
fn columns_and_flags() {
    let graph = Graph::builtin(Naming::Svc.names());
    let event = graph.kind(&GroupVersionKind::new("", "v1", "Event")).expect("Event");
    let count = event.columns.iter().find(|column| column.name == "Count").expect("a column");
    assert_eq!((count.kind.as_ref(), count.priority, count.cell.as_ref()), ("string", 1, "int"));
    let secret = graph.type_named("core/v1.Secret").expect("a type");
    assert_eq!(
        secret.property("type").and_then(|field| field.default.clone()),
        Some(Value::from("Opaque"))
    );
    let meta = graph.type_named("meta/v1.ObjectMeta").expect("a type");
    let owners = meta.property("ownerReferences").expect("a field");
    assert_eq!(owners.list, Some(ListKind::Map(vec!["uid".into()])));
    assert_eq!(owners.patch.strategy(), Some("merge"));
}

#[test]
fn errors_name_the_line() {
    let check = |text: &'static str, expect: &str| {
        let error =
            Graph::load(Naming::Svc.names(), &[("f", text)]).err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), Some(expect));
    };
    check("group core/v1\ntype A\n  1 b Missing\n", "f:3: unknown type Missing");
    check("group core/v1\ntype A\n  1 b string soft\n", "f:3: cannot read \"soft\"");
    check(
        "group core/v1\ntype A object\n  1 kind string\n",
        "graph:0: core/v1.A has two properties kind",
    );
}
