//! Benchmarks of the paths of every request: reading and writing JSON, splicing stored values,
//! filtering by label.
//!
//! `cargo bench -p quorate-wire`. Objects are ConfigMaps of about 1 KiB with four labels.

use std::hint::black_box;

use bytes::Bytes;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use quorate_meta::{LabelSelector, Value};
use quorate_wire::json;
use quorate_wire::stored::{StoredRef, encode, splice_item, splice_item_len, splice_object};

/// Objects in the lists that are spliced and filtered.
const OBJECTS: usize = 10_000;

fn object(index: usize) -> Value {
    let text = format!(
        r#"{{"data":{{"config.yaml":"{lines}","key":"value-{index}"}},"metadata":{{
        "creationTimestamp":"2026-01-02T03:04:05Z","generation":1,
        "labels":{{"app":"web-{app}","app.example.com/instance":"instance-{index}","env":"prod","tier":"backend"}},
        "managedFields":[{{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{{"f:data":{{"f:key":{{}}}}}},
        "manager":"bench","operation":"Update","time":"2026-01-02T03:04:05Z"}}],
        "name":"object-{index}","namespace":"bench","uid":"11111111-2222-3333-4444-{index:012}"}}}}"#,
        lines = "some: setting\\n".repeat(30),
        app = index % 10,
    );
    json::parse(text.as_bytes()).expect("well-formed").0
}

fn list() -> Vec<Bytes> {
    (0..OBJECTS).map(|index| encode(&object(index), &[]).expect("a complete object")).collect()
}

fn texts(criterion: &mut Criterion) {
    let value = object(7);
    let text = json::to_vec(&value);
    let mut group = criterion.benchmark_group("json");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("parse 1 KiB", |bencher| bencher.iter(|| json::parse(black_box(&text))));
    let mut target = Vec::with_capacity(2 * text.len());
    group.bench_function("write 1 KiB", |bencher| {
        bencher.iter(|| {
            target.clear();
            json::write(black_box(&value), &mut target);
            target.len()
        });
    });
    group.bench_function("encode 1 KiB", |bencher| bencher.iter(|| encode(black_box(&value), &[])));
    group.finish();
}

fn splices(criterion: &mut Criterion) {
    let list = list();
    let bytes: usize = list.iter().map(Bytes::len).sum();
    let mut target: Vec<u8> = Vec::with_capacity(2 * bytes);
    let mut group = criterion.benchmark_group("splice");
    group.throughput(Throughput::Bytes(bytes as u64));
    group.bench_function("10,000 list items", |bencher| {
        bencher.iter(|| {
            target.clear();
            for (bytes, revision) in list.iter().zip(1_000_000..) {
                let stored = StoredRef::parse(bytes).expect("just encoded");
                target.reserve(splice_item_len(&stored, revision));
                splice_item(&mut target, &stored, revision);
            }
            target.len()
        });
    });
    group.throughput(Throughput::Elements(1));
    group.bench_function("one object", |bencher| {
        bencher.iter(|| {
            target.clear();
            let stored = StoredRef::parse(black_box(&list[7])).expect("just encoded");
            splice_object(&mut target, &stored, "v1", "ConfigMap", 1_000_000);
            target.len()
        });
    });
    group.finish();
}

fn filters(criterion: &mut Criterion) {
    let list = list();
    let mut group = criterion.benchmark_group("filter");
    group.throughput(Throughput::Elements(OBJECTS as u64));
    for text in ["app=web-3", "env=prod,tier in (backend,frontend),app!=web-3", "!missing"] {
        let selector = LabelSelector::parse(text).expect("well-formed");
        group.bench_function(text, |bencher| {
            bencher.iter(|| {
                let stored =
                    list.iter().map(|bytes| StoredRef::parse(bytes).expect("just encoded"));
                stored.filter(|stored| stored.matches(&selector)).count()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, texts, splices, filters);
criterion_main!(benches);
