//! The projected token volume of a pod: a token of its service account, the cluster's CA
//! certificate and the namespace; and its mount in each container.
//!
//! Invariant: a container that mounts a volume at that path keeps it.

use quorate_meta::{Map, Names, Value, name};
use sha2::{Digest, Sha256};

/// The prefix of the volume's name, by which a pod's volume of this kind is found.
const PREFIX: &str = "kube-api-access-";
/// Seconds that the token lives: somewhat more than an hour, which distinguishes such tokens from
/// requested ones.
const TOKEN_SECONDS: i64 = 3607;
/// The permissions of the files: 0644.
const MODE: i64 = 420;

/// Mounts the volume in each container without a mount at its path, and adds the volume when a
/// container needs it.
pub(super) fn add(names: &Names, uid: &str, spec: &mut Map) {
    let own = own_volume(spec);
    let name = own.clone().unwrap_or_else(|| volume_name(uid));
    let path = format!("/var/run/secrets/{}", names.domain_key("serviceaccount"));
    let mut is_needed = false;
    for field in ["initContainers", "containers"] {
        for container in spec.get_mut(field).and_then(Value::as_list_mut).into_iter().flatten() {
            is_needed |= add_mount(container, &name, &path);
        }
    }
    if is_needed
        && own.is_none()
        && let Some(volumes) = list_mut(spec, "volumes")
    {
        volumes.push(volume(names, &name));
    }
}

/// The name of the pod's own volume of this kind.
fn own_volume(spec: &Map) -> Option<String> {
    let volumes = spec.get("volumes").and_then(Value::as_list).unwrap_or_default();
    let mut names = volumes.iter().filter_map(|volume| volume.str_at(&["name"]));
    names.find(|name| name.starts_with(PREFIX)).map(str::to_owned)
}

/// A name that no volume of another pod has: plugins have no randomness, so it is derived from the
/// pod's uid.
fn volume_name(uid: &str) -> String {
    let mut entropy = [0; 8];
    entropy.copy_from_slice(&Sha256::digest(uid)[..8]);
    name::generate(PREFIX, entropy)
}

/// Mounts the volume in a container; false when the path has a mount already.
fn add_mount(container: &mut Value, name: &str, path: &str) -> bool {
    let Some(mounts) =
        container.as_map_mut().and_then(|container| list_mut(container, "volumeMounts"))
    else {
        return false;
    };
    if mounts.iter().any(|mount| mount.str_at(&["mountPath"]) == Some(path)) {
        return false;
    }
    mounts.push(Value::from([
        ("mountPath", Value::from(path)),
        ("name", name.into()),
        ("readOnly", true.into()),
    ]));
    true
}

/// A list, added where there is none.
fn list_mut<'m>(map: &'m mut Map, field: &str) -> Option<&'m mut Vec<Value>> {
    let value = map.get_or_insert_with(field, || Value::List(Vec::new()));
    if value.is_null() {
        *value = Value::List(Vec::new());
    }
    value.as_list_mut()
}

fn volume(names: &Names, name: &str) -> Value {
    let token =
        Value::from([("expirationSeconds", Value::from(TOKEN_SECONDS)), ("path", "token".into())]);
    let certificate = Value::from([("key", "ca.crt"), ("path", "ca.crt")]);
    let authority =
        [("items", Value::List(vec![certificate])), ("name", names.configmap_root_ca.into())];
    let field = Value::from([("apiVersion", "v1"), ("fieldPath", "metadata.namespace")]);
    let namespace = Value::from([("fieldRef", field), ("path", "namespace".into())]);
    let own = Value::from([("items", Value::List(vec![namespace]))]);
    let sources = vec![
        Value::from([("serviceAccountToken", token)]),
        Value::from([("configMap", Value::from(authority))]),
        Value::from([("downwardAPI", own)]),
    ];
    let projected =
        Value::from([("defaultMode", Value::from(MODE)), ("sources", Value::List(sources))]);
    Value::from([("name", Value::from(name)), ("projected", projected)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Naming;
    use serde_json::{Value as Json, json};

    fn added(naming: Naming, spec: Json) -> Json {
        let mut spec = Value::from(spec);
        add(naming.names(), "u", spec.as_map_mut().unwrap());
        serde_json::to_value(&spec).unwrap()
    }

    fn mount(name: &str) -> Json {
        json!({"name": name, "mountPath": "/var/run/secrets/svc.io/serviceaccount", "readOnly": true})
    }

    #[test]
    fn names_are_made_of_identities() {
        let (name, other) = (volume_name("u"), volume_name("v"));
        assert_eq!((name.len(), &name), (PREFIX.len() + 5, &volume_name("u")));
        assert_ne!(name, other);
        let letters = &name[PREFIX.len()..];
        assert!(
            letters.chars().all(|letter| "bcdfghjklmnpqrstvwxz2456789".contains(letter)),
            "{name}"
        );
    }

    #[test]
    fn every_container_sees_the_token() {
        let name = volume_name("u");
        let spec = added(
            Naming::Svc,
            json!({"containers": [{"name": "c"}], "initContainers": [{"name": "i"}]}),
        );
        for field in ["containers", "initContainers"] {
            assert_eq!(spec[field][0]["volumeMounts"], json!([mount(&name)]), "{field}");
        }
        let projected = json!({"defaultMode": 420, "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {"name": "svc-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [
                {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]}},
        ]});
        assert_eq!(spec["volumes"], json!([{"name": name, "projected": projected}]));
    }

    #[test]
    fn in_the_other_names() {
        let spec = added(Naming::Kubernetes, json!({"containers": [{"name": "c"}]}));
        let path = &spec["containers"][0]["volumeMounts"][0]["mountPath"];
        assert_eq!(path, "/var/run/secrets/kubernetes.io/serviceaccount");
        assert_eq!(
            spec["volumes"][0]["projected"]["sources"][1]["configMap"]["name"],
            "kube-root-ca.crt"
        );
    }

    #[test]
    fn what_is_there_stays() {
        let mounted = json!({"containers": [{"volumeMounts": [mount("mine")]}], "volumes": [{"name": "mine"}]});
        assert_eq!(added(Naming::Svc, mounted.clone()), mounted);
        let own = json!([{"name": "other"}, {"name": "kube-api-access-own"}]);
        let spec = added(
            Naming::Svc,
            json!({"containers": [{}, {"volumeMounts": [mount("other")]}], "volumes": own}),
        );
        let mounts = |at: usize| spec["containers"][at]["volumeMounts"].clone();
        assert_eq!(
            (mounts(0), mounts(1)),
            (json!([mount("kube-api-access-own")]), json!([mount("other")]))
        );
        assert_eq!(spec["volumes"], own);
        assert_eq!(added(Naming::Svc, json!({"containers": null})), json!({"containers": null}));
    }
}
