//! What a client asks: the parsed path, verb and query ([`RequestInfo`]).
//!
//! Nothing here looks at objects or decides anything: an unknown resource parses as well as a known one, because
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
