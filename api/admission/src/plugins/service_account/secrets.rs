//! Secrets that a pod may name: none for a mirror pod, and only those of its service account when
//! that enforces mountable secrets (`enforce-mountable-secrets`).
//!
//! Not here: whether a secret exists, which the kubelet finds out.

use std::collections::HashSet;

use quorate_meta::{Names, Value};

/// The fields of volumes that name a secret.
const IN_VOLUMES: [&[&str]; 10] = [
    &["azureFile", "secretName"],
    &["cephfs", "secretRef", "name"],
    &["cinder", "secretRef", "name"],
    &["csi", "nodePublishSecretRef", "name"],
    &["flexVolume", "secretRef", "name"],
    &["iscsi", "secretRef", "name"],
    &["rbd", "secretRef", "name"],
    &["scaleIO", "secretRef", "name"],
    &["secret", "secretName"],
    &["storageos", "secretRef", "name"],
];
/// The lists of containers, and the word for one container of each in messages.
const CONTAINERS: [(&str, &str); 2] =
    [("initContainers", "init container"), ("containers", "container")];
const GUESTS: (&str, &str) = ("ephemeralContainers", "ephemeral container");

/// Admits a mirror pod that names no secret.
pub(super) fn of_mirror(pod: &Value) -> Result<(), &'static str> {
    if pod.str_at(&["spec", "serviceAccountName"]).is_some_and(|name| !name.is_empty()) {
        return Err("a mirror pod may not reference service accounts");
    }
    if names_some(pod) {
        return Err("a mirror pod may not reference secrets");
    }
    let is_token =
        |source: &Value| source.get("serviceAccountToken").is_some_and(|token| !token.is_null());
    if list(pod, &["spec", "volumes"])
        .iter()
        .any(|volume| list(volume, &["projected", "sources"]).iter().any(is_token))
    {
        return Err("a mirror pod may not use ServiceAccountToken volume projections");
    }
    Ok(())
}

/// Admits a new pod of this service account.
pub(super) fn check(names: &Names, account: &Value, pod: &Value) -> Result<(), String> {
    if !is_limited(names, account) {
        return Ok(());
    }
    let (own, allowed) = (text(account, &["metadata", "name"]), named(account, "secrets"));
    for volume in list(pod, &["spec", "volumes"]) {
        if let Some((by, name)) = of_volume(volume).find(|(_, name)| !allowed.contains(name)) {
            let what = format!("volume with {by}=\"{name}\"");
            return Err(not_allowed(&what, own, "secret"));
        }
    }
    CONTAINERS
        .iter()
        .try_for_each(|containers| check_containers(*containers, own, &allowed, pod))?;
    let allowed = named(account, "imagePullSecrets");
    let references =
        list(pod, &["spec", "imagePullSecrets"]).iter().map(|reference| text(reference, &["name"]));
    match references.enumerate().find(|(_, name)| !allowed.contains(name)) {
        Some((at, name)) => {
            let what = format!("imagePullSecrets[{at}].name=\"{name}\"");
            Err(not_allowed(&what, own, "imagePullSecret"))
        }
        None => Ok(()),
    }
}

/// Admits the ephemeral containers of a pod of this service account.
pub(super) fn check_guests(names: &Names, account: &Value, pod: &Value) -> Result<(), String> {
    if !is_limited(names, account) {
        return Ok(());
    }
    check_containers(GUESTS, text(account, &["metadata", "name"]), &named(account, "secrets"), pod)
}

/// Whether the service account enforces mountable secrets.
fn is_limited(names: &Names, account: &Value) -> bool {
    let says =
        text(account, &["metadata", "annotations", names.annotation_enforce_mountable_secrets]);
    matches!(says, "1" | "t" | "T" | "true" | "TRUE" | "True")
}

