//! The kinds of the API group `apiextensions`.
//!
//! Not here: what a definition means, and the resources that are made of it, which is
//! `quorate-extensions`.

use std::sync::Arc;

use quorate_extensions::crd::strategy::DefinitionStrategy;
use quorate_registry::Strategy;
use quorate_schema::Graph;

/// The strategy of a kind of this group; `None` for a kind without one.
pub(super) fn strategy(graph: &Arc<Graph>, kind: &str) -> Option<Arc<dyn Strategy>> {
    match kind {
        "CustomResourceDefinition" => Some(Arc::new(DefinitionStrategy::new(graph.clone()))),
        _ => None,
    }
}
