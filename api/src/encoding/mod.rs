//! Binary answers: one file per syntax, made from trees and from stored JSON with the help of the
//! schema.

mod cbor;
mod message_cache;
mod message_sizes;
mod messages;
mod protobuf;
mod shards;

use quorate_meta::GroupVersion;
use quorate_schema::{Graph, TypeId};

pub use cbor::Cbor;
pub(crate) use message_cache::{MessageForm, MessagePlace};
pub(crate) use messages::{JsonMessage, Messages, ObjectVersion};
pub use protobuf::Protobuf;

/// The type of a kind or of its list, in the name that the client asked for.
pub(crate) fn type_of(graph: &Graph, api_version: &str, kind: &str) -> Option<TypeId> {
    let names = graph.names();
    let asked = GroupVersion::parse(api_version).unwrap_or_default();
    let group = names.edge_group(&asked.group).unwrap_or(asked.group);
    let mut kinds =
        graph.kinds().iter().filter(|def| def.group == group && def.version == asked.version);
    let found = kinds.find_map(|def| match &def.list_kind {
        _ if def.kind == kind => Some(def.ty),
        Some(list) if list == kind => def.list_ty,
        _ => None,
    });
    // These belong to every version, and to none.
    let shared = match kind {
        "Status" => "meta/v1.Status",
        "APIVersions" => "meta/v1.APIVersions",
        _ => return found,
    };
    found.or_else(|| graph.type_named(shared).map(|ty| ty.id))
}
