//! Paths, their operations and the parameters of those.

use quorate_meta::{Naming, Value};

use super::{keys, svc};
use crate::graph::Graph;
use crate::openapi::{Documents, Served};

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
