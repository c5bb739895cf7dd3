//! The type graph of the API, and the engine that works on it.
//!
//! Types and kinds are read from `idl/*.idl` (one file per group version, format in [`idl`]) into a
//! [`Graph`], once per naming profile; the structural schema of a custom
//! resource compiles to a layer over it ([`structural`]). The graph is immutable and shared. Everything that depends
//! only on types is here: decoding into the canonical form, unknown fields, defaults, structural
//! validation, field sets and managed fields, server-side apply, strategic merge patch, OpenAPI.
//!
//! Not here: rules that no schema can express (strategies, in quorate-kinds), encodings
//! (quorate-wire), and which kinds are served (quorate-registry).

pub mod apply;
pub mod declarative;
mod decode;
mod defaults;
pub mod fieldset;
pub mod graph;
pub mod idl;
pub mod managed;
pub mod openapi;
mod path;
mod strategic;
pub mod structural;
#[cfg(test)]
mod testing;
mod validate;

pub use decode::{
    DecodeError, MAX_DEFAULT_BYTES, Unknown, canonicalize, check_types, decode, is_zero,
    unknown_fields, zero,
};
pub use defaults::apply_defaults;
pub use graph::{
    Column, ElementDef, Field, Graph, KindDef, ListKind, MapKind, Mixed, Patch, Scalar, Shape,
    Subresource, Text, TypeDef, TypeId, Union, Unknowns,
};
pub use strategic::{PatchError, strategic};
pub use validate::validate_structure;
