//! Which expressions are evaluated without an allocation.

use std::sync::Arc;

use allocation_counter::measure;
use quorate_cel::environment::{Environment, Library};
use quorate_cel::eval::Activation;
use quorate_cel::program::{Limits, Program};
use quorate_cel::types::Type;
use quorate_cel::value::{Shape, Value};
use quorate_meta::Value as Tree;

/// Allocations of one evaluation over data that is read in place.
fn allocations(source: &str) -> u64 {
    let environment =
        Environment::new(Arc::new(Library::stored())).with_variable("self", Type::Dyn);
    let data: Tree = serde_json::json!({
        "replicas": 3, "min": 1, "type": "Text", "text": "abc", "ratio": 0.5, "on": true,
        "spec": {"strategy": {"kind": "Recreate"}}, "items": [1, 2, 3],
    })
    .into();
    let program = Program::compile(&environment, source).expect("it compiles");
    let activation = Activation::new(&environment).with(0, Shape::DYN.read(&data));
    let counted = measure(|| {
        let evaluation = program.evaluate_within(&activation, Limits::default());
        assert!(matches!(evaluation.result, Ok(Value::Bool(true))), "{source}");
    });
    counted.count_total
}

#[test]
fn comparisons_fields_and_logic_allocate_nothing() {
    let check = |source: &str| assert_eq!(allocations(source), 0, "{source}");
    check("self.replicas <= 5");
    check("self.min <= self.replicas && self.replicas != 7");
    check("self.ratio < 1.0 || self.on");
    check("self.type == 'Text' ? has(self.text) : !has(self.text)");
    check("self.spec.strategy.kind in ['Recreate', 'RollingUpdate']");
    check("!(has(self.other) && self.other == 'x')");
    check("self.text.startsWith('a') && self.text.size() == 3");
    check("size(self.items) == 3 && self.items[0] == 1");
}

#[test]
fn allocations_are_counted() {
    assert!(allocations("self.text + 'd' == 'abcd'") > 0);
}
