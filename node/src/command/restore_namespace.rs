//! `quorate restore --namespace`: brings the objects of one namespace back into a running cluster.
//!
//! The backup is served by a throwaway node of this machine ([`super::fork`]), so that objects are
//! read as its own release and definitions read them. Invariants: what is there stays as it is; what a
//! controller makes of other objects is left to it; nothing is written without `--yes`.

use http::{Method, StatusCode};
use quorate_backup::Target;
use quorate_env::Env;
use serde_json::{Map, Value};

use super::backup::http_source::HttpSource;
use super::backup::open;
use super::fork::ForkedNode;
use crate::cli::Restore;
use crate::error::Error;
use crate::terminal::{print_line, print_warning};

/// Resources that others need, in this order; the rest comes after them.
const FIRST: [&str; 6] =
    ["serviceaccounts", "secrets", "configmaps", "roles", "persistentvolumeclaims", "services"];
/// Resources that are made of others, or say what was.
const LEFT_OUT: [&str; 5] =
    ["events", "endpoints", "endpointslices", "leases", "controllerrevisions"];
/// What the server gives an object.
const GIVEN: [&str; 9] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// An object that is to come back.
struct RestoredObject {
    resource: String,
    /// Of its collection.
    path: String,
    name: String,
    object: Value,
}

/// Explains, and carries it out if told to.
pub(super) async fn run(options: &Restore, namespace: &str, env: &Env) -> Result<(), Error> {
    let living = HttpSource::open(options.kubeconfig.as_deref(), env)?;
    let repository = open(&options.from, env).await?;
    let target = options.at.unwrap_or(Target::Newest);
    let restored = quorate_backup::restore(&repository, target).await?;
    let revision = restored.revision;
    let mut node = ForkedNode::new(env).await?;
    let candidates = async {
        node.start(restored, env).await?;
        candidates(&HttpSource::open(Some(&node.kubeconfig()), env)?, namespace).await
    };
    let candidates = candidates.await;
    node.end().await?;
    let candidates = candidates?;
    print_line(format_args!("namespace {namespace} as of revision {revision}"));
    let mut failed = 0;
    for candidate in &candidates {
        let at = format!("{}/{}", candidate.path, candidate.name);
        let (status, _) = living.json(Method::GET, &at, None).await.map_err(Error::failed)?;
        let name = format!("{}/{}", candidate.resource, candidate.name);
        if status == StatusCode::OK {
            print_line(format_args!("  stays   {name}"));
            continue;
        }
        print_line(format_args!("  create  {name}"));
        if options.yes {
            let created = living.json(Method::POST, &candidate.path, Some(&candidate.object)).await;
            let (status, answer) = created.map_err(Error::failed)?;
            if !status.is_success() && status != StatusCode::CONFLICT {
                failed += 1;
                let why = answer["message"].as_str().unwrap_or_default();
                print_warning(format_args!("{name}: {status}: {why}"));
            }
        }
    }
    if !options.yes {
        print_line("Nothing was changed. To carry it out, add --yes.");
    }
    match failed {
        0 => Ok(()),
        number => Err(Error::failed(format_args!("{number} objects could not be created"))),
    }
}