fn check_containers(
    (field, kind): (&str, &str),
    account: &str,
    allowed: &HashSet<&str>,
    pod: &Value,
) -> Result<(), String> {
    for container in list(pod, &["spec", field]) {
        let Some((by, secret)) =
            references(container).find(|(_, secret)| !allowed.contains(secret))
        else {
            continue;
        };
        let by = by.map_or_else(|| "envFrom".to_owned(), |variable| format!("envVar {variable}"));
        let name = text(container, &["name"]);
        let what = format!("{kind} {name} with {by} referencing secret.secretName=\"{secret}\"");
        return Err(not_allowed(&what, account, "secret"));
    }
    Ok(())
}

fn not_allowed(what: &str, account: &str, kind: &str) -> String {
    format!(
        "{what} is not allowed because service account {account} does not reference that {kind}"
    )
}

/// Whether a pod names any secret.
fn names_some(pod: &Value) -> bool {
    let lists = CONTAINERS.into_iter().chain([GUESTS]);
    let mut containers = lists.flat_map(|(field, _)| list(pod, &["spec", field]));
    let is_there = |name: &str| !name.is_empty();
    list(pod, &["spec", "imagePullSecrets"])
        .iter()
        .any(|reference| is_there(text(reference, &["name"])))
        || containers.any(|container| references(container).any(|(_, name)| is_there(name)))
        || list(pod, &["spec", "volumes"]).iter().any(|volume| of_volume(volume).next().is_some())
}

/// The secrets that a volume names, each with its field.
fn of_volume(volume: &Value) -> impl Iterator<Item = (String, &str)> {
    let own = IN_VOLUMES.iter().map(|path| (path.join("."), text(volume, path)));
    let projected = list(volume, &["projected", "sources"]).iter();
    let projected = projected
        .map(|source| ("projected.secret.name".to_owned(), text(source, &["secret", "name"])));
    own.chain(projected).filter(|(_, name)| !name.is_empty())
}

/// The secrets that a container names, each with the environment variable it is for, if it is for
/// one.
fn references<'v>(container: &'v Value) -> impl Iterator<Item = (Option<&'v str>, &'v str)> {
    let name = |secret: Option<&'v Value>| {
        Some(text(secret.filter(|secret| !secret.is_null())?, &["name"]))
    };
    let of_variables = list(container, &["env"]).iter().filter_map(move |variable| {
        let secret = name(variable.at(&["valueFrom", "secretKeyRef"]))?;
        Some((Some(text(variable, &["name"])), secret))
    });
    let of_sources = list(container, &["envFrom"]).iter();
    of_variables
        .chain(of_sources.filter_map(move |source| Some((None, name(source.get("secretRef"))?))))
}

/// The names in a list of references.
fn named<'v>(account: &'v Value, field: &str) -> HashSet<&'v str> {
    list(account, &[field]).iter().map(|reference| text(reference, &["name"])).collect()
}

fn text<'v>(value: &'v Value, path: &[&str]) -> &'v str {
    value.str_at(path).unwrap_or_default()
}

