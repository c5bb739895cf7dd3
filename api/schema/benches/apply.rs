//! Benchmarks of server-side apply and of managed fields, on a Deployment of about 5 KiB with three
//! field managers.
//!
//! `cargo bench -p quorate-schema`. The hostile bodies are as large as requests may be.

use std::fmt::Write as _;
use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use quorate_meta::{Naming, Value};
use quorate_schema::apply::{Applier, Config};
use quorate_schema::fieldset::{FieldSet, Reach};
use quorate_schema::managed::{OneVersion, Writer, update_managed_fields};
use quorate_schema::{Graph, TypeId, apply_defaults, decode};

/// Bytes of a hostile body.
const HOSTILE_BYTES: usize = 3 << 20;

struct Subject {
    graph: Graph,
    ty: TypeId,
    reach: Reach,
}

impl Subject {
    fn new(kind: &str) -> Self {
        let graph = Graph::builtin(Naming::Svc.names());
        let ty = graph.type_named(kind).expect("a type").id;
        Self { graph, ty, reach: Reach::AllBut(FieldSet::of_fields(&["status"])) }
    }

    fn writer<'a>(&'a self, name: &'a str) -> Writer<'a> {
        let time = "2026-01-01T00:00:00Z";
        Writer {
            name,
            api_version: "apps/v1",
            subresource: "",
            time,
            reach: &self.reach,
            versions: &OneVersion,
        }
    }

    fn config(&self, body: &str) -> Config {
        Config::new(&self.graph, self.ty, json(body)).expect("fits")
    }

    fn apply(&self, live: Option<&Value>, name: &str, config: &Config) -> Value {
        let applier =
            Applier { graph: &self.graph, ty: self.ty, writer: self.writer(name), force: true };
        let mut object = applier.apply(live, config).expect("no entries that cannot be read");
        apply_defaults(&self.graph, self.ty, &mut object);
        object
    }
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("well-formed")
}

/// A Deployment of three containers with this image.
fn deployment(image: &str) -> String {
    let containers: Vec<String> = (0..3)
        .map(|at| {
            let env: Vec<String> = (0..12)
                .map(|number| format!(r#"{{"name":"SETTING_{number}","value":"value-{number}-{}"}}"#, "x".repeat(32)))
                .collect();
            format!(
                r#"{{"name":"c{at}","image":"{image}","env":[{}],"ports":[{{"containerPort":80}},{{"containerPort":443,"name":"tls"}}],"resources":{{"limits":{{"cpu":"1","memory":"1Gi"}}}},"livenessProbe":{{"httpGet":{{"path":"/","port":80}}}}}}"#,
                env.join(",")
            )
        })
        .collect();
    format!(
        r#"{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"d","labels":{{"app":"d","tier":"web"}}}},"spec":{{"selector":{{"matchLabels":{{"app":"d"}}}},"template":{{"metadata":{{"labels":{{"app":"d"}}}},"spec":{{"containers":[{}]}}}}}}}}"#,
        containers.join(",")
    )
}

fn deployments(criterion: &mut Criterion) {
    let subject = Subject::new("apps/v1.Deployment");
    let text = deployment("i:1");
    let config = subject.config(&text);
    let live = subject.apply(None, "deployer", &config);
    let scaler = subject.config(r#"{"metadata":{"name":"d"},"spec":{"replicas":3}}"#);
    let live = subject.apply(Some(&live), "scaler", &scaler);
    let marker = subject.config(r#"{"metadata":{"name":"d","annotations":{"a":"1","b":"2"}}}"#);
    let live = subject.apply(Some(&live), "marker", &marker);
    let changed = subject.config(&deployment("i:2"));
    let mut group =
        criterion.benchmark_group(format!("deployment of {} bytes, 3 managers", text.len()));
    group.bench_function("check a body", |bencher| {
        let value = json(&text);
        bencher.iter(|| Config::new(&subject.graph, subject.ty, black_box(value.clone())));
    });
    group.bench_function("apply the same", |bencher| {
        bencher.iter(|| subject.apply(Some(black_box(&live)), "deployer", &config));
    });
    group.bench_function("apply three new images", |bencher| {
        bencher.iter(|| subject.apply(Some(black_box(&live)), "deployer", &changed));
    });
    group.bench_function("track an update", |bencher| {
        let mut new = live.clone();
        new.set_at(&["spec", "replicas"], 5);
        bencher.iter(|| {
            let mut new = black_box(new.clone());
            update_managed_fields(
                &subject.graph,
                subject.ty,
                Some(&live),
                &mut new,
                &subject.writer("updater"),
            );
            new
        });
    });
    group.finish();
}

/// Text of `begin`, `element` for each number until the body size limit is reached, and `end`.
fn filled(begin: &str, element: impl Fn(usize) -> String, end: &str) -> String {
    let mut text = begin.to_owned();
    for number in 0.. {
        let comma = if number == 0 { "" } else { "," };
        write!(text, "{comma}{}", element(number)).expect("writing to a string cannot fail");
        if text.len() > HOSTILE_BYTES {
            break;
        }
    }
    text + end
}

fn hostile(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("hostile body of 3 MiB, applied by a second manager");
    group.sample_size(10);
    let map = Subject::new("core/v1.ConfigMap");
    let pod = Subject::new("core/v1.PodTemplateSpec");
    let bodies = [
        (
            "map entries",
            &map,
            filled(r#"{"metadata":{"name":"a"},"data":{"#, |at| format!(r#""{at}":"""#), "}}"),
        ),
        (
            "set elements",
            &map,
            filled(r#"{"metadata":{"finalizers":["#, |at| format!("\"{at}\""), "]}}"),
        ),
        (
            "keyed elements",
            &pod,
            filled(
                r#"{"spec":{"containers":[{"name":"c","env":["#,
                |at| format!(r#"{{"name":"{at}"}}"#),
                "]}]}}",
            ),
        ),
        (
            "parts below a long key",
            &pod,
            filled(
                &format!(
                    r#"{{"spec":{{"containers":[{{"name":"{}","env":["#,
                    "n".repeat(HOSTILE_BYTES / 2)
                ),
                |at| format!(r#"{{"name":"{at}"}}"#),
                "]}]}}",
            ),
        ),
    ];
    for (name, subject, body) in bodies {
        let live = subject.apply(None, "one", &subject.config(&body));
        group.bench_function(name, |bencher| {
            bencher.iter(|| subject.apply(Some(&live), "two", &subject.config(black_box(&body))));
        });
    }
    let schema = Subject::new("apiextensions/v1.JSONSchemaProps");
    let deep = (0..200).fold(r#"{"type":"string"}"#.to_owned(), |inner, at| {
        format!(r#"{{"properties":{{"p{at}":{inner}}},"required":["{}"]}}"#, "x".repeat(8 << 10))
    });
    group.bench_function("levels", |bencher| {
        bencher.iter(|| {
            let mut value = json(black_box(&deep));
            decode(&schema.graph, schema.ty, &mut value)
        });
    });
    group.finish();
}

criterion_group!(benches, deployments, hostile);
criterion_main!(benches);
