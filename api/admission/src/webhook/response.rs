//! The response in an AdmissionReview: what a webhook answers, read and checked.
//!
//! Invariants: an error names fields and types, and of the answer's values only its version, kind
//! and uid, cut off after [`MAX_TOLD`] characters; warnings and annotations have limits.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quorate_meta::{Names, Value, quoted};
use quorate_registry::patch::JsonPatch;

use super::review::{KIND, ReviewVersion};

/// Warnings of one answer that are told.
const MAX_WARNINGS: usize = 64;
/// Audit annotations of one answer that are told.
const MAX_ANNOTATIONS: usize = 64;
/// Bytes of an audit annotation's value; what is beyond is cut off.
const MAX_ANNOTATION_BYTES: usize = 10 << 10;
/// Characters of a text of the answer that errors tell.
const MAX_TOLD: usize = 128;
/// The one type of patches.
const JSON_PATCH: &str = "JSONPatch";

/// What a webhook says of a write.
#[derive(Debug, Default)]
pub(super) struct Response {
    pub(super) allowed: bool,
    /// The `status` of a denial.
    pub(super) status: Option<Value>,
    /// Text of a patch; `None` where there is none, or an empty one.
    pub(super) patch: Option<Vec<u8>>,
    pub(super) warnings: Vec<String>,
    /// By the key without the webhook's name.
    pub(super) annotations: BTreeMap<String, String>,
}

/// What is expected of an answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expected<'e> {
    pub(super) names: &'e Names,
    pub(super) version: ReviewVersion,
    pub(super) uid: &'e str,
    pub(super) may_patch: bool,
}

/// Why an answer cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unusable {
    /// It is no AdmissionReview.
    Undecodable(String),
    /// It is one that says what it must not.
    Invalid(String),
}

/// Reads the body of an answer.
///
/// # Errors
/// Why it cannot be used.
pub(super) fn read(expected: Expected<'_>, body: &[u8]) -> Result<Response, Unusable> {
    let undecodable = |why: String| Unusable::Undecodable(why);
    let (review, _) = quorate_wire::json::parse(body)
        .map_err(|_| undecodable("the answer is no JSON document".to_owned()))?;
    let review = Typed { value: &review, path: "" };
    let said = [review.text("apiVersion"), review.text("kind")];
    let [api_version, kind] = said.map(Result::ok).map(Option::unwrap_or_default);
    let Some(response) = review.map("response").map_err(undecodable)? else {
        return Err(Unusable::Invalid("webhook response was absent".to_owned()));
    };
    let (verdict, patch_type) = decode(response).map_err(undecodable)?;
    if expected.version == ReviewVersion::V1 {
        let uid = response.text("uid").map_err(undecodable)?;
        check(expected, (api_version, kind, uid)).map_err(Unusable::Invalid)?;
        check_patch(expected, &verdict, patch_type).map_err(Unusable::Invalid)?;
    }
    let patch = verdict.patch.filter(|patch| expected.may_patch && !patch.is_empty());
    Ok(Response { patch, ..verdict })
}

/// Checks which review the answer is to.
fn check(expected: Expected<'_>, said: (&str, &str, &str)) -> Result<(), String> {
    let Expected { names, version, uid, .. } = expected;
    let (api_version, kind, said_uid) = said;
    if said_uid != uid {
        let said = quoted(&shortened(said_uid));
        return Err(format!("expected response.uid={}, got {said}", quoted(uid)));
    }
    let wanted = version.api_version(names);
    if (api_version, kind) != (&*wanted, KIND) {
        let version = if api_version.is_empty() { "/" } else { api_version };
        let (version, kind) = (shortened(version), shortened(kind));
        return Err(format!(
            "expected webhook response of {wanted}, Kind={KIND}, got {version}, Kind={kind}"
        ));
    }
    Ok(())
}

/// Checks that a patch and its type stand together, and only where the webhook may change objects.
fn check_patch(
    expected: Expected<'_>,
    verdict: &Response,
    patch_type: Option<&str>,
) -> Result<(), String> {
    let has_patch = verdict.patch.as_ref().is_some_and(|patch| !patch.is_empty());
    let problem = match (expected.may_patch, has_patch, patch_type) {
        (false, true, _) => "validating webhook may not return response.patch",
        (false, false, Some(_)) => "validating webhook may not return response.patchType",
        (true, true, None) => "webhook returned response.patch but not response.patchType",
        (true, false, Some(_)) => "webhook returned response.patchType but not response.patch",
        (true, true, Some(other)) if other != JSON_PATCH => {
            let other = quoted(&shortened(other));
            return Err(format!("webhook returned invalid response.patchType of {other}"));
        }
        _ => return Ok(()),
    };
    Err(problem.to_owned())
}

