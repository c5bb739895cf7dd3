//! The body of a purge: `{"group": "", "resource": "secrets", "namespace": "a", "name": "s", "reason":
//! ".."}`; without a name it is about all objects of the resource in the namespace.
//!
//! Invariant: what a request means is one range of keys, never more than one resource in one
//! namespace. Neither the object nor the resource has to be there today.

use bytes::Bytes;
use quorate_meta::Value;
use quorate_registry::error::Error;
use quorate_registry::keys::{Key, resource_prefix};
use quorate_wire::json;

use crate::handlers::Request;

/// Bytes of a reason at most.
const MAX_REASON_BYTES: usize = 1024;

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PurgeRequest {
    /// The first key.
    pub(super) from: Bytes,
    /// The key behind the last one.
    pub(super) to: Bytes,
    pub(super) reason: String,
}

impl PurgeRequest {
    /// Reads a body.
    ///
    /// # Errors
    /// 400 for one that names nothing, or gives no reason.
    pub(super) fn parse(request: &Request<'_>) -> Result<Self, Error> {
        let (body, _) =
            json::parse(&request.body).map_err(|error| Error::bad_request(error.to_string()))?;
        Self::of(&body).map_err(Error::bad_request)
    }

    fn of(body: &Value) -> Result<Self, String> {
        let text = |field: &str| body.str_at(&[field]).unwrap_or_default();
        let (group, resource, namespace) = (text("group"), text("resource"), text("namespace"));
        let (name, reason) = (text("name"), text("reason"));
        for field in ["group", "resource", "namespace", "name"] {
            if text(field).contains(['/', '\0']) {
                return Err(format!("{field}: {:?} is not a name", text(field)));
            }
        }
        if resource.is_empty() {
            return Err("resource: name the resource, in its plural".to_owned());
        }
        if reason.trim().is_empty() || reason.len() > MAX_REASON_BYTES {
            return Err(format!("reason: say why, in {MAX_REASON_BYTES} bytes at most"));
        }
        let (from, to) = match (namespace, name) {
            ("", "") => return Err("name an object, or the namespace of all of them".to_owned()),
            (namespace, "") => {
                let mut from = resource_prefix(group, resource).to_vec();
                from.extend_from_slice(namespace.as_bytes());
                // The byte after the slash, which ends the namespace.
                let to = [&from[..], b"0"].concat();
                from.push(b'/');
                (from, to)
            }
            (namespace, name) => {
                let namespace = Some(namespace).filter(|namespace| !namespace.is_empty());
                let from = Key::Object { group, resource, namespace, name }.encode().to_vec();
                let to = [&from[..], b"\0"].concat();
                (from, to)
            }
        };
        Ok(Self { from: from.into(), to: to.into(), reason: reason.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(body: serde_json::Value, expect: Option<(&str, &str)>) {
        let found = PurgeRequest::of(&body.clone().into()).ok();
        let range = found.as_ref().map(|found| (&found.from[..], &found.to[..]));
        assert_eq!(range, expect.map(|(from, to)| (from.as_bytes(), to.as_bytes())), "{body}");
    }

    #[test]
    fn a_request_is_one_range_of_keys() {
        check(
            json!({"resource": "secrets", "namespace": "a", "name": "s", "reason": "r"}),
            Some(("o/core/secrets/a/s", "o/core/secrets/a/s\0")),
        );
        check(
            json!({"group": "x.y", "resource": "ws", "name": "w", "reason": "r"}),
            Some(("o/x.y/ws/w", "o/x.y/ws/w\0")),
        );
        check(
            json!({"resource": "secrets", "namespace": "a", "reason": "r"}),
            Some(("o/core/secrets/a/", "o/core/secrets/a0")),
        );
    }

    #[test]
    fn what_names_too_much_or_nothing_is_refused() {
        check(json!({}), None);
        check(json!({"resource": "secrets", "reason": "r"}), None);
        check(json!({"namespace": "a", "name": "s", "reason": "r"}), None);
        check(json!({"resource": "secrets", "namespace": "a", "name": "s"}), None);
        check(json!({"resource": "secrets", "namespace": "a", "name": "s", "reason": " "}), None);
        let long = "x".repeat(MAX_REASON_BYTES + 1);
        check(json!({"resource": "secrets", "namespace": "a", "reason": long}), None);
        for field in ["group", "resource", "namespace", "name"] {
            let mut body =
                json!({"resource": "secrets", "namespace": "a", "name": "s", "reason": "r"});
            body[field] = "a/b".into();
            check(body, None);
        }
    }
}
