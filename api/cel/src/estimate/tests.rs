//! Tests of estimates with sizes that a schema declares.

use std::sync::Arc;

use super::{SizeEstimator, UnknownSizes, estimate};
use crate::checker::check;
use crate::environment::{Environment, Library};
use crate::overload::Range;
use crate::parser::parse;
use crate::types::Type;

/// `names` has at most 5 elements of at most 20 code points; `labels` at most 3 entries, keys of at most 10.
struct Declared;

impl SizeEstimator for Declared {
    fn size(&self, path: &[&str], _value_type: &Type) -> Option<Range> {
        let max = match path {
            ["names"] => 5,
            ["names", "@items"] => 20,
            ["labels"] => 3,
            ["labels", "@keys"] => 10,
            _ => return None,
        };
        Some(Range { min: 0, max })
    }
}

fn expect(source: &str, sizes: &dyn SizeEstimator, min: u64, max: u64) {
    let text = || Arc::new(Type::String);
    let environment = Environment::new(Arc::new(Library::stored()))
        .with_variable("names", Type::List(text()))
        .with_variable("labels", Type::Map(text(), text()))
        .with_variable("b", Type::Bool);
    let checked =
        check(&environment, parse(source).expect("it is read")).expect("the types are right");
    assert_eq!(estimate(&checked, sizes), Range { min, max }, "{source}");
}

#[test]
fn declared_sizes_bound_folds_and_text() {
    expect("names.all(n, n.contains('abc'))", &UnknownSizes, 2, u64::MAX);
    expect("names.all(n, n.contains('abc'))", &Declared, 2, 2 + 5 * (1 + 1 + 1 + 2 + 1));
    expect("labels.all(k, k.startsWith('a'))", &Declared, 2, 2 + 3 * (1 + 1 + 1 + 1 + 1));
    expect("names[0] + names[1]", &Declared, 4, 4 + 4);
}

#[test]
fn branches_are_joined() {
    expect("b ? 1 : names.size()", &UnknownSizes, 1, 3);
    expect("b && names.size() > 1", &UnknownSizes, 1, 4);
    expect("[1, 2].map(x, x)", &UnknownSizes, 47, 47);
}

#[test]
fn bindings_cost_their_value_and_their_result() {
    expect("[1, 2].sortBy(x, -x).size()", &UnknownSizes, 81, 81);
    expect("dyn(names).size()", &Declared, 3, 3);
}
