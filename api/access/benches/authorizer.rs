//! The authorizer's latency: one check among 100,000 RoleBindings, and the list of a user's rules.
//!
//! Besides criterion's means, the distribution of single answers is printed, since the budget (50
//! us) is about the slowest in a hundred: for what is allowed and what is not, for users with few
//! bindings and for one with very many.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::Criterion;
use quorate_access::authentication::User;
use quorate_access::authorization::{
    Action, Authorizer, AuthorizerOptions, ModeOptions, ResourceAction,
};
use quorate_env::SystemEnv;
use quorate_kinds::builtin;
use quorate_meta::{Naming, Value};
use quorate_registry::Catalogue;
use quorate_registry::derived::{Informer, InformerOptions};
use quorate_registry::keys::Key;
use quorate_registry::write::{GivenOptions, Put, Target, WriteOptions, Writer};
use quorate_schema::Graph;
use quorate_store::{MemoryOptions, MemoryStore, Operation, Store, Txn};
use serde_json::json;
use tokio::runtime::Runtime;

const GROUP: &str = "rbac.authorization.svc.io";
const NAMESPACES: usize = 1_000;
const BINDINGS_EACH: usize = 100;
const ANSWERS: usize = 200_000;
/// Fewer, since each of them is long.
const LISTINGS: usize = 20_000;
/// The namespace in which one user has every binding, each of another role.
const CROWDED: usize = 0;

/// In each namespace as many bindings as users, all of one role; but in one of them all of one
/// user, each of a role of its own. Beyond that, that user is bound everywhere.
async fn fill(catalogue: &Catalogue, writer: &Writer, store: &dyn Store) {
    let find = |plural: &str| catalogue.find(GROUP, "v1", plural).unwrap();
    let (roles, bindings) = (find("roles"), find("rolebindings"));
    for number in 0..NAMESPACES {
        let namespace = format!("n{number}");
        let key = Key::Live { namespace: &namespace }.encode();
        let operations = vec![Operation::Put { key, value: bytes::Bytes::new() }];
        store.txn(Txn { operations, ..Txn::default() }).await.unwrap();
        let crowded = number == CROWDED;
        let names: Vec<String> = (0..BINDINGS_EACH).map(|number| format!("b{number}")).collect();
        let role = |name: &str, resource: &str| {
            let rules =
                json!([{"apiGroups": [""], "resources": [resource], "verbs": ["get", "list"]}]);
            Value::from(json!({"metadata": {"name": name, "namespace": namespace}, "rules": rules}))
        };
        let namespace = Some(namespace.as_str());
        let put = |resource, name, object| Put {
            target: Target { resource, namespace, name },
            replaces: None,
            object,
        };
        let mut puts = vec![put(roles, "r", role("r", "pods"))];
        for (number, name) in names.iter().enumerate() {
            if crowded {
                puts.push(put(roles, name, role(name, &format!("kind-{number}"))));
            }
            let user = if crowded || number == 0 {
                "everywhere".to_owned()
            } else {
                format!("user-{number}")
            };
            let object = json!({
                "metadata": {"name": name, "namespace": namespace},
                "subjects": [{"kind": "User", "apiGroup": GROUP, "name": user}],
                "roleRef": {"apiGroup": GROUP, "kind": "Role", "name": if crowded { name } else { "r" }}
            });
            puts.push(put(bindings, name, object.into()));
        }
        let options = WriteOptions { dry_run: false, manager: "bench", given: GivenOptions::NONE };
        writer.put_all(puts, options).await.unwrap().unwrap();
    }
}

/// One question; `None` as the resource asks for all rights.
struct Question {
    user: User,
    namespace: usize,
    resource: Option<&'static str>,
}

struct Bench {
    runtime: Runtime,
    authorizer: Arc<Authorizer>,
}

