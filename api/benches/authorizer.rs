//! How long one check takes among 100,000 RoleBindings, and how long until a new one is in force.
//!
//! Besides criterion's means, the distribution of single checks is printed, since the budget (50 us) is about the slowest
//! in a hundred.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark")]

use std::sync::Arc;
use std::time::Instant;

use criterion::Criterion;
use quorate_api::authentication::User;
use quorate_api::authorization::rbac::{FeedOptions, RuleFeed};
use quorate_api::authorization::{Action, Authorizer, AuthorizerOptions, ModeOptions, ResourceAction};
use quorate_api::registry::write::{Put, Target, WriteOptions, Writer};
use quorate_api::registry::{Registry, builtin, keys::Key};
use quorate_meta::{Naming, Value};
use quorate_schema::Graph;
use quorate_store::env::SystemEnv;
use quorate_store::{MemoryOptions, MemoryStore, Operation, Store, Txn};
use serde_json::json;
use tokio::runtime::Runtime;

const GROUP: &str = "rbac.authorization.svc.io";
const NAMESPACES: usize = 1_000;
const BINDINGS_EACH: usize = 100;
const CHECKS: usize = 200_000;

async fn fill(registry: &Registry, writer: &Writer, store: &dyn Store) {
    let find = |plural: &str| registry.find(GROUP, "v1", plural).unwrap();
    let (roles, bindings) = (find("roles"), find("rolebindings"));
    for namespace in 0..NAMESPACES {
        let namespace = format!("n{namespace}");
        let key = Key::Live { namespace: &namespace }.encode();
        let operations = vec![Operation::Put { key, value: bytes::Bytes::new() }];
        store.txn(Txn { operations, ..Txn::default() }).await.unwrap();
        let names: Vec<String> = (0..BINDINGS_EACH).map(|number| format!("b{number}")).collect();
        let rules = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]);
        let role = Value::from(json!({"metadata": {"name": "r", "namespace": namespace}, "rules": rules}));
        let namespace = Some(namespace.as_str());
        let mut puts =
            vec![Put { target: Target { resource: roles, namespace, name: "r" }, replaces: None, object: role }];
        puts.extend(names.iter().enumerate().map(|(number, name)| {
            let subject = json!({"kind": "User", "apiGroup": GROUP, "name": format!("user-{number}")});
            let object = json!({
                "metadata": {"name": name, "namespace": namespace}, "subjects": [subject],
                "roleRef": {"apiGroup": GROUP, "kind": "Role", "name": "r"}
            });
            Put { target: Target { resource: bindings, namespace, name }, replaces: None, object: object.into() }
        }));
        let options = WriteOptions { dry_run: false, manager: "bench" };
        writer.put_all(puts, options).await.unwrap().unwrap();
    }
}

fn main() {
    let runtime = Runtime::new().unwrap();
    let env = SystemEnv::env();
    let graph = Arc::new(Graph::builtin(Naming::Svc.names()));
    let registry = builtin::registry(&graph);
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(MemoryOptions::new(env.clock.clone())));
    let writer = Writer::new(graph.clone(), store.clone(), env);
    runtime.block_on(fill(&registry, &writer, &*store));
    let options =
        AuthorizerOptions { names: Naming::Svc.names(), registry: &registry, store, modes: &[ModeOptions::Rules] };
    let authorizer = Arc::new(Authorizer::new(options));
    let (feed, _) = RuleFeed::new(FeedOptions { authorizer: authorizer.clone() });
    let started = Instant::now();
    runtime.spawn(feed.run());
    let groups = (0..10).map(|number| format!("group-{number}"));
    let user = User::new("user-7", groups);
    let check = |namespace: usize| {
        let namespace = format!("n{namespace}");
        let on = ResourceAction { verb: "get", resource: "pods", namespace: &namespace, ..ResourceAction::default() };
        let action = Action::Resource(on);
        let started = Instant::now();
        let decision = runtime.block_on(authorizer.decide(&user, &action));
        (started.elapsed(), decision)
    };
    assert!(check(0).1.is_allowed());
    println!("first sync of {} bindings: {:?}", NAMESPACES * BINDINGS_EACH, started.elapsed());
    let mut times: Vec<_> = (0..CHECKS).map(|turn| check(turn * 7 % NAMESPACES).0).collect();
    times.sort_unstable();
    let at = |part: usize| times[times.len() * part / 1000];
    println!("one check: p50 {:?}, p99 {:?}, p99.9 {:?}", at(500), at(990), at(999));
    let mut criterion = Criterion::default().configure_from_args();
    criterion.bench_function("allowed", |bencher| bencher.iter(|| check(500)));
    criterion.bench_function("not allowed", |bencher| bencher.iter(|| check(NAMESPACES + 1)));
    criterion.final_summary();
}
