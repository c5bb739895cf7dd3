//! The order in which objects come back, and which of them controllers make by themselves.
//!
//! Invariant: an owner comes before what belongs to it.

use std::collections::{BTreeMap, BTreeSet};

use quorate_meta::Value;

use super::Candidate;
use super::restored::is_token;

/// Types that come before others, or after: what pods need first, what limits them last.
const RANKS: [(&str, u8); 12] = [
    ("serviceaccounts", 0),
    ("secrets", 1),
    ("configmaps", 2),
    ("persistentvolumeclaims", 3),
    ("services", 4),
    ("roles", 5),
    ("rolebindings", 6),
    ("pods", 8),
    ("horizontalpodautoscalers", 9),
    ("poddisruptionbudgets", 9),
    ("limitranges", 10),
    ("resourcequotas", 10),
];
/// All others.
const RANK: u8 = 7;

/// The objects in the order in which they come back.
pub(super) fn in_order(mut candidates: Vec<Candidate>) -> Vec<Candidate> {
    candidates.sort_by_cached_key(|candidate| {
        let plural = &candidate.resource.plural;
        let rank = RANKS.iter().find(|(name, _)| name == plural).map_or(RANK, |(_, rank)| *rank);
        let Candidate { namespace, name, .. } = candidate;
        (rank, candidate.resource.full_name(), namespace.clone(), name.clone())
    });
    let by_uid: BTreeMap<&str, usize> = candidates
        .iter()
        .enumerate()
        .filter(|(_, candidate)| !candidate.uid().is_empty())
        .map(|(at, candidate)| (candidate.uid(), at))
        .collect();
    let owners: Vec<Vec<usize>> = candidates
        .iter()
        .map(|candidate| owner_uids(candidate).filter_map(|uid| by_uid.get(uid).copied()).collect())
        .collect();
    let mut order = Vec::with_capacity(candidates.len());
    let mut placed = BTreeSet::new();
    for at in 0..candidates.len() {
        place_behind_owners(at, &owners, &mut placed, &mut order);
    }
    let mut candidates: Vec<Option<Candidate>> = candidates.into_iter().map(Some).collect();
    order.into_iter().filter_map(|at| candidates[at].take()).collect()
}

/// Puts an object behind its owners, without recursion: chains may be long, and circles are no reason to fail.
fn place_behind_owners(
    at: usize,
    owners: &[Vec<usize>],
    placed: &mut BTreeSet<usize>,
    order: &mut Vec<usize>,
) {
    let mut waiting = vec![(at, false)];
    let mut seen = BTreeSet::new();
    while let Some((at, owners_done)) = waiting.pop() {
        if placed.contains(&at) {
            continue;
        }
        if owners_done || !seen.insert(at) {
            placed.insert(at);
            order.push(at);
            continue;
        }
        waiting.push((at, true));
        waiting
            .extend(owners[at].iter().filter(|owner| !seen.contains(owner)).map(|o| (*o, false)));
    }
}

fn owner_uids(candidate: &Candidate) -> impl Iterator<Item = &str> {
    let references = candidate.past.at(&["metadata", "ownerReferences"]).and_then(Value::as_list);
    references.unwrap_or_default().iter().filter_map(|owner| owner.str_at(&["uid"]))
}

/// Who makes an object without being asked, if one does; `all` are those that come back beside it.
pub(super) fn maker(candidate: &Candidate, all: &[Candidate]) -> Option<&'static str> {
    let Candidate { name, past, .. } = candidate;
    let annotation = |ending: &str| {
        let all = past.at(&["metadata", "annotations"]).and_then(Value::as_map);
        all.is_some_and(|all| all.iter().any(|(key, _)| key.ends_with(ending)))
    };
    if candidate.is("", "ServiceAccount") && name == "default" && is_plain_account(past) {
        Some("the service account controller makes it")
    } else if candidate.is("", "ConfigMap") && name.ends_with("root-ca.crt") {
        Some("the publisher of root certificates makes it")
    } else if is_token(candidate) {
        Some("the token controller makes tokens")
    } else if (candidate.is("discovery", "EndpointSlice") && is_made_of_service(past))
        || (candidate.is("", "Endpoints") && has_selecting_service(candidate, all))
    {
        Some("the controller of its service makes it")
    } else if candidate.is("", "Pod") && annotation("/config.mirror") {
        Some("its node makes it")
    } else {
        None
    }
}

/// Whether a service account says nothing but its name.
fn is_plain_account(past: &Value) -> bool {
    let said = |path: &[&str]| past.at(path).is_some_and(|value| !value.is_empty());
    ["secrets", "imagePullSecrets", "automountServiceAccountToken"]
        .iter()
        .all(|field| !said(&[*field]))
        && ["labels", "annotations"].iter().all(|field| !said(&["metadata", *field]))
}

