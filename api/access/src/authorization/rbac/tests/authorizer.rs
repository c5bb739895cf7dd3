//! The authorizer against the model: what it decides, and which grants it lets users write.

use std::sync::{Arc, LazyLock};

use proptest::prelude::*;
use quorate_env::SystemEnv;
use quorate_meta::well_known::GROUP_MASTERS;
use quorate_meta::{Naming, Value};
use quorate_store::{MemoryOptions, MemoryStore, Operation, Store, Txn};
use quorate_wire::stored;
use serde_json::{Value as Json, json};

use super::{
    Key, NAMES, Objects, Step, expected, holds, questions, rule, rules, step, take, texts, users,
};
use crate::authentication::User;
use crate::authorization::tests::informer;
use crate::authorization::{
    Action, Authorizer, AuthorizerOptions, ModeOptions, ResourceAction, check_escalation,
};
use quorate_kinds::builtin;
use quorate_registry::write::Target;
use quorate_registry::{Catalogue, Grant};

const GROUP: &str = "rbac.authorization.svc.io";
/// The role or binding that is written; rules may name it.
const WRITTEN: &str = "n";
/// A word that is in no rule: a user who may do something to this may do it to everything.
const UNKNOWN: &str = "unknown";

static REGISTRY: LazyLock<Catalogue> = LazyLock::new(|| builtin::catalogue_of(Naming::Svc.names()));

/// A wildcard is as good as a word that no rule has.
fn one(text: &str) -> &str {
    if text == "*" { UNKNOWN } else { text }
}

/// Everything that a rule grants, one verb on one thing each.
fn atoms(rule: &Json) -> Vec<Action<'_>> {
    let mut names = texts(&rule["resourceNames"]);
    if names.is_empty() {
        names.push(UNKNOWN);
    }
    let mut atoms = Vec::new();
    for verb in texts(&rule["verbs"]).into_iter().map(one) {
        for url in texts(&rule["nonResourceURLs"]) {
            let path = match url {
                "*" => "/unknown",
                "/m/*" => "/m/unknown",
                url => url,
            };
            atoms.push(Action::Path { verb, path });
        }
        for group in texts(&rule["apiGroups"]).into_iter().map(one) {
            for named in texts(&rule["resources"]) {
                let whole = if named == "*" {
                    (UNKNOWN, UNKNOWN)
                } else {
                    named.split_once('/').unwrap_or((named, ""))
                };
                let (resource, subresource) = (one(whole.0), whole.1);
                atoms.extend(names.iter().map(|name| {
                    let name = (*name).into();
                    let on = ResourceAction {
                        verb,
                        group,
                        resource,
                        subresource,
                        name,
                        ..ResourceAction::default()
                    };
                    Action::Resource(on)
                }));
            }
        }
    }
    atoms
}

/// Whether the model lets a user grant something in a namespace, or in the cluster; `wanted` are
/// the rules of a role.
fn may_give(
    objects: &Objects,
    user: &User,
    namespace: &str,
    wanted: &[Json],
    grant: &Grant,
) -> bool {
    let (verb, in_namespace, name) = match grant {
        Grant::Rules { exists, .. } => {
            ("escalate", !namespace.is_empty(), if *exists { WRITTEN } else { "" })
        }
        Grant::Role { in_namespace, name } => ("bind", *in_namespace, name.as_str()),
    };
    let (resource, kind) =
        if in_namespace { ("roles", "Role") } else { ("clusterroles", "ClusterRole") };
    let permission = ResourceAction {
        verb,
        group: GROUP,
        resource,
        namespace,
        name: name.into(),
        ..ResourceAction::default()
    };
    if user.is_in(GROUP_MASTERS) || expected(objects, user, &Action::Resource(permission)) {
        return true;
    }
    let everything = [
        json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}),
        json!({"verbs": ["*"], "nonResourceURLs": ["*"]}),
    ];
    let given = match grant {
        Grant::Rules { aggregates: true, .. } => Some([wanted, &everything[..]].concat()),
        Grant::Rules { .. } => Some(wanted.to_vec()),
        Grant::Role { .. } => {
            rules(objects, kind, if in_namespace { namespace } else { "" }, name).cloned()
        }
    };
    given.is_some_and(|rules| {
        rules.iter().flat_map(atoms).all(|atom| holds(objects, user, namespace, &atom))
    })
}

/// The users of the index, and a member of `system:masters`.
fn users_and_master() -> Vec<User> {
    let mut users = users();
    users.push(User::new("z", [GROUP_MASTERS.to_owned()]));
    users
}

