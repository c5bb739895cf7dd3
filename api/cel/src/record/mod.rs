//! Values and types as records of answers hold them: JSON with the type beside every value.
//!
//! | value | JSON |
//! |---|---|
//! | null, boolean, text | `{"null": null}`, `{"bool": true}`, `{"string": "a"}` |
//! | numbers | `{"int64": "1"}`, `{"uint64": "1"}`, `{"double": "1.5"}`, also `NaN`, `Infinity`, `-Infinity` |
//! | bytes | `{"bytes": "YQ=="}`, base64 |
//! | list, map | `{"list": [V]}`, `{"map": [[K, V]]}` |
//! | times | `{"timestamp": {"seconds": "1", "nanos": 0}}`, `{"duration": ...}` |
//! | type | `{"type": "int"}` |
//! | optional | `{"optional": V}` or `{"optional": null}` |
//! | a library's own | `{"opaque": [type, text]}` |
//!
//! Invariant: what is encoded reads back as the same value, but libraries' own values, which are not read.

mod decode;
mod encode;
#[cfg(test)]
mod tests;
mod types;

pub use decode::decode;
pub use encode::encode;
pub use types::decode_type;

/// JSON that is no value or type of a record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not of the form of records: {0}")]
pub struct MalformedRecord(pub String);
