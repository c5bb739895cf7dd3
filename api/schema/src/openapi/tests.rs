//! OpenAPI documents compared with those of Kubernetes 1.35, and for consistency.

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
fn paths_of_a_group_version() {
    svc(|documents| {
        let part = documents.part("apis/rbac.authorization.svc.io/v1").expect("a document");
        let root = "/apis/rbac.authorization.svc.io/v1";
        let expect = [
            "/",
            "/clusterrolebindings",
            "/clusterrolebindings/{name}",
            "/clusterroles",
            "/clusterroles/{name}",
            "/namespaces/{namespace}/rolebindings",
            "/namespaces/{namespace}/rolebindings/{name}",
            "/namespaces/{namespace}/roles",
            "/namespaces/{namespace}/roles/{name}",
            "/rolebindings",
            "/roles",
            "/watch/clusterrolebindings",
            "/watch/clusterrolebindings/{name}",
            "/watch/clusterroles",
            "/watch/clusterroles/{name}",
            "/watch/namespaces/{namespace}/rolebindings",
            "/watch/namespaces/{namespace}/rolebindings/{name}",
            "/watch/namespaces/{namespace}/roles",
            "/watch/namespaces/{namespace}/roles/{name}",
            "/watch/rolebindings",
            "/watch/roles",
        ];
        let paths = part.get("paths").expect("paths");
        assert_eq!(keys(paths), expect.map(|path| format!("{root}{path}")));
        let check = |path: &str, kind: &str, expect: &[(&str, &str)]| {
            let operations =
                paths.get(&format!("{root}{path}")).and_then(Value::as_map).expect("a path");
            let found: Vec<_> =
                operations.iter().filter(|(method, _)| *method != "parameters").collect();
            let actions: Vec<_> = found
                .iter()
                .map(|(method, it)| (*method, it.str_at(&["x-svc-action"]).unwrap_or_default()))
                .collect();
            assert_eq!(actions, expect);
            let gvk = Value::from([
                ("group", "rbac.authorization.svc.io"),
                ("kind", kind),
                ("version", "v1"),
            ]);
            assert!(found.iter().all(|(_, it)| it.get("x-svc-group-version-kind") == Some(&gvk)));
        };
        check(
            "/clusterroles",
            "ClusterRole",
            &[("delete", "deletecollection"), ("get", "list"), ("post", "post")],
        );
        let all = [("delete", "delete"), ("get", "get"), ("patch", "patch"), ("put", "put")];
        check("/namespaces/{namespace}/roles/{name}", "Role", &all);
        check("/watch/namespaces/{namespace}/roles", "Role", &[("get", "watchlist")]);
        check("/watch/namespaces/{namespace}/roles/{name}", "Role", &[("get", "watch")]);
        let content = paths
            .at(&[&format!("{root}/watch/roles"), "get", "responses", "200", "content"])
            .expect("formats");
        let stream = content.at(&["application/vnd.svc.protobuf;stream=watch", "schema", "$ref"]);
        let event = "#/components/schemas/io.svc.apimachinery.pkg.apis.meta.v1.WatchEvent";
        assert_eq!(stream.and_then(Value::as_str), Some(event));
    });
}