fn is_made_of_service(past: &Value) -> bool {
    let labels = past.at(&["metadata", "labels"]).and_then(Value::as_map);
    labels.is_some_and(|labels| {
        labels.iter().any(|(key, value)| {
            key.starts_with("endpointslice.")
                && key.ends_with("/managed-by")
                && value.as_str().is_some_and(|maker| maker.contains("-controller"))
        })
    })
}

fn has_selecting_service(candidate: &Candidate, all: &[Candidate]) -> bool {
    all.iter().any(|other| {
        other.is("", "Service")
            && (&other.name, &other.namespace) == (&candidate.name, &candidate.namespace)
            && other.past.at(&["spec", "selector"]).is_some_and(|selector| !selector.is_empty())
    })
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::cluster_client::ApiResource;

    /// An object of `[GROUP] PLURAL KIND`.
    pub(in super::super) fn candidate(resource: &str, past: Json) -> Candidate {
        let words: Vec<&str> = resource.split(' ').collect();
        let (group, plural, kind) = match words[..] {
            [plural, kind] => ("", plural, kind),
            [group, plural, kind] => (group, plural, kind),
            _ => panic!("{resource}"),
        };
        let resource = ApiResource {
            group: group.to_owned(),
            version: "v1".to_owned(),
            plural: plural.to_owned(),
            singular: kind.to_lowercase(),
            kind: kind.to_owned(),
            namespaced: true,
            ..ApiResource::default()
        };
        Candidate::new(&resource, past.into())
    }

    fn named(resource: &str, name: &str, owner: Option<&str>) -> Candidate {
        let owners: Vec<Json> = owner.iter().map(|uid| json!({"uid": uid})).collect();
        candidate(
            resource,
            json!({"metadata": {"name": name, "uid": name, "ownerReferences": owners}}),
        )
    }

    #[test]
    fn owners_come_first() {
        let check = |candidates: Vec<Candidate>, expect: &str| {
            let names: Vec<_> = in_order(candidates).into_iter().map(|found| found.name).collect();
            assert_eq!(names.join(" "), expect);
        };
        let config = |name: &str, owner| named("configmaps ConfigMap", name, owner);
        let app = |name: &str, owner| named("apps deployments Deployment", name, owner);
        check(
            vec![
                named("resourcequotas ResourceQuota", "quota", None),
                named("pods Pod", "pod", Some("replicas")),
                named("apps replicasets ReplicaSet", "replicas", Some("web")),
                app("web", None),
                config("c", None),
                named("serviceaccounts ServiceAccount", "account", None),
                named("services Service", "service", None),
            ],
            "account c service web replicas pod quota",
        );
        // A ConfigMap of a Deployment waits for it, though ConfigMaps come first.
        check(vec![config("b", Some("web")), config("a", None), app("web", None)], "a web b");
        check(
            vec![config("a", Some("b")), config("b", Some("c")), config("c", Some("gone"))],
            "c b a",
        );
        check(vec![config("a", Some("b")), config("b", Some("a"))], "b a");
        check(vec![config("a", Some("a"))], "a");
    }

    #[test]
    fn controllers_make_some_themselves() {
        let check = |resource: &str, past: Json, expect: &str| {
            let selecting = json!({"metadata": {"name": "s"}, "spec": {"selector": {"a": "b"}}});
            let all = [candidate("services Service", selecting)];
            let found = maker(&candidate(resource, past.clone()), &all);
            assert!(
                found.map_or(expect.is_empty(), |found| !expect.is_empty()
                    && found.contains(expect)),
                "{past} {found:?}"
            );
        };
        let account = "serviceaccounts ServiceAccount";
        check(account, json!({"metadata": {"name": "default"}}), "service account controller");
        check(
            account,
            json!({"metadata": {"name": "default"}, "imagePullSecrets": [{"name": "p"}]}),
            "",
        );
        check(account, json!({"metadata": {"name": "robot"}}), "");
        check(
            "configmaps ConfigMap",
            json!({"metadata": {"name": "kube-root-ca.crt"}}),
            "publisher",
        );
        check("secrets Secret", json!({"type": "kubernetes.io/service-account-token"}), "token");
        check("secrets Secret", json!({"type": "Opaque"}), "");
        let slices = "discovery.k8s.io endpointslices EndpointSlice";
        let label = |by: &str| json!({"metadata": {"labels": {"endpointslice.kubernetes.io/managed-by": by}}});
        check(slices, label("endpointslice-controller.k8s.io"), "service");
        check(slices, label("staff"), "");
        check("endpoints Endpoints", json!({"metadata": {"name": "s"}}), "service");
        check("endpoints Endpoints", json!({"metadata": {"name": "t"}}), "");
        check(
            "pods Pod",
            json!({"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}}),
            "node",
        );
    }
}
