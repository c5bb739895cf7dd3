//! The flow of one request: the flow schema that it matches, the priority level of that, and the
//! hash that tells it from other flows of the schema.

use std::fmt;
use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;

use http::HeaderValue;

use super::flow_schema::{Distinguisher, FlowSchema};
use super::metrics::FlowMetrics;
use super::priority_level::PriorityLevel;
use crate::authentication::User;
use crate::authorization::Action;

/// The flow of a request. Cloning is cheap.
#[derive(Clone)]
pub struct Flow {
    pub(super) schema: Arc<MatchedSchema>,
    pub(super) hash: u64,
}

/// A flow schema with its priority level, as requests are matched by.
#[derive(Debug)]
pub(super) struct MatchedSchema {
    pub(super) name: Arc<str>,
    pub(super) schema: Arc<FlowSchema>,
    pub(super) level: Arc<PriorityLevel>,
    /// The uids of both; `None` where one of them is mandatory and has no object.
    pub(super) uids: Option<[HeaderValue; 2]>,
    /// The most seats that one request takes; `None` where nothing depends on it.
    pub(super) widest: Option<u32>,
    /// Who is told what happens to its requests.
    pub(super) metrics: Arc<dyn FlowMetrics>,
}

impl MatchedSchema {
    /// The flow of a request that matches.
    pub(super) fn flow(self: &Arc<Self>, user: &User, action: &Action<'_>) -> Flow {
        let namespace = match action {
            Action::Resource(on) => on.namespace,
            Action::Path { .. } => "",
        };
        let distinguisher = self.distinguisher(&user.name, namespace);
        // The same on every node and in every process.
        let mut hasher = DefaultHasher::new();
        hasher.write(self.name.as_bytes());
        hasher.write_u8(0);
        hasher.write(distinguisher.as_bytes());
        Flow { schema: self.clone(), hash: hasher.finish() }
    }

    /// What tells a flow from others of the schema.
    fn distinguisher<'t>(&self, user: &'t str, namespace: &'t str) -> &'t str {
        match self.schema.distinguisher {
            Distinguisher::User => user,
            Distinguisher::Namespace => namespace,
            Distinguisher::None => "",
        }
    }
}

impl Flow {
    /// The name of its flow schema.
    #[must_use]
    pub fn schema_name(&self) -> &str {
        &self.schema.name
    }

    /// What tells it from other flows of the schema, of a user's request in a namespace.
    #[must_use]
    pub fn distinguisher<'t>(&self, user: &'t str, namespace: &'t str) -> &'t str {
        self.schema.distinguisher(user, namespace)
    }

    /// The name of its priority level.
    #[must_use]
    pub fn level_name(&self) -> &str {
        &self.schema.level.name
    }

    /// The most seats that the request may take; `None` where its work need not be estimated.
    #[must_use]
    pub fn widest_request(&self) -> Option<u32> {
        self.schema.widest
    }
}

impl fmt::Debug for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Flow")
            .field("schema", &self.schema.name)
            .field("level", &self.schema.level.name)
            .field("hash", &self.hash)
            .finish()
    }
}