#[test]
fn parameters_of_operations() {
    svc(|documents| {
        let part = documents.part("api/v1").expect("a document");
        let check = |path: &str, method: &str, expect: &str| {
            let path = part
                .at(&["paths", &format!("/api/v1/namespaces/{{namespace}}/serviceaccounts{path}")])
                .expect("a path");
            let lists = [path.get("parameters"), path.at(&[method, "parameters"])];
            let all = lists.into_iter().flatten().filter_map(Value::as_list).flatten();
            let mut found: Vec<String> = all
                .map(|it| {
                    format!(
                        "{}:{}",
                        it.str_at(&["name"]).unwrap_or_default(),
                        it.str_at(&["schema", "type"]).unwrap_or_default()
                    )
                })
                .collect();
            found.sort();
            assert_eq!(found.join(" "), expect);
        };
        let object = "name:string namespace:string pretty:string";
        check("/{name}", "get", object);
        let write = "dryRun:string fieldManager:string fieldValidation:string";
        check("/{name}", "put", &format!("{write} {object}"));
        check("/{name}", "patch", &format!("{write} force:boolean {object}"));
        check("", "post", &format!("{write} namespace:string pretty:string"));
        let unsafe_delete =
            "gracePeriodSeconds:integer ignoreStoreReadErrorWithClusterBreakingPotential:boolean";
        check(
            "/{name}",
            "delete",
            &format!(
                "dryRun:string {unsafe_delete} name:string namespace:string orphanDependents:boolean pretty:string propagationPolicy:string"
            ),
        );
        check(
            "",
            "get",
            "allowWatchBookmarks:boolean continue:string fieldSelector:string labelSelector:string limit:integer namespace:string pretty:string resourceVersion:string resourceVersionMatch:string sendInitialEvents:boolean timeoutSeconds:integer watch:boolean",
        );
        check(
            "",
            "delete",
            &format!(
                "continue:string dryRun:string fieldSelector:string {unsafe_delete} labelSelector:string limit:integer namespace:string orphanDependents:boolean pretty:string propagationPolicy:string resourceVersion:string resourceVersionMatch:string sendInitialEvents:boolean timeoutSeconds:integer"
            ),
        );
    });
}

#[test]
fn paths_that_lead_to_other_servers() {
    let graph = Graph::builtin(Naming::Kubernetes.names());
    let kinds = graph.kinds().iter().filter(|kind| {
        kind.neutral_group == "core" && ["pods", "nodes"].contains(&kind.resource.as_ref())
    });
    let served = kinds.map(|kind| Served {
        kind,
        subresources: kind.subresources.iter().map(|sub| sub.name.as_ref()).collect(),
    });
    let documents = Documents::new(&graph, served.collect(), "v1.35.0");
    let part = documents.part("api/v1").expect("a document");
    let check =
        |path: &str, method: &str, id: &str, action: &str, media: &[&str], queries: &str| {
            let path = part.at(&["paths", &format!("/api/v1{path}")]).expect("a path");
            let operation = path.get(method).expect("a method");
            assert_eq!(operation.str_at(&["operationId"]), Some(id));
            assert_eq!(operation.str_at(&["x-kubernetes-action"]), Some(action));
            let content = operation.at(&["responses", "200", "content"]).expect("formats");
            assert_eq!(keys(content), media);
            let schema = content.at(&[media[0], "schema"]);
            assert_eq!(schema.and_then(|schema| schema.str_at(&["type"])), Some("string"));
            let parameters = path.get("parameters").and_then(Value::as_list).expect("parameters");
            let queries_of: Vec<_> = parameters
                .iter()
                .filter(|it| it.str_at(&["in"]) == Some("query"))
                .filter_map(|it| it.str_at(&["name"]))
                .filter(|name| *name != "pretty")
                .collect();
            assert_eq!(queries_of.join(" "), queries, "{id}");
        };
    let pod = "/namespaces/{namespace}/pods/{name}";
    let texts = [
        "application/json",
        "application/vnd.kubernetes.protobuf",
        "application/yaml",
        "text/plain",
    ];
    let queries = "container follow insecureSkipTLSVerifyBackend limitBytes previous sinceSeconds stream tailLines timestamps";
    check(&format!("{pod}/log"), "get", "readCoreV1NamespacedPodLog", "get", &texts, queries);
    let id = "connectCoreV1PostNamespacedPodExec";
    let queries = "command container stderr stdin stdout tty";
    check(&format!("{pod}/exec"), "post", id, "connect", &["*/*"], queries);
    let id = "connectCoreV1GetNamespacedPodPortforward";
    check(&format!("{pod}/portforward"), "get", id, "connect", &["*/*"], "ports");
    let id = "connectCoreV1HeadNodeProxyWithPath";
    check("/nodes/{name}/proxy/{path}", "head", id, "connect", &["*/*"], "path");
    let schemas = part.at(&["components", "schemas"]).and_then(Value::as_map).expect("schemas");
    assert!(schemas.keys().all(|name| !name.contains("PodExecOptions")), "nothing refers to them");
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
