//! Helpers of this crate's tests: the graph, and inline JSON.

use quorate_meta::{Naming, Value};

use crate::graph::{Graph, TypeId};

pub(crate) fn graph() -> Graph {
    Graph::builtin(Naming::Svc.names())
}

pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

pub(crate) fn text(value: &Value) -> String {
    serde_json::to_string(value).expect("a value is JSON")
}

pub(crate) fn ty(graph: &Graph, name: &str) -> TypeId {
    graph.type_named(name).unwrap_or_else(|| panic!("no type {name}")).id
}
