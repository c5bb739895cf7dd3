//! Names that are computed from the table.

use super::*;

#[test]
fn groups_follow_the_profile() {
    let check = |base: &str, svc: &str, kubernetes: &str| {
        assert_eq!(Naming::Svc.names().group(base), svc);
        assert_eq!(Naming::Kubernetes.names().group(base), kubernetes);
        assert_eq!(Naming::Svc.names().neutral(svc), base);
        assert_eq!(Naming::Kubernetes.names().neutral(kubernetes), base);
    };
    check("", "", "");
    check("apps", "apps", "apps");
    check("rbac.authorization", "rbac.authorization.svc.io", "rbac.authorization.k8s.io");
    check("flowcontrol.apiserver", "flowcontrol.apiserver.svc.io", "flowcontrol.apiserver.k8s.io");
    check("widgets.example.com", "widgets.example.com", "widgets.example.com");
}

#[test]
fn aliases_exist_in_the_svc_profile_only() {
    let svc = Naming::Svc.names();
    assert_eq!(svc.edge_group("meta.k8s.io").as_deref(), Some("meta.svc.io"));
    assert_eq!(svc.edge_group("authorization.k8s.io").as_deref(), Some("authorization.svc.io"));
    assert_eq!(svc.edge_group("meta.svc.io"), None);
    assert_eq!(svc.edge_group("gateway.networking.k8s.io"), None);
    assert_eq!(Naming::Kubernetes.names().edge_group("meta.svc.io"), None);
    assert!(svc.is_protobuf("application/vnd.kubernetes.protobuf"));
    assert!(!Naming::Kubernetes.names().is_protobuf("application/vnd.svc.protobuf"));
}

#[test]
fn composed_names() {
    let (svc, kubernetes) = (Naming::Svc.names(), Naming::Kubernetes.names());
    assert_eq!(svc.extension("list-type"), "x-svc-list-type");
    assert_eq!(kubernetes.extension("embedded-type"), "x-kubernetes-embedded-resource");
    assert_eq!(kubernetes.domain_key("tls"), "kubernetes.io/tls");
    assert_eq!(svc.node_taint("not-ready"), "node.svc.io/not-ready");
    assert_eq!(kubernetes.node_taint("not-ready"), "node.kubernetes.io/not-ready");
    assert_eq!(svc.user_extra("pod-name"), "authentication.svc.io/pod-name");
    assert_eq!(svc.meta_api_version(), "meta.svc.io/v1");
}

#[test]
fn profile_names_parse() {
    assert_eq!("kubernetes".parse(), Ok(Naming::Kubernetes));
    assert_eq!("svc".parse(), Ok(Naming::Svc));
    let error = "k8s".parse::<Naming>().unwrap_err();
    assert_eq!(error.to_string(), "unknown naming profile \"k8s\": use svc or kubernetes");
}

#[test]
fn the_end_of_initial_events_is_marked_in_the_names_that_a_client_knows() {
    let check = |naming: Naming, for_kubernetes, expect: &[&str]| {
        assert_eq!(naming.names().initial_events_end(for_kubernetes), expect);
    };
    check(Naming::Svc, false, &["svc.io/initial-events-end"]);
    check(Naming::Svc, true, &["k8s.io/initial-events-end", "svc.io/initial-events-end"]);
    check(Naming::Kubernetes, false, &["k8s.io/initial-events-end"]);
    check(Naming::Kubernetes, true, &["k8s.io/initial-events-end"]);
}
