//! The function libraries, a file each.
//!
//! Every library gives its overloads as one table: declaration, implementation, run-time cost and estimate side by side.

mod arguments;
pub mod authorizer;
mod collections;
mod cost;
pub(crate) mod kinds;
mod lists;
mod maps;
pub mod mutation;
pub mod named_format;
pub(crate) mod names;
pub mod net;
pub(crate) mod number;
mod optionals;
pub mod quantity;
pub(crate) mod quote;
pub(crate) mod regex;
pub mod semver;
mod sets;
pub(crate) mod standard;
pub(crate) mod strings;
pub mod time;
pub mod url;

#[cfg(test)]
mod tests;

pub(crate) use maps::{insert_all, insert_entry};

use crate::overload::Overload;
use crate::types::Type;

/// Every overload that is known, in order of declaration.
pub(crate) fn overloads() -> Vec<Overload> {
    [
        standard::overloads(),
        optionals::overloads(),
        maps::overloads(),
        sets::overloads(),
        lists::overloads(),
        collections::overloads(),
        strings::overloads(),
        regex::overloads(),
        time::overloads(),
        url::overloads(),
        quantity::overloads(),
        net::overloads(),
        named_format::overloads(),
        semver::overloads(),
        authorizer::overloads(),
    ]
    .concat()
}

/// Every name of a type.
pub(crate) fn types() -> Vec<(&'static str, Type)> {
    let wrapper = |wrapped: Type| Type::Wrapper(wrapped.into());
    vec![
        ("bool", Type::Bool),
        ("bytes", Type::Bytes),
        ("double", Type::Double),
        ("int", Type::Int),
        ("list", kinds::list(Type::Dyn)),
        ("map", kinds::map(Type::Dyn, Type::Dyn)),
        ("null_type", Type::Null),
        ("string", Type::String),
        ("type", Type::AnyType),
        ("uint", Type::Uint),
        ("google.protobuf.Duration", Type::Duration),
        ("google.protobuf.Timestamp", Type::Timestamp),
        ("google.protobuf.Any", Type::Any),
        ("google.protobuf.BoolValue", wrapper(Type::Bool)),
        ("google.protobuf.BytesValue", wrapper(Type::Bytes)),
        ("google.protobuf.DoubleValue", wrapper(Type::Double)),
        ("google.protobuf.Empty", Type::Object("google.protobuf.Empty".into())),
        ("google.protobuf.FloatValue", wrapper(Type::Double)),
        ("google.protobuf.Int32Value", wrapper(Type::Int)),
        ("google.protobuf.Int64Value", wrapper(Type::Int)),
        ("google.protobuf.ListValue", kinds::list(Type::Dyn)),
        ("google.protobuf.StringValue", wrapper(Type::String)),
        ("google.protobuf.Struct", kinds::map(Type::String, Type::Dyn)),
        ("google.protobuf.UInt32Value", wrapper(Type::Uint)),
        ("google.protobuf.UInt64Value", wrapper(Type::Uint)),
        ("google.protobuf.Value", Type::Dyn),
        ("optional_type", kinds::optional(Type::Dyn)),
        (names::IP, names::opaque(names::IP)),
        (names::CIDR, names::opaque(names::CIDR)),
    ]
}
