//! Who asks for what, and may they: the meaning of a request's path and query, authentication, authorization, and which
//! share of the server's capacity a request belongs to.
//!
//! Invariant: decided from the request and the store's state alone; nothing here reads a body or writes an object.

pub mod authentication;
pub mod authorization;
pub mod flow_control;
pub mod request;
