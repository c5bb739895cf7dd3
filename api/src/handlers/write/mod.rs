//! The parts that handlers of writes share: the body as an object, its checks, the options, the
//! author, the response.
//!
//! Not here: what a write does to the stored object, which is the registry's writer.

pub(super) mod author;
pub(super) mod body_size_limit;
pub(super) mod decode;
pub(super) mod field_errors;
pub(super) mod identity;
pub(super) mod options;
pub(super) mod origin;
pub(super) mod permit;
pub(super) mod response;
