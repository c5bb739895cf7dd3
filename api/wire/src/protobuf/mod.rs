//! Protobuf messages to and from `Value`, driven by the schema graph, and the envelope around them.
//!
//! There is no generated code: field numbers, presence and nesting come from the graph's types.
//! Reading gives the canonical form of the type; unknown field numbers are skipped. Writing is
//! deterministic: ascending field numbers, sorted map keys, zero values of fields without presence.
//! Hostile input is an error: sizes and depth have named limits, and a claimed length allocates
//! nothing.
//!
//! Objects that are stored as JSON are not read into a tree first: the transcoder
//! (`transcode.rs`) writes the encoder's bytes from the text.
//!
//! Not here: content negotiation (`Names::is_protobuf`), and whether a kind suits a request.

mod decode;
mod encode;
mod envelope;
mod error;
mod json_reader;
mod lengths;
mod openapi;
mod partial;
mod plan;
mod reader;
mod scalar;
mod stream;
mod tape;
#[cfg(test)]
mod tests;
mod transcode;
mod writer;

pub use decode::{decode, decode_message};
pub use encode::{encode, encode_message};
pub use envelope::Envelope;
pub use error::{Error, Problem};
pub use openapi::{
    openapi_v2, openapi_v2_definitions, openapi_v2_head, openapi_v2_paths, openapi_v3,
};
pub use reader::{MAX_BYTES, MAX_DEPTH};
pub use stream::{around_list, item_len, write_frame, write_item_head, write_object_frame};
pub use transcode::{ReadMessage, Transcoder};