fn list<'v>(value: &'v Value, path: &[&str]) -> &'v [Value] {
    value.at(path).and_then(Value::as_list).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Naming;
    use serde_json::{Value as Json, json};

    fn account(limits: &str) -> Value {
        let annotations = json!({"svc.io/enforce-mountable-secrets": limits});
        let (secrets, pull) = (json!([{"name": "s"}]), json!([{"name": "p"}]));
        let metadata = json!({"name": "robot", "annotations": annotations});
        json!({"metadata": metadata, "secrets": secrets, "imagePullSecrets": pull}).into()
    }

    fn variable(secret: &str) -> Json {
        json!({"name": "c", "env": [{"name": "A", "value": "1"},
            {"name": "V", "valueFrom": {"secretKeyRef": {"name": secret, "key": "k"}}}]})
    }

    fn all_variables(secret: &str) -> Json {
        json!({"name": "c", "envFrom": [{"configMapRef": {"name": "m"}}, {"secretRef": {"name": secret}}]})
    }

    #[test]
    fn secrets_of_the_account_only() {
        let check = |spec: Json, expect: Result<(), &str>| {
            let pod = Value::from(json!({ "spec": spec }));
            let done = |limits: &str| check(Naming::Svc.names(), &account(limits), &pod);
            assert_eq!(done("True"), expect.map_err(str::to_owned));
            assert_eq!(done("yes"), Ok(()));
        };
        let volume = |name: &str| json!({"volumes": [{"name": "e"}, {"name": "v", "secret": {"secretName": name}}]});
        check(json!({}), Ok(()));
        check(volume("s"), Ok(()));
        let why = "volume with secret.secretName=\"x\" is not allowed because service account robot does not \
                   reference that secret";
        check(volume("x"), Err(why));
        let projected = |name: &str| json!({"volumes": [{"projected": {"sources": [{"secret": {"name": name}}]}}]});
        check(projected("s"), Ok(()));
        let why = "volume with projected.secret.name=\"x\" is not allowed because service account robot does not \
                   reference that secret";
        check(projected("x"), Err(why));
        let why = "volume with cephfs.secretRef.name=\"x\" is not allowed because service account robot does not \
                   reference that secret";
        check(json!({"volumes": [{"cephfs": {"secretRef": {"name": "x"}}}]}), Err(why));
        check(json!({"containers": [variable("s"), all_variables("s")]}), Ok(()));
        let why = "container c with envVar V referencing secret.secretName=\"x\" is not allowed because service \
                   account robot does not reference that secret";
        check(json!({"containers": [variable("x")]}), Err(why));
        let why = "init container c with envFrom referencing secret.secretName=\"x\" is not allowed because service \
                   account robot does not reference that secret";
        check(
            json!({"containers": [variable("x")], "initContainers": [all_variables("x")]}),
            Err(why),
        );
        check(json!({"ephemeralContainers": [variable("x")]}), Ok(()));
        let why = "imagePullSecrets[1].name=\"s\" is not allowed because service account robot does not reference \
                   that imagePullSecret";
        check(json!({"imagePullSecrets": [{"name": "p"}, {"name": "s"}]}), Err(why));
    }

    #[test]
    fn secrets_of_guests() {
        let check = |guest: Json, expect: Result<(), &str>| {
            let pod = Value::from(
                json!({"spec": {"ephemeralContainers": [guest], "containers": [variable("x")]}}),
            );
            let done = |limits: &str| check_guests(Naming::Svc.names(), &account(limits), &pod);
            assert_eq!(done("1"), expect.map_err(str::to_owned));
            assert_eq!(done(""), Ok(()));
        };
        check(variable("s"), Ok(()));
        let why = "ephemeral container c with envVar V referencing secret.secretName=\"x\" is not allowed because \
                   service account robot does not reference that secret";
        check(variable("x"), Err(why));
        let why = "ephemeral container c with envFrom referencing secret.secretName=\"x\" is not allowed because \
                   service account robot does not reference that secret";
        check(all_variables("x"), Err(why));
    }

    #[test]
    fn pods_of_nodes_name_none() {
        let check = |spec: Json, expect: &str| {
            let done = of_mirror(&json!({ "spec": spec }).into());
            assert_eq!(done.err().unwrap_or_default(), expect, "{spec}");
        };
        let of_volume = |source: Json| json!({ "volumes": [source] });
        let secrets = "a mirror pod may not reference secrets";
        check(json!({"serviceAccountName": "", "volumes": [{"configMap": {"name": "m"}}]}), "");
        check(
            json!({"serviceAccountName": "robot"}),
            "a mirror pod may not reference service accounts",
        );
        check(json!({"imagePullSecrets": [{"name": "s"}]}), secrets);
        check(json!({"initContainers": [variable("s")]}), secrets);
        check(json!({"containers": [all_variables("s")]}), secrets);
        check(of_volume(json!({"secret": {"secretName": "s"}})), secrets);
        check(of_volume(json!({"csi": {"nodePublishSecretRef": {"name": "s"}}})), secrets);
        check(of_volume(json!({"projected": {"sources": [{"secret": {"name": "s"}}]}})), secrets);
        let token = json!({"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}});
        check(of_volume(token), "a mirror pod may not use ServiceAccountToken volume projections");
    }
}
