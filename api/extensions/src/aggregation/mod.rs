//! API aggregation: group versions that an APIService delegates to a server of its own.
//!
//! Not here: passing requests on to such servers, which this server does not do yet; and the conditions of APIServices,
//! which a controller keeps.

mod delegation;

pub use delegation::is_delegated;
