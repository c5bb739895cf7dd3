//! Access control of requests: request info, authentication, authorization and flow control.
//!
//! Invariant: all of it is decided from the request's head and the store's state; nothing here
//! reads a body or writes an object. Not here: admission, which sees the object that is written.

pub mod authentication;
pub mod authorization;
pub mod flow_control;
pub mod request;