/// What a user who writes in a namespace, or in the cluster, may try to grant: these rules, and
/// every role that may exist; with the resource that is written.
fn grants(wanted: &[Json], namespace: &str) -> Vec<(&'static str, Grant)> {
    let (role, binding) = if namespace.is_empty() {
        ("clusterroles", "clusterrolebindings")
    } else {
        ("roles", "rolebindings")
    };
    let mut grants = Vec::new();
    for (aggregates, exists) in [(false, false), (false, true), (true, true)] {
        let rules = wanted.iter().map(|rule| Value::from(rule.clone())).collect();
        grants.push((role, Grant::Rules { rules, aggregates, exists }));
    }
    for name in NAMES {
        grants.push((binding, Grant::Role { in_namespace: false, name: name.to_owned() }));
        if !namespace.is_empty() {
            grants.push((binding, Grant::Role { in_namespace: true, name: name.to_owned() }));
        }
    }
    grants
}

async fn put(store: &dyn Store, (kind, namespace, name): Key, now: Option<&Json>) {
    let resource = REGISTRY.find(GROUP, "v1", &format!("{}s", kind.to_ascii_lowercase())).unwrap();
    let key = resource.key(Some(namespace), name);
    let operation = match now {
        Some(object) => {
            let mut object = object.clone();
            object["metadata"] = json!({"name": name, "uid": "u"});
            Operation::Put { key, value: stored::encode(&object.into(), &[]).unwrap() }
        }
        None => Operation::Delete { key },
    };
    store.txn(Txn { operations: vec![operation], ..Txn::default() }).await.unwrap();
}

/// An authorizer over a store in which these steps were taken, the first half of them before it
/// read everything; and the objects that are left.
async fn authorizer(steps: &[Step]) -> (Authorizer, Objects) {
    let store: Arc<dyn Store> =
        Arc::new(MemoryStore::new(MemoryOptions::new(SystemEnv::env().clock)));
    let (names, modes) = (Naming::Svc.names(), &[ModeOptions::Rules]);
    let authorizer = Authorizer::new(AuthorizerOptions {
        names,
        catalogue: &REGISTRY,
        store: store.clone(),
        modes,
    });
    let mut objects = Objects::new();
    for (turn, bytes) in steps.iter().enumerate() {
        if turn == steps.len() / 2 {
            sync(&authorizer).await;
        }
        let (key, now) = step(*bytes);
        put(&*store, key, now.as_ref()).await;
        take(&mut objects, key, now.as_ref());
    }
    (authorizer, objects)
}

/// Reads everything; what comes later is found when something is asked.
async fn sync(authorizer: &Authorizer) {
    let synced = async {
        while !authorizer.rules().unwrap().is_synced() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        () = informer(authorizer).run() => unreachable!("it runs until stopped"),
        () = synced => {}
    }
}

async fn check_decisions(steps: &[Step]) -> Result<(), TestCaseError> {
    let (authorizer, objects) = authorizer(steps).await;
    for user in users_and_master() {
        for on in questions() {
            let expect = user.is_in(GROUP_MASTERS) || expected(&objects, &user, &on);
            let decision = authorizer.decide(&user, &on).await;
            prop_assert_eq!(decision.is_allowed(), expect, "{:?} {:?} {:?}", user, on, decision);
        }
    }
    Ok(())
}

async fn check_gifts(steps: &[Step], wanted: &[Json]) -> Result<(), TestCaseError> {
    let (authorizer, objects) = authorizer(steps).await;
    for user in users_and_master() {
        for namespace in ["", "a", "b"] {
            for (plural, grant) in grants(wanted, namespace) {
                let resource = REGISTRY.find(GROUP, "v1", plural).unwrap();
                let target = Target {
                    resource,
                    namespace: Some(namespace).filter(|name| !name.is_empty()),
                    name: WRITTEN,
                };
                let got = check_escalation(&authorizer, &user, target, &grant).await;
                let expect = may_give(&objects, &user, namespace, wanted, &grant);
                prop_assert_eq!(
                    got.is_ok(),
                    expect,
                    "{:?} in {:?}: {:?} {:?}",
                    user,
                    namespace,
                    grant,
                    got
                );
            }
        }
    }
    Ok(())
}

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_authorizer_decides_as_the_model_does(steps in prop::collection::vec(any::<Step>(), 1..40)) {
        block_on(check_decisions(&steps))?;
    }

    #[test]
    fn a_user_grants_only_what_they_hold(
        steps in prop::collection::vec(any::<Step>(), 1..40),
        wanted in prop::collection::vec(any::<[u8; 5]>(), 0..4),
    ) {
        let wanted: Vec<Json> = wanted.iter().map(|bytes| rule(bytes)).collect();
        block_on(check_gifts(&steps, &wanted))?;
    }
}
