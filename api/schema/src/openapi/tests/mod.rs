//! OpenAPI documents compared with those of Kubernetes 1.35, and for consistency.

mod paths;

use std::collections::BTreeSet;

use quorate_meta::{Naming, Value};

use super::*;
use crate::graph::Graph;

const CORE: [&str; 5] = ["configmaps", "events", "namespaces", "secrets", "serviceaccounts"];

/// The documents about the core kinds, events, roles and access reviews.
fn with(naming: Naming, check: impl Fn(&Documents<'_>)) {
    let graph = Graph::builtin(naming.names());
    let groups = ["events", "rbac.authorization", "authorization"];
    let kinds = graph.kinds().iter().filter(|kind| {
        (kind.neutral_group == "core" && CORE.contains(&kind.resource.as_ref()))
            || (groups.contains(&kind.neutral_group) && !kind.resource.is_empty())
    });
    let served = kinds.map(|kind| Served {
        kind,
        subresources: kind.subresources.iter().map(|sub| sub.name.as_ref()).collect(),
    });
    let served = served.collect();
    check(&Documents::new(&graph, served, "v1.35.0"));
}

fn svc(check: impl Fn(&Documents<'_>)) {
    with(Naming::Svc, check);
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_map().map(|map| map.keys().collect()).unwrap_or_default()
}

#[test]
fn every_part_is_there() {
    svc(|documents| {
        let paths = documents.paths();
        for path in [
            "api",
            "api/v1",
            "apis",
            "apis/rbac.authorization.svc.io",
            "apis/rbac.authorization.svc.io/v1",
            "version",
        ] {
            assert!(paths.iter().any(|known| known == path), "{path}");
            let part = documents.part(path).expect("a document");
            assert_eq!(keys(&part), ["components", "info", "openapi", "paths"], "{path}");
        }
        assert_eq!(documents.part("apis/no-such.example.com/v1"), None);
    });
}

#[test]
fn pages_have_the_names_that_clients_call() {
    svc(|documents| {
        let whole = documents.whole(false);
        let check = |path: &str, id: &str, tag: &str, produces: usize| {
            let operation = whole.at(&["paths", path, "get"]).expect("a path");
            assert_eq!(operation.str_at(&["operationId"]), Some(id));
            assert_eq!(operation.get("tags"), Some(&Value::from(vec![tag])), "{path}");
            let media = operation.get("produces").and_then(Value::as_list).unwrap_or_default();
            assert_eq!(media.len(), produces, "{path}");
        };
        check("/api/", "getCoreAPIVersions", "core", 3);
        check("/api/v1/", "getCoreV1APIResources", "core_v1", 3);
        check("/apis/", "getAPIVersions", "apis", 3);
        check(
            "/apis/rbac.authorization.svc.io/",
            "getRbacAuthorizationAPIGroup",
            "rbacAuthorization",
            3,
        );
        check("/apis/events.svc.io/v1/", "getEventsV1APIResources", "events_v1", 3);
        check("/version/", "getCodeVersion", "version", 1);
        let issuer = "getServiceAccountIssuerOpenIDConfiguration";
        check("/.well-known/openid-configuration/", issuer, "WellKnown", 1);
        check("/openid/v1/jwks/", "getServiceAccountIssuerOpenIDKeyset", "openid", 1);
        let release = whole
            .at(&["definitions", "io.svc.apimachinery.pkg.version.Info"])
            .expect("a definition");
        assert_eq!(keys(release.get("properties").expect("properties")).len(), 13);
    });
}

#[test]
fn documents_say_how_to_authenticate() {
    svc(|documents| {
        let scheme = [
            ("description", "Bearer Token authentication"),
            ("in", "header"),
            ("name", "authorization"),
            ("type", "apiKey"),
        ];
        let schemes = Value::from([("BearerToken", Value::from(scheme))]);
        let whole = documents.whole(false);
        assert_eq!(whole.get("securityDefinitions"), Some(&schemes));
        let none = Value::from([("BearerToken", Value::List(Vec::new()))]);
        assert_eq!(whole.get("security"), Some(&Value::List(vec![none])));
        let part = documents.part("version").expect("a document");
        assert_eq!(part.at(&["components", "securitySchemes"]), Some(&schemes));
    });
}

#[test]
fn schemas_of_a_group() {
    svc(|documents| {
        let part = documents.part("apis/authorization.svc.io/v1").expect("a document");
        let schemas = part.at(&["components", "schemas"]).and_then(Value::as_map).expect("schemas");
        let named = |schema: &Value| {
            schema
                .get("x-svc-group-version-kind")
                .and_then(Value::as_list)
                .map(<[Value]>::to_vec)
                .unwrap_or_default()
        };
        let kinds: Vec<String> = schemas
            .values()
            .flat_map(named)
            .filter_map(|gvk| gvk.str_at(&["kind"]).map(str::to_owned))
            .collect();
        let reviews: Vec<_> = kinds.iter().filter(|kind| kind.ends_with("Review")).collect();
        assert_eq!(
            reviews,
            [
                "LocalSubjectAccessReview",
                "SelfSubjectAccessReview",
                "SelfSubjectRulesReview",
                "SubjectAccessReview"
            ]
        );
        let review =
            schemas.get("io.svc.api.authorization.v1.SelfSubjectRulesReview").expect("a schema");
        assert_eq!(
            keys(review.get("properties").expect("properties")),
            ["apiVersion", "kind", "metadata", "spec", "status"]
        );
        assert_eq!(review.get("required"), Some(&Value::from(vec!["spec"])));
        let status =
            schemas.get("io.svc.api.authorization.v1.SubjectRulesReviewStatus").expect("a schema");
        assert_eq!(
            status.get("required"),
            Some(&Value::from(vec!["incomplete", "nonResourceRules", "resourceRules"]))
        );
        assert_eq!(
            status.str_at(&["properties", "resourceRules", "x-svc-list-type"]),
            Some("atomic")
        );
    });
}

#[test]
fn no_document_names_a_type_it_does_not_define() {
    for naming in [Naming::Svc, Naming::Kubernetes] {
        with(naming, |documents| {
            for path in documents.paths() {
                closed(
                    &documents.part(&path).expect("a document"),
                    &["components", "schemas"],
                    "#/components/schemas/",
                );
            }
            closed(&documents.whole(false), &["definitions"], "#/definitions/");
        });
    }
}

fn closed(document: &Value, schemas: &[&str], prefix: &str) {
    let defined: BTreeSet<&str> =
        keys(document.at(schemas).expect("schemas")).into_iter().collect();
    let (mut used, mut ids) = (BTreeSet::new(), Vec::new());
    visit(document, &mut |key, value| match (key, value) {
        ("$ref", Value::String(reference)) => {
            used.insert(reference.strip_prefix(prefix).unwrap_or(reference).to_owned());
        }
        ("operationId", Value::String(id)) => ids.push(id.clone()),
        _ => {}
    });
    assert!(used.iter().all(|name| defined.contains(name.as_str())), "{used:?} {defined:?}");
    assert!(defined.iter().all(|name| used.contains(*name)), "{used:?} {defined:?}");
    let distinct: BTreeSet<&String> = ids.iter().collect();
    assert_eq!(distinct.len(), ids.len(), "operation ids are unique");
}

fn visit(value: &Value, with: &mut impl FnMut(&str, &Value)) {
    match value {
        Value::Map(map) => map.iter().for_each(|(key, value)| {
            with(key, value);
            visit(value, with);
        }),
        Value::List(items) => items.iter().for_each(|item| visit(item, with)),
        _ => {}
    }
}

#[test]
fn what_kubectl_looks_for() {
    with(Naming::Kubernetes, |documents| {
        let part = documents.part("api/v1").expect("a document");
        let get = |path: &[&str]| part.at(path).cloned();
        let account = ["components", "schemas", "io.k8s.api.core.v1.ServiceAccount"];
        let of = |rest: &[&str]| get(&[&account[..], rest].concat());
        assert_eq!(
            of(&["properties", "secrets", "x-kubernetes-patch-merge-key"]),
            Some("name".into())
        );
        assert_eq!(
            of(&["properties", "secrets", "x-kubernetes-list-map-keys"]),
            Some(vec!["name"].into())
        );
        assert!(of(&["properties", "metadata", "allOf"]).is_some());
        let gvk = Value::from([("group", ""), ("kind", "ServiceAccount"), ("version", "v1")]);
        assert_eq!(of(&["x-kubernetes-group-version-kind"]), Some(Value::from(vec![gvk.clone()])));
        let patch =
            get(&["paths", "/api/v1/namespaces/{namespace}/serviceaccounts/{name}", "patch"])
                .expect("patch");
        assert_eq!(patch.get("x-kubernetes-group-version-kind"), Some(&gvk));
        assert!(patch.at(&["requestBody", "content", "application/apply-patch+yaml"]).is_some());
    });
    svc(|documents| {
        let part = documents.part("api/v1").expect("a document");
        let secrets = part.at(&[
            "components",
            "schemas",
            "io.svc.api.core.v1.ServiceAccount",
            "properties",
            "secrets",
        ]);
        assert!(
            secrets.is_some_and(|it| it.get("x-svc-list-type").is_some()
                && it.get("x-kubernetes-list-type").is_some())
        );
    });
}

#[test]
fn every_field_of_the_served_kinds_is_described() {
    svc(|documents| {
        let part = documents.part("api/v1").expect("a document");
        let schemas = part.at(&["components", "schemas"]).and_then(Value::as_map).expect("schemas");
        for name in [
            "core.v1.ConfigMap",
            "core.v1.Secret",
            "core.v1.Namespace",
            "core.v1.NamespaceStatus",
            "core.v1.ServiceAccount",
            "core.v1.Event",
            "core.v1.ObjectReference",
        ] {
            let schema = schemas.get(&format!("io.svc.api.{name}")).expect("a schema");
            assert!(schema.get("description").is_some(), "{name}");
            for (field, property) in schema
                .get("properties")
                .and_then(Value::as_map)
                .into_iter()
                .flat_map(|map| map.iter())
            {
                assert!(property.get("description").is_some(), "{name}.{field}");
            }
        }
    });
}

#[test]
fn cbor_is_named_where_it_is_switched_on() {
    for on in [false, true] {
        let graph = Graph::builtin(Naming::Svc.names());
        let kind = graph.kinds().iter().find(|kind| kind.kind == "ConfigMap").expect("a kind");
        let served = vec![Served { kind, subresources: Vec::new() }];
        let documents = Documents::new(&graph, served, "v1.35.0").with_cbor(on);
        for document in [documents.whole(false), documents.part("api/v1").expect("a document")] {
            let text = serde_json::to_string(&document).expect("JSON");
            assert_eq!(text.contains("application/cbor"), on);
            assert_eq!(text.contains("application/apply-patch+cbor"), on);
        }
    }
}
