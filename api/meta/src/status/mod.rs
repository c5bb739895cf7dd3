//! `Status`: the response body of every error and of a delete.
//!
//! Messages, reasons, codes and details are those of Kubernetes 1.35, which clients match on. This
//! module only builds bodies; which error becomes which Status is decided in one place by the API
//! crate.

mod build;
mod cause;
mod path;
mod quote;
mod reason;
#[cfg(test)]
mod tests;

pub use cause::{Cause, CauseReason};
pub use path::Path;
pub use quote::quoted;
pub use reason::Reason;

use crate::{Map, Value};

/// A `Status` object of the core version `v1`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// HTTP status code; zero leaves it out of the body (answers to a delete).
    pub code: u16,
    /// Whether this reports a success.
    pub success: bool,
    /// Machine-readable reason; `Reason::Unknown` is left out of the body.
    pub reason: Reason,
    /// The message; omitted when it is empty.
    pub message: String,
    /// Details. `Some(Details::default())` shows as `"details":{}`.
    pub details: Option<Details>,
    /// A token with which a list can continue after its own has expired; omitted when it is empty.
    pub continuation: String,
}

/// The object or resource of a Status, and its causes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// Name of the object; empty is left out, as everywhere here.
    pub name: String,
    /// Group of the resource or kind.
    pub group: String,
    /// Plural resource name, or the kind where validation failed.
    pub kind: String,
    /// UID of the object.
    pub uid: String,
    /// The causes.
    pub causes: Vec<Cause>,
    /// Seconds to wait before a retry; zero is omitted.
    pub retry_after_seconds: u32,
}

impl Status {
    /// The body as a tree, with `apiVersion` and `kind`.
    pub fn to_value(&self) -> Value {
        let mut metadata = Map::new();
        put(&mut metadata, "continue", &self.continuation);
        let mut body = Map::from([
            ("apiVersion", Value::from("v1")),
            ("kind", Value::from("Status")),
            ("metadata", Value::Map(metadata)),
            ("status", Value::from(if self.success { "Success" } else { "Failure" })),
        ]);
        put(&mut body, "message", &self.message);
        put(&mut body, "reason", self.reason.as_str());
        if let Some(details) = &self.details {
            body.insert("details", details.to_value());
        }
        if self.code != 0 {
            body.insert("code", i64::from(self.code));
        }
        Value::Map(body)
    }

    /// The causes, empty when there are no details.
    pub fn causes(&self) -> &[Cause] {
        self.details.as_ref().map_or(&[], |details| &details.causes)
    }

    /// Seconds of the `Retry-After` header, when the Status has them.
    pub fn retry_after_seconds(&self) -> Option<u32> {
        self.details
            .as_ref()
            .map(|details| details.retry_after_seconds)
            .filter(|seconds| *seconds > 0)
    }

    /// The same status asking the client to wait `seconds` before trying again.
    #[must_use]
    pub fn with_retry_after(mut self, seconds: u32) -> Self {
        self.details.get_or_insert_default().retry_after_seconds = seconds;
        self
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}: {}", self.code, self.reason.as_str(), self.message)
    }
}

impl Details {
    /// The details as a tree.
    pub fn to_value(&self) -> Value {
        let mut map = Map::new();
        put(&mut map, "name", &self.name);
        put(&mut map, "group", &self.group);
        put(&mut map, "kind", &self.kind);
        put(&mut map, "uid", &self.uid);
        if !self.causes.is_empty() {
            map.insert("causes", Value::List(self.causes.iter().map(Cause::to_value).collect()));
        }
        if self.retry_after_seconds != 0 {
            map.insert("retryAfterSeconds", self.retry_after_seconds);
        }
        Value::Map(map)
    }
}

/// Sets `key` unless `text` is empty.
fn put(map: &mut Map, key: &str, text: &str) {
    if !text.is_empty() {
        map.insert(key, text);
    }
}
