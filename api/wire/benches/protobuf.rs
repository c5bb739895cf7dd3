//! Benchmarks of protobuf: the messages of stored objects, by the transcoder and by a tree.
//!
//! `cargo bench -p quorate-wire --bench protobuf`. The objects are a ConfigMap of about 1 KiB and a
//! Deployment as its controller leaves it.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use quorate_meta::{Naming, Value};
use quorate_schema::{Graph, TypeId};
use quorate_wire::json;
use quorate_wire::protobuf::{Transcoder, encode_message};

const DEPLOYMENT: &str = include_str!("deployment.json");

fn config_map() -> Value {
    let text = format!(
        r#"{{"data":{{"config.yaml":"{lines}","key":"value"}},"metadata":{{
        "creationTimestamp":"2026-01-02T03:04:05Z","labels":{{"app":"web","tier":"backend"}},
        "managedFields":[{{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{{"f:data":{{"f:key":{{}}}}}},
        "manager":"bench","operation":"Update","time":"2026-01-02T03:04:05Z"}}],
        "name":"object-1","namespace":"bench","resourceVersion":"1000000",
        "uid":"11111111-2222-3333-4444-000000000001"}}}}"#,
        lines = "some: setting\\n".repeat(50),
    );
    json::parse(text.as_bytes()).expect("well-formed").0
}

fn deployment() -> Value {
    json::parse(DEPLOYMENT.as_bytes()).expect("well-formed").0
}

fn messages(criterion: &mut Criterion) {
    let graph = Arc::new(Graph::builtin(Naming::Svc.names()));
    let transcoder = Transcoder::new(graph.clone());
    let metadata = |object: &Value| {
        Value::from([("metadata", object.get("metadata").expect("it has metadata").clone())])
    };
    let (map, deployment) = (config_map(), deployment());
    let samples = [
        ("ConfigMap", "core/v1.ConfigMap", map.clone()),
        ("Deployment", "apps/v1.Deployment", deployment.clone()),
        ("metadata of a ConfigMap", "meta/v1.PartialObjectMetadata", metadata(&map)),
        ("metadata of a Deployment", "meta/v1.PartialObjectMetadata", metadata(&deployment)),
    ];
    for (name, ty, object) in samples {
        let text = json::to_vec(&object);
        let ty: TypeId = graph.type_named(ty).expect("a type").id;
        let expect = encode_message(&graph, ty, &object).expect("it fits");
        assert_eq!(transcoder.message(ty, &text), Some(expect), "{name}");
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function("transcoder", |bencher| {
            bencher.iter(|| transcoder.message(ty, black_box(&text)));
        });
        group.bench_function("tree", |bencher| {
            bencher.iter(|| {
                let (value, _) = json::parse(black_box(&text)).expect("well-formed");
                encode_message(&graph, ty, &value)
            });
        });
        group.finish();
    }
}

criterion_group!(benches, messages);
criterion_main!(benches);