/// The fields of a response, and the type of its patch.
fn decode(response: Typed<'_>) -> Result<(Response, Option<&str>), String> {
    let patch = match response.text("patch")? {
        "" => None,
        text => {
            let bytes = STANDARD.decode(text);
            Some(bytes.map_err(|_| "response.patch is not base64".to_owned())?)
        }
    };
    let mut warnings = Vec::new();
    for warning in response.list("warnings")? {
        let text = warning.as_str().ok_or("response.warnings has an item that is no string")?;
        if !text.is_empty() && warnings.len() < MAX_WARNINGS {
            warnings.push(text.to_owned());
        }
    }
    let mut annotations = BTreeMap::new();
    if let Some(given) = response.map("auditAnnotations")? {
        for (key, value) in given.value.as_map().into_iter().flat_map(|map| map.iter()) {
            let text =
                value.as_str().ok_or("response.auditAnnotations has a value that is no string")?;
            if annotations.len() < MAX_ANNOTATIONS {
                let end = text.floor_char_boundary(MAX_ANNOTATION_BYTES);
                annotations.insert(key.to_owned(), text[..end].to_owned());
            }
        }
    }
    let status = response.map("status")?;
    if let Some(status) = status {
        check_status(status)?;
    }
    let verdict = Response {
        allowed: response.flag("allowed")?,
        status: status.map(|status| status.value.clone()),
        patch,
        warnings,
        annotations,
    };
    Ok((verdict, response.field("patchType").map(|_| response.text("patchType")).transpose()?))
}

fn check_status(status: Typed<'_>) -> Result<(), String> {
    for field in ["message", "reason", "status"] {
        status.text(field)?;
    }
    if let Some(code) = status.field("code")
        && code.as_i64().is_none()
    {
        return Err(status.is_no("code", code, "integer"));
    }
    status.map("details").map(drop)
}

fn shortened(text: &str) -> String {
    text.chars().take(MAX_TOLD).collect()
}

/// A map whose fields have types; `path` is where it stands, with a dot at the end.
#[derive(Debug, Clone, Copy)]
struct Typed<'v> {
    value: &'v Value,
    path: &'static str,
}

impl<'v> Typed<'v> {
    fn field(self, field: &str) -> Option<&'v Value> {
        self.value.get(field).filter(|value| !value.is_null())
    }

    fn is_no(self, field: &str, value: &Value, wanted: &str) -> String {
        format!("{}{field} is a JSON {} and no {wanted}", self.path, value.type_name())
    }

    /// A text; empty when it is absent.
    fn text(self, field: &str) -> Result<&'v str, String> {
        let Some(value) = self.field(field) else { return Ok("") };
        value.as_str().ok_or_else(|| self.is_no(field, value, "string"))
    }

    fn flag(self, field: &str) -> Result<bool, String> {
        let Some(value) = self.field(field) else { return Ok(false) };
        value.as_bool().ok_or_else(|| self.is_no(field, value, "boolean"))
    }

    fn list(self, field: &str) -> Result<&'v [Value], String> {
        let Some(value) = self.field(field) else { return Ok(&[]) };
        value.as_list().ok_or_else(|| self.is_no(field, value, "list"))
    }

    fn map(self, field: &'static str) -> Result<Option<Typed<'v>>, String> {
        let Some(value) = self.field(field) else { return Ok(None) };
        if value.as_map().is_none() {
            return Err(self.is_no(field, value, "map"));
        }
        let path = if field == "response" { "response." } else { "response.status." };
        Ok(Some(Typed { value, path }))
    }
}

/// The patch in its text; `None` for one without operations.
///
/// # Errors
/// Why it is none.
pub(super) fn patch(text: &[u8]) -> Result<Option<JsonPatch>, String> {
    let (document, _) =
        quorate_wire::json::parse(text).map_err(|_| "the patch is no JSON document".to_owned())?;
    if document.as_list().is_some_and(<[Value]>::is_empty) || document.is_null() {
        return Ok(None);
    }
    JsonPatch::parse(document).map(Some).map_err(|error| error.to_string())
}
