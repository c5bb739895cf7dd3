//! The cost of checking a service account token: cached, as nearly always, and for the first time.
//!
//! `cargo bench -p quorate-access --bench tokens`. A bar to hold: 100,000 checks of cached tokens a
//! second on one core.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use quorate_access::authentication::token::{
    BoundObjectReference, Issue, KeyMaterial, KeySet, ObjectIdentity, ServiceAccountTokens,
    TokenOptions,
};
use quorate_env::SystemEnv;
use quorate_meta::Naming;
use quorate_registry::keys::Key;
use quorate_store::{MemoryOptions, MemoryStore, Operation, Store, Txn};
use quorate_wire::stored;

/// Accounts, each with a pod, in the store.
const ACCOUNTS: usize = 10_000;
const NOW_MS: u64 = 1_893_456_000_000;

fn identified(kind: &str, at: usize) -> ObjectIdentity {
    ObjectIdentity {
        name: format!("{kind}-{at}"),
        uid: format!("00000000-0000-0000-0000-{at:012}"),
    }
}

fn store() -> MemoryStore {
    let store = MemoryStore::new(MemoryOptions::new(Arc::new(SystemEnv)));
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    for at in 0..ACCOUNTS {
        let put = |resource, kind| {
            let ObjectIdentity { name, uid } = identified(kind, at);
            let key =
                Key::Object { group: "", resource, namespace: Some("bench"), name: &name }.encode();
            let object =
                serde_json::json!({"metadata": {"name": name, "namespace": "bench", "uid": uid}});
            Operation::Put {
                key,
                value: stored::encode(&object.into(), &[]).expect("a complete object"),
            }
        };
        let operations = vec![put("serviceaccounts", "robot"), put("pods", "pod")];
        runtime
            .block_on(store.txn(Txn { conditions: Vec::new(), operations, ..Txn::default() }))
            .expect("a transaction");
    }
    store
}

fn tokens() -> ServiceAccountTokens {
    let issuers = vec!["https://svc.default.svc".to_owned()];
    let options = TokenOptions { audiences: issuers.clone(), issuers, ..TokenOptions::default() };
    let tokens = ServiceAccountTokens::new(Naming::Svc.names(), options);
    tokens
        .set_keys(KeySet::new(&[KeyMaterial::generate(0).expect("a key")]).expect("a set of keys"));
    tokens
}

fn issue(tokens: &ServiceAccountTokens, at: usize) -> String {
    let issue = Issue {
        namespace: "bench".into(),
        account: identified("robot", at),
        audiences: tokens.options().audiences.clone(),
        lifetime: Some(3600),
        bound: Some(BoundObjectReference::Pod(identified("pod", at), Some(identified("node", at)))),
        id: format!("{at}"),
    };
    tokens.issue(issue, NOW_MS).expect("a token").token
}

fn checks(criterion: &mut Criterion) {
    let (store, tokens) = (store(), tokens());
    let audiences = tokens.options().audiences.clone();
    let issued: Vec<String> = (0..ACCOUNTS).map(|at| issue(&tokens, at)).collect();
    let check = |token: &str| {
        // As a request does: the state of the moment, and a user of its own.
        let accepted = tokens
            .check(black_box(token), &audiences, &store.snapshot(), NOW_MS)
            .expect("a good token");
        accepted.user.as_ref().clone()
    };
    let mut group = criterion.benchmark_group("service account tokens");
    group.throughput(Throughput::Elements(1));
    let mut next = 0;
    group.bench_function("a token that is remembered, of 10,000", |bencher| {
        bencher.iter(|| {
            next = (next + 1) % ACCOUNTS;
            check(&issued[next])
        });
    });
    let mut number = ACCOUNTS;
    group.bench_function("a token that is new", |bencher| {
        let made = || {
            number += 1;
            issue(&tokens, number % ACCOUNTS)
        };
        bencher.iter_batched(made, |token| check(&token), BatchSize::SmallInput);
    });
    group.finish();
}

criterion_group!(benches, checks);
criterion_main!(benches);
