//! AdmissionReview: what a webhook is asked.
//!
//! Invariant: what is the same for all webhooks of a version, above all the objects, is encoded once
//! for all of them.

use bytes::Bytes;
use quorate_meta::{Names, Value};
use quorate_wire::json;

use crate::matching::versioned::Versioned;

/// The kind.
pub(super) const KIND: &str = "AdmissionReview";

/// A version of AdmissionReview.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReviewVersion {
    V1,
    V1Beta1,
}

impl ReviewVersion {
    /// The version of this name; `None` for one that is not known here.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "v1" => Some(Self::V1),
            "v1beta1" => Some(Self::V1Beta1),
            _ => None,
        }
    }

    /// Group and version.
    pub(super) fn api_version(self, names: &Names) -> String {
        let version = match self {
            Self::V1 => "v1",
            Self::V1Beta1 => "v1beta1",
        };
        format!("{}/{version}", names.group("admission"))
    }
}

/// The reviews of one write that is matched as some resource.
#[derive(Debug)]
pub(super) struct Reviews {
    /// The fields of the request but its uid, in JSON, with the last brace.
    fields: Vec<u8>,
}

impl Reviews {
    /// Encodes the `request` of a write and its objects.
    pub(super) fn new(request: &Value, objects: &Versioned) -> Self {
        let rest = json::to_vec(request);
        let rest = rest.strip_prefix(b"{").unwrap_or_default();
        // A connection has no options, and its review says so.
        let options: &[u8] =
            if request.get("options").is_none() { b"\"options\":null," } else { b"" };
        let (new, old) = (json::to_vec(&objects.new), json::to_vec(&objects.old));
        let fields =
            [b"\"object\":", &*new, b",\"oldObject\":", &old, b",", options, rest].concat();
        Self { fields }
    }

    /// The review with a uid.
    pub(super) fn review(&self, names: &Names, version: ReviewVersion, uid: &str) -> Bytes {
        let version = version.api_version(names);
        let head = format!(
            "{{\"apiVersion\":\"{version}\",\"kind\":\"{KIND}\",\"request\":{{\"uid\":\"{uid}\","
        );
        [head.as_bytes(), &self.fields, b"}"].concat().into()
    }
}

#[cfg(test)]
mod tests {
    use quorate_meta::Naming;
    use serde_json::{Value as Json, json};

    use super::{ReviewVersion, Reviews, Value, Versioned};

    #[test]
    fn reviews() {
        let check = |request: Json, version: ReviewVersion, expect: Json| {
            let objects = Versioned { old: Value::Null, new: json!({"a": "\"}"}).into() };
            let reviews = Reviews::new(&request.into(), &objects);
            let review = reviews.review(Naming::Svc.names(), version, "u");
            assert_eq!(serde_json::from_slice::<Json>(&review).unwrap(), expect);
        };
        check(
            json!({"operation": "CREATE", "options": {"kind": "CreateOptions"}}),
            ReviewVersion::V1,
            json!({"apiVersion": "admission.svc.io/v1", "kind": "AdmissionReview", "request": {
                "uid": "u", "object": {"a": "\"}"}, "oldObject": null, "operation": "CREATE",
                "options": {"kind": "CreateOptions"}}}),
        );
        check(
            json!({"operation": "CONNECT"}),
            ReviewVersion::V1Beta1,
            json!({"apiVersion": "admission.svc.io/v1beta1", "kind": "AdmissionReview", "request": {
                "uid": "u", "object": {"a": "\"}"}, "oldObject": null, "operation": "CONNECT",
                "options": null}}),
        );
    }
}
