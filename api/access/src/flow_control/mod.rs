//! Flow control (API Priority and Fairness): the flow schema and the priority level of a request,
//! which two headers of its response name, and the limit on requests in flight.
//!
//! Invariants: a request is classified by flow schemas that are as new as what this node has
//! applied; a flow schema is compiled when it changes, not when a request comes. Not here: fair
//! queuing by priority level. [`InFlight`] limits how many requests run, shares the seats among
//! users and asks for no flow schema.

mod flow_schema;
mod flow_schemas;
mod in_flight;

use std::fmt;
use std::sync::Arc;

use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};
use quorate_meta::Names;
use quorate_store::Store;

use self::flow_schemas::FlowSchemas;
pub use self::in_flight::{Class, InFlight, InFlightLimits, Seat};
use crate::authentication::User;
use crate::authorization::Action;
use quorate_registry::Catalogue;
use quorate_registry::derived::{DerivedState, DerivedStateOptions, Informed};

const GROUP: &str = "flowcontrol.apiserver";
const VERSION: &str = "v1";

/// Classifies requests.
pub struct FlowControl {
    headers: [HeaderName; 2],
    /// `None` where the catalogue does not have flow schemas and priority levels.
    schemas: Option<Arc<DerivedState<FlowSchemas>>>,
}

/// The flow schema and the priority level of a request, by their uids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
    schema: HeaderValue,
    level: HeaderValue,
}

impl FlowControl {
    /// Without flow schemas: they are read by the informer, or for the first request.
    #[must_use]
    pub fn new(names: &Names, catalogue: &Catalogue, store: Arc<dyn Store>) -> Self {
        let header = |name: &str| {
            HeaderName::from_bytes(name.as_bytes()).expect("the names of headers are header names")
        };
        Self {
            headers: [names.header_flow_schema, names.header_priority_level].map(header),
            schemas: schemas(names, catalogue, store).map(Arc::new),
        }
    }

    /// The derived state that it classifies by.
    #[must_use]
    pub fn derived_states(&self) -> Vec<Arc<dyn Informed>> {
        self.schemas.iter().map(|schemas| schemas.clone() as Arc<dyn Informed>).collect()
    }

    /// The flow of a request; `None` when no flow schema matches it.
    #[must_use]
    pub fn classify(&self, user: &User, action: &Action<'_>) -> Option<Flow> {
        self.schemas.as_ref()?.applied().classify(user, action)
    }

    /// Adds the headers that name the flow.
    pub fn write_headers(&self, flow: &Flow, headers: &mut HeaderMap) {
        for (name, value) in self.headers.iter().zip([&flow.schema, &flow.level]) {
            headers.insert(name, value.clone());
        }
    }
}

fn schemas(
    names: &Names,
    catalogue: &Catalogue,
    store: Arc<dyn Store>,
) -> Option<DerivedState<FlowSchemas>> {
    let group = names.group(GROUP);
    let find = |plural| catalogue.find_builtin(&group, VERSION, plural).cloned();
    let resources = vec![find(flow_schemas::SCHEMAS)?, find(flow_schemas::LEVELS)?];
    let prefixes = resources.iter().map(|resource| resource.prefix(None)).collect();
    let what = "flow schemas and priority levels";
    Some(DerivedState::new(DerivedStateOptions { store, resources, prefixes, what }))
}

impl fmt::Debug for FlowControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlowControl").field("headers", &self.headers).finish_non_exhaustive()
    }
}
