//! Request info: verb, resource, namespace, name and query of a request.
//!
//! Not here: objects and decisions. An unknown resource parses as well as a known one, because
//! authorization comes before the resource is looked up.

mod duration;
mod info;
mod path;
mod query;
mod verb;

pub use duration::DurationError;
pub use info::RequestInfo;
pub use query::{Query, QueryError};
pub use verb::Verb;
