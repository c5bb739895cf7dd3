//! The cost of flow control to a request that nothing is in the way of: classification, a seat, and
//! giving it back.
//!
//! `cargo bench -p quorate-access --bench flow_control`. A bar to hold: a microsecond, of the twenty
//! and more that a get takes.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use futures::FutureExt;
use quorate_access::authentication::User;
use quorate_access::authorization::Action;
use quorate_access::flow_control::{
    FlowControl, FlowControlOptions, NoFlowControlMetrics, WorkEstimate,
};
use quorate_env::SystemEnv;
use quorate_kinds::builtin;
use quorate_meta::Naming;
use quorate_registry::keys::Key;
use quorate_store::{MemoryOptions, MemoryStore, Operation, Store, Txn};
use quorate_wire::stored;
use serde_json::{Value, json};
use tokio::time::Instant;

/// A level with queues, and a flow schema that leads all users to it.
fn objects() -> [(&'static str, Value); 2] {
    let queuing = json!({"queues": 128, "handSize": 6, "queueLengthLimit": 50});
    let response = json!({"type": "Queue", "queuing": queuing});
    let limited = json!({"nominalConcurrencyShares": 100, "limitResponse": response});
    let rule = json!({
        "subjects": [{"kind": "Group", "group": {"name": "crew"}}],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    });
    let spec = json!({
        "priorityLevelConfiguration": {"name": "bench"},
        "matchingPrecedence": 500,
        "distinguisherMethod": {"type": "ByUser"},
        "rules": [rule],
    });
    [
        ("prioritylevelconfigurations", json!({"type": "Limited", "limited": limited})),
        ("flowschemas", spec),
    ]
}

fn flow_control() -> FlowControl {
    let names = Naming::Svc.names();
    let store = MemoryStore::new(MemoryOptions::new(Arc::new(SystemEnv)));
    let group = names.group("flowcontrol.apiserver");
    let put = |(resource, spec): (&str, Value)| {
        let object = json!({
            "apiVersion": format!("{group}/v1"),
            "metadata": {"name": "bench", "uid": "00000000-0000-0000-0000-000000000001"},
            "spec": spec,
        });
        let value = stored::encode(&object.into(), &[]).expect("a complete object");
        let key = Key::Object { group: &group, resource, namespace: None, name: "bench" };
        Operation::Put { key: key.encode(), value }
    };
    let operations = objects().map(put).to_vec();
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime
        .block_on(store.txn(Txn { conditions: Vec::new(), operations, ..Txn::default() }))
        .expect("a transaction");
    FlowControl::new(FlowControlOptions {
        names,
        catalogue: &builtin::catalogue_of(names),
        store: Arc::new(store),
        seats: Some(600),
        metrics: Arc::new(NoFlowControlMetrics),
    })
}

fn requests(bench: &mut Criterion) {
    let flow_control = flow_control();
    let action = Action::Path { verb: "get", path: "/version" };
    let user = |name: &str, group: &str| User::new(name, [group.to_owned()]);
    for (level, user) in
        [("bench", user("ann", "crew")), ("exempt", user("root", "system:masters"))]
    {
        let flow = flow_control.classify(&user, &action);
        assert_eq!(flow.level_name(), level);
        let classify = format!("classify, {level}");
        bench.bench_function(&classify, |b| {
            b.iter(|| flow_control.classify(black_box(&user), &action))
        });
        let until = Instant::now() + Duration::from_secs(3600);
        bench.bench_function(&format!("a seat, {level}"), |b| {
            b.iter(|| {
                let admitted = flow_control.admit(
                    &flow,
                    WorkEstimate::ONE_SEAT,
                    false,
                    until,
                    Default::default,
                );
                let admitted = admitted.now_or_never().expect("a seat is free");
                drop(black_box(admitted.expect("it is not refused")));
            });
        });
    }
}

criterion_group!(benches, requests);
criterion_main!(benches);