/// The namespace and its objects, in the order in which they are to come back.
async fn candidates(source: &HttpSource, namespace: &str) -> Result<Vec<RestoredObject>, Error> {
    let own = get(source, &format!("/api/v1/namespaces/{namespace}")).await?;
    let own = own.ok_or_else(|| Error::config("the backup has no such namespace"))?;
    let (path, name) = ("/api/v1/namespaces".to_owned(), namespace.to_owned());
    let mut object = own;
    strip(&mut object);
    if let Some(spec) = object.as_object_mut() {
        spec.remove("spec");
    }
    let mut all = vec![RestoredObject { resource: "namespaces".to_owned(), path, name, object }];
    let mut others = Vec::new();
    for (prefix, resource) in collections(source).await? {
        let path = format!("{prefix}/namespaces/{namespace}/{resource}");
        let Some(list) = get(source, &path).await? else { continue };
        let (version, kind) =
            (list["apiVersion"].clone(), list["kind"].as_str().unwrap_or_default());
        let kind = kind.strip_suffix("List").unwrap_or(kind).to_owned();
        for item in list["items"].as_array().into_iter().flatten() {
            if is_made_by_others(item) {
                continue;
            }
            let mut object = item.clone();
            object["apiVersion"] = version.clone();
            object["kind"] = kind.clone().into();
            strip(&mut object);
            let name = item["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            let (resource, path) = (resource.clone(), path.clone());
            others.push(RestoredObject { resource, path, name, object });
        }
    }
    let rank = |candidate: &RestoredObject| {
        FIRST.iter().position(|first| *first == candidate.resource).unwrap_or(FIRST.len())
    };
    others.sort_by_key(rank);
    all.extend(others);
    Ok(all)
}

/// The path of each group version and a resource of it whose objects lie in namespaces and can be
/// created; each resource once, in the version that its server prefers.
async fn collections(source: &HttpSource) -> Result<Vec<(String, String)>, Error> {
    let mut prefixes = vec!["/api/v1".to_owned()];
    let groups = get(source, "/apis").await?.unwrap_or_default();
    for group in groups["groups"].as_array().into_iter().flatten() {
        if let Some(version) = group["preferredVersion"]["groupVersion"].as_str() {
            prefixes.push(format!("/apis/{version}"));
        }
    }
    let mut found = Vec::new();
    for prefix in prefixes {
        let resources = get(source, &prefix).await?.unwrap_or_default();
        for resource in resources["resources"].as_array().into_iter().flatten() {
            let name = resource["name"].as_str().unwrap_or_default();
            let verbs = resource["verbs"].as_array().into_iter().flatten();
            let verbs: Vec<&str> = verbs.filter_map(Value::as_str).collect();
            let fits = resource["namespaced"] == true
                && ["create", "list", "get"].iter().all(|verb| verbs.contains(verb));
            if fits && !name.contains('/') && !LEFT_OUT.contains(&name) {
                found.push((prefix.clone(), name.to_owned()));
            }
        }
    }
    Ok(found)
}

/// What is at a path; `None` for a 404.
async fn get(source: &HttpSource, path: &str) -> Result<Option<Value>, Error> {
    let (status, value) = source.json(Method::GET, path, None).await.map_err(Error::failed)?;
    match status {
        StatusCode::OK => Ok(Some(value)),
        StatusCode::NOT_FOUND => Ok(None),
        _ => Err(Error::failed(format_args!("{path}: {status}"))),
    }
}

/// Whether a controller will make it, or it is a token that is of no use any more.
fn is_made_by_others(object: &Value) -> bool {
    let owners = object["metadata"]["ownerReferences"].as_array();
    let controlled =
        owners.is_some_and(|owners| owners.iter().any(|owner| owner["controller"] == true));
    let kind = object["type"].as_str().unwrap_or_default();
    controlled || kind.ends_with("/service-account-token")
}

/// Takes away what the server gives.
fn strip(object: &mut Value) {
    let Some(fields) = object.as_object_mut() else { return };
    fields.remove("status");
    if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
        GIVEN.iter().for_each(|name| drop(metadata.remove(*name)));
    }
    if fields.get("kind").is_some_and(|kind| kind == "Service") {
        let spec = fields.get_mut("spec").and_then(Value::as_object_mut);
        spec.map(strip_addresses);
    }
}

/// Takes away the addresses of a Service, which may be another one's by now.
fn strip_addresses(spec: &mut Map<String, Value>) {
    if spec.get("clusterIP").is_some_and(|address| address != "None") {
        spec.remove("clusterIP");
        spec.remove("clusterIPs");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_the_server_gives_is_taken_away() {
        let mut object = json!({
            "kind": "Service", "metadata": { "name": "a", "uid": "u", "labels": { "a": "b" } },
            "spec": { "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ports": [] }, "status": {},
        });
        strip(&mut object);
        let expect = json!({
            "kind": "Service", "metadata": { "name": "a", "labels": { "a": "b" } },
            "spec": { "ports": [] },
        });
        assert_eq!(object, expect);
    }

    #[test]
    fn what_others_make_is_left_to_them() {
        let check =
            |object: Value, expect| assert_eq!(is_made_by_others(&object), expect, "{object}");
        let owned = |controller: bool| json!({ "metadata": { "ownerReferences": [{ "controller": controller }] } });
        check(owned(true), true);
        check(owned(false), false);
        check(json!({ "type": "kubernetes.io/service-account-token" }), true);
        check(json!({ "type": "Opaque" }), false);
    }
}
