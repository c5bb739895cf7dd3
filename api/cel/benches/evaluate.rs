//! Evaluation and compilation beside the crate `cel`, over rules that definitions and policies in public projects have.
//!
//! Each rule runs over other operands at every iteration. Both engines get their variables bound before the clock starts;
//! ours counts cost besides.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use quorate_cel::environment::{Environment, Library};
use quorate_cel::eval::Activation;
use quorate_cel::program::{Limits, Program};
use quorate_cel::types::Type;
use quorate_cel::value::Shape;
use serde_json::{Value as Json, json};

/// Operands of each rule.
const OPERANDS: usize = 32;

/// Rules with their operands: `self`, by number.
type Rule = (&'static str, fn(usize) -> Json);

const RULES: [Rule; 30] = [
    ("self.spec.replicas <= 5", |n| json!({"spec": {"replicas": n % 9}})),
    (
        "self.minReplicas <= self.replicas && self.replicas <= self.maxReplicas",
        |n| json!({"minReplicas": 1, "replicas": n, "maxReplicas": 20}),
    ),
    ("self.numerator <= self.denominator", |n| json!({"numerator": n, "denominator": 16})),
    ("has(self.request) || has(self.limit)", |n| {
        if n % 2 == 0 { json!({"request": "1"}) } else { json!({}) }
    }),
    ("self.type == 'Text' ? has(self.text) : !has(self.text)", |n| {
        if n % 2 == 0 { json!({"type": "Text", "text": "a"}) } else { json!({"type": "Binary"}) }
    }),
    ("!(has(self.urlRewrite) && self.type != 'URLRewrite')", |n| {
        if n % 2 == 0 {
            json!({"type": "URLRewrite", "urlRewrite": {}})
        } else {
            json!({"type": "CORS"})
        }
    }),
    (
        "self.metadata.name == 'cluster'",
        |n| json!({"metadata": {"name": if n % 2 == 0 { "cluster" } else { "other" }}}),
    ),
    (
        "self.type in ['Random', 'ConsistentHash', 'LeastRequest', 'RoundRobin']",
        |n| json!({"type": if n % 2 == 0 { "LeastRequest" } else { "Other" }}),
    ),
    (
        "self.items.exists(x, x.type == 'Reboot') ? size(self.items) == 1 : true",
        |n| json!({"items": [{"type": "Other"}, {"type": if n % 2 == 0 { "Reboot" } else { "More" }}]}),
    ),
    ("self.all(x, self.exists_one(y, x == y))", |n| json!([format!("a{n}"), "b", "c", "d"])),
    (
        "self.filter(f, f.type == 'RequestHeaderModifier').size() <= 1",
        |n| json!([{"type": "CORS"}, {"type": "RequestHeaderModifier"}, {"type": format!("T{n}")}]),
    ),
    ("self.matches('^[a-zA-Z0-9._-]+$')", |n| json!(format!("some.name-{n}"))),
    ("self.matches('^\\\\S+@\\\\S+$')", |n| json!(format!("user{n}@example.org"))),
    ("!self.startsWith('subnet-')", |n| json!(format!("subnet-{n}"))),
    ("self.endsWith('.service') || self.endsWith('.socket')", |n| json!(format!("unit{n}.socket"))),
    ("!self.contains(',')", |n| json!(format!("value{n}"))),
    ("size(self) > 0 && size(self) <= 63", |n| json!("x".repeat(n + 1))),
    ("duration(self) > duration('0s')", |n| json!(format!("{n}m30s"))),
    (
        "self.rules.all(r, r.port > 0 && r.port <= 65535)",
        |n| json!({"rules": [{"port": n}, {"port": 443}, {"port": 80}]}),
    ),
    (
        "self.listeners.all(l, l.protocol in ['HTTP', 'TLS', 'TCP'] ? has(l.name) : true)",
        |n| json!({"listeners": [{"protocol": "HTTP", "name": format!("n{n}")}, {"protocol": "UDP"}]}),
    ),
    (
        "!has(self.backendRefs) || self.backendRefs.exists_one(b, b.weight == 0)",
        |n| json!({"backendRefs": [{"weight": n}, {"weight": 0}]}),
    ),
    (
        "self.spec.containers.all(c, !has(c.securityContext) || !has(c.securityContext.privileged) || c.securityContext.privileged == false)",
        |n| json!({"spec": {"containers": [{"name": format!("c{n}"), "securityContext": {"privileged": false}}, {"name": "d"}]}}),
    ),
    (
        "self.spec.containers.all(c, c.image.startsWith('registry.k8s.io/') || c.image.startsWith('ghcr.io/'))",
        |n| json!({"spec": {"containers": [{"image": format!("ghcr.io/a/b:{n}")}, {"image": "registry.k8s.io/pause:3"}]}}),
    ),
    (
        "has(self.metadata.labels) && 'app' in self.metadata.labels && self.metadata.labels['app'] != ''",
        |n| json!({"metadata": {"labels": {"app": format!("a{n}"), "tier": "web"}}}),
    ),
    (
        "self.spec.template.spec.containers.all(c, has(c.resources) && has(c.resources.limits) && 'memory' in c.resources.limits)",
        |n| json!({"spec": {"template": {"spec": {"containers": [{"resources": {"limits": {"memory": format!("{n}Mi")}}}]}}}}),
    ),
    (
        "(self.action != 'LabelDrop' && self.action != 'LabelKeep') || has(self.regex)",
        |n| json!({"action": if n % 2 == 0 { "LabelDrop" } else { "Replace" }, "regex": "a"}),
    ),
    (
        "self.map(x, x.name).all(n, size(n) < 20)",
        |n| json!([{"name": format!("n{n}")}, {"name": "b"}, {"name": "c"}]),
    ),
    (
        "self.volumes.exists(v, has(v.hostPath)) == false",
        |n| json!({"volumes": [{"name": format!("v{n}"), "emptyDir": {}}, {"name": "w", "configMap": {"name": "x"}}]}),
    ),
    (
        "self.replicas * 2 + 1 >= self.quorum && self.quorum % 2 == 1",
        |n| json!({"replicas": n, "quorum": 2 * n + 1}),
    ),
    (
        "self.name != '' && (!has(self.namespace) || self.namespace == 'default') && self.kind == 'Service'",
        |n| json!({"name": format!("s{n}"), "namespace": "default", "kind": "Service"}),
    ),
];

fn evaluation(criterion: &mut Criterion) {
    let environment = environment();
    for (at, (source, operands)) in RULES.iter().enumerate() {
        let mut group = criterion.benchmark_group(format!("evaluate/{at:02}"));
        let program = Program::compile(&environment, source).expect("a rule compiles");
        let values: Vec<Json> = (0..OPERANDS).map(operands).collect();
        let trees: Vec<quorate_meta::Value> = values.iter().cloned().map(Into::into).collect();
        let activations: Vec<Activation<'_>> = trees
            .iter()
            .map(|tree| Activation::new(&environment).with(0, Shape::DYN.read(tree)))
            .collect();
        let mut next = 0;
        group.bench_function("quorate", |bencher| {
            bencher.iter(|| {
                next = (next + 1) % OPERANDS;
                let evaluation = program.evaluate_within(&activations[next], Limits::default());
                black_box(evaluation.cost);
                black_box(evaluation.result.is_ok())
            });
        });
        let other = cel::Program::compile(source).expect("a rule compiles");
        let contexts: Vec<_> = values
            .iter()
            .map(|value| {
                let mut context = cel::Context::default();
                context.add_variable("self", value).expect("a value can be bound");
                context
            })
            .collect();
        group.bench_function("cel", |bencher| {
            bencher.iter(|| {
                next = (next + 1) % OPERANDS;
                black_box(other.execute(&contexts[next]).is_ok())
            });
        });
        group.finish();
    }
}

fn compilation(criterion: &mut Criterion) {
    let environment = environment();
    let mut group = criterion.benchmark_group("compile");
    group.bench_function("quorate", |bencher| {
        bencher.iter(|| {
            RULES
                .iter()
                .filter(|(source, _)| Program::compile(&environment, black_box(source)).is_ok())
                .count()
        });
    });
    group.bench_function("cel", |bencher| {
        bencher.iter(|| {
            RULES
                .iter()
                .filter(|(source, _)| cel::Program::compile(black_box(source)).is_ok())
                .count()
        });
    });
    group.finish();
}

fn environment() -> Environment {
    Environment::new(Arc::new(Library::stored())).with_variable("self", Type::Dyn)
}

criterion_group!(benches, evaluation, compilation);
criterion_main!(benches);
