//! Refusals of writes because of webhooks, worded as clients of Kubernetes know them.

use quorate_meta::{Cause, CauseReason, Details, Reason, Status, Value, quoted};
use quorate_registry::error::Error;

/// The least status of a denial; one with less gets this.
const MIN_CODE: i64 = 400;
/// The greatest status that HTTP has.
const MAX_CODE: i64 = 599;

/// The denial of a webhook, with the `status` of its answer.
pub(super) fn denied(webhook: &str, status: Option<&Value>) -> Status {
    let text = |field: &str| status.and_then(|status| status.str_at(&[field])).unwrap_or_default();
    let code = status.and_then(|status| status.get("code")?.as_i64()).unwrap_or_default();
    let by = format!("admission webhook {} denied the request", quoted(webhook));
    let message = match (text("message"), text("reason")) {
        ("", "") => format!("{by} without explanation"),
        ("", why) | (why, _) => format!("{by}: {why}"),
    };
    Status {
        code: u16::try_from(code.clamp(MIN_CODE, MAX_CODE)).unwrap_or(400),
        success: false,
        reason: reason(text("reason")),
        message,
        details: status
            .and_then(|status| status.get("details"))
            .filter(|details| !details.is_null())
            .map(details),
        continuation: String::new(),
    }
}

/// A reason of a webhook's own: code that looks for the server's reasons does not find it.
fn reason(text: &str) -> Reason {
    if text.is_empty() { Reason::Unknown } else { Reason::Other(text.to_owned()) }
}

fn details(fields: &Value) -> Details {
    let text = |value: &Value, field: &str| value.str_at(&[field]).unwrap_or_default().to_owned();
    let causes = fields.get("causes").and_then(Value::as_list).unwrap_or_default();
    let causes = causes.iter().map(|cause| Cause {
        reason: match text(cause, "reason") {
            reason if reason.is_empty() => CauseReason::Unknown,
            reason => CauseReason::Other(reason),
        },
        message: text(cause, "message"),
        field: text(cause, "field"),
    });
    let retry = fields.get("retryAfterSeconds").and_then(Value::as_u64).unwrap_or_default();
    Details {
        name: text(fields, "name"),
        group: text(fields, "group"),
        kind: text(fields, "kind"),
        uid: text(fields, "uid"),
        causes: causes.collect(),
        retry_after_seconds: u32::try_from(retry).unwrap_or(u32::MAX),
    }
}

/// 500: the webhook gave no verdict.
pub(super) fn call_failed(webhook: &str, why: &str) -> Error {
    Error::internal(format!("failed calling webhook {}: {why}", quoted(webhook)))
}

/// 400: a dry run must not have the effects of the webhook.
pub(super) fn no_dry_run(webhook: &str) -> Error {
    Error::bad_request(format!("admission webhook {} does not support dry run", quoted(webhook)))
}

/// 500: a patch of what has no object.
pub(super) fn nothing_to_patch(webhook: &str) -> Error {
    Error::internal(format!(
        "admission webhook {} attempted to modify the object, which is not supported for this \
         operation",
        quoted(webhook)
    ))
}

/// 504: the time of the request is over.
pub(super) fn out_of_time() -> Error {
    Status::timeout("request did not complete within requested timeout", 0).into()
}