impl Bench {
    /// How long it took, and whether something was allowed.
    fn ask(&self, question: &Question) -> (Duration, bool) {
        let namespace = format!("n{}", question.namespace);
        let started = Instant::now();
        let Some(resource) = question.resource else {
            let rights = self.runtime.block_on(self.authorizer.rights(&question.user, &namespace));
            return (started.elapsed(), !rights.resources.is_empty());
        };
        let on = ResourceAction {
            verb: "get",
            resource,
            namespace: &namespace,
            ..ResourceAction::default()
        };
        let decision =
            self.runtime.block_on(self.authorizer.decide(&question.user, &Action::Resource(on)));
        (started.elapsed(), decision.is_allowed())
    }

    /// Prints the distribution of the times of many questions, made from the number of a namespace.
    fn measure(
        &self,
        what: &str,
        allowed: bool,
        count: usize,
        question: impl Fn(usize) -> Question,
    ) {
        let one = |turn: usize| {
            let (time, is_allowed) = self.ask(&question(turn * 7 % NAMESPACES));
            assert_eq!(is_allowed, allowed, "{what}");
            time
        };
        let mut times: Vec<Duration> = (0..count).map(one).collect();
        times.sort_unstable();
        let at = |part: usize| times[times.len() * part / 1000];
        println!("{what}: p50 {:?}, p99 {:?}, p99.9 {:?}", at(500), at(990), at(999));
    }
}

fn main() {
    let runtime = Runtime::new().unwrap();
    let env = SystemEnv::env();
    let graph = Arc::new(Graph::builtin(Naming::Svc.names()));
    let catalogue = builtin::catalogue(&graph);
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(MemoryOptions::new(env.clock.clone())));
    let writer = Writer::new(graph.names(), store.clone(), env);
    runtime.block_on(fill(&catalogue, &writer, &*store));
    let options = AuthorizerOptions {
        names: Naming::Svc.names(),
        catalogue: &catalogue,
        store,
        modes: &[ModeOptions::Rules],
    };
    let authorizer = Arc::new(Authorizer::new(options));
    let (informer, _) = Informer::new(InformerOptions { states: authorizer.derived_states() });
    let started = Instant::now();
    runtime.spawn(informer.run());
    let bench = Bench { runtime, authorizer };
    let of = |name: &str| User::new(name, (0..10).map(|number| format!("group-{number}")));
    let ask = |user: &str, namespace, resource| Question { user: of(user), namespace, resource };
    // In the crowded namespace, where user 7 has nothing, all is as elsewhere but for that.
    let elsewhere = |namespace: usize| namespace.max(CROWDED + 1);
    assert!(bench.ask(&ask("user-7", elsewhere(0), Some("pods"))).1);
    println!("first sync of {} bindings: {:?}", NAMESPACES * BINDINGS_EACH, started.elapsed());
    bench.measure("allowed", true, ANSWERS, |at| ask("user-7", elsewhere(at), Some("pods")));
    bench
        .measure("not allowed", false, ANSWERS, |at| ask("user-7", elsewhere(at), Some("secrets")));
    bench.measure("allowed, bound everywhere", true, ANSWERS, |at| {
        ask("everywhere", elsewhere(at), Some("pods"))
    });
    bench.measure("allowed, by one of 100 bindings", true, ANSWERS, |_| {
        ask("everywhere", CROWDED, Some("kind-99"))
    });
    bench.measure("not allowed, by 100 bindings", false, ANSWERS, |_| {
        ask("everywhere", CROWDED, Some("secrets"))
    });
    bench.measure("rights", true, LISTINGS, |at| ask("user-7", elsewhere(at), None));
    bench.measure("rights by 100 bindings", true, LISTINGS, |_| ask("everywhere", CROWDED, None));
    let mut criterion = Criterion::default().configure_from_args();
    criterion.bench_function("allowed", |bencher| {
        bencher.iter(|| bench.ask(&ask("user-7", 500, Some("pods"))))
    });
    criterion.bench_function("not allowed", |bencher| {
        bencher.iter(|| bench.ask(&ask("user-7", 500, Some("secrets"))))
    });
    criterion.final_summary();
}
