//! The removal of old CertificateSigningRequests.
//!
//! | request | goes |
//! |---|---|
//! | approved, issued or not | an hour after the approval |
//! | denied or failed | an hour after that |
//! | none of these | a day after it was made |
//! | issued | when the certificate has expired |

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quorate_meta::{Time, Value};
use x509_parser::prelude::{FromDer, X509Certificate};

use super::signers::requests;
use crate::context::{Context, skip_failed_object};
use quorate_registry::error::Error;
use quorate_registry::stored_codec;
use quorate_registry::write::Target;

/// How often requests are looked through.
const SWEEP: Duration = Duration::from_secs(10 * 60);
/// How long a decided request stays, in milliseconds.
const DECIDED_MS: u64 = 60 * 60 * 1000;
/// How long a request stays that is neither approved nor denied, in milliseconds.
const PENDING_MS: u64 = 24 * 60 * 60 * 1000;

/// Cleans for ever; returns only with an error, after which it is started again.
pub(crate) async fn run(context: &Context) -> Result<(), Error> {
    loop {
        context.work.item(sweep(context)).await?;
        tokio::time::sleep(SWEEP).await;
    }
}

async fn sweep(context: &Context) -> Result<(), Error> {
    let resource = &*requests(context)?;
    let now = context.env.clock.now_ms();
    let snapshot = context.store.snapshot();
    for (key, entry) in snapshot.range(&resource.prefix(None), None) {
        tokio::task::consume_budget().await;
        let Some((_, name)) = resource.parse_key(key) else {
            continue;
        };
        let target = Target { resource, namespace: None, name };
        let done = match stored_codec::decode(resource, entry) {
            Ok(object) if is_over(&object, now) => context.delete_at(target, entry).await,
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        };
        // One that failed or has changed: the next sweep reads it again.
        skip_failed_object(done, target)?;
    }
    Ok(())
}

/// Whether a request has stayed long enough.
fn is_over(object: &Value, now_ms: u64) -> bool {
    let older = |time: Option<&str>, limit_ms: u64| {
        let time = time.and_then(|time| Time::parse(time).ok());
        time.is_some_and(|time| now_ms.saturating_sub(time.ms()) > limit_ms)
    };
    let conditions =
        object.at(&["status", "conditions"]).and_then(Value::as_list).unwrap_or_default();
    let decided: Vec<&Value> = conditions
        .iter()
        .filter(|condition| {
            ["Approved", "Denied", "Failed"]
                .contains(&condition.str_at(&["type"]).unwrap_or_default())
        })
        .collect();
    if decided.is_empty() {
        return older(object.str_at(&["metadata", "creationTimestamp"]), PENDING_MS);
    }
    decided.iter().any(|condition| older(condition.str_at(&["lastUpdateTime"]), DECIDED_MS))
        || expired(object, now_ms)
}

/// Whether the certificate has expired that was issued.
fn expired(object: &Value, now_ms: u64) -> bool {
    let not_after = || {
        let text = STANDARD.decode(object.str_at(&["status", "certificate"])?).ok()?;
        let leaf = pem::parse_many(text).ok()?.into_iter().next()?;
        let (_, certificate) = X509Certificate::from_der(leaf.contents()).ok()?;
        u64::try_from(certificate.validity().not_after.timestamp()).ok()
    };
    not_after().is_some_and(|seconds| seconds * 1000 < now_ms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const MINUTE: u64 = 60 * 1000;

    #[test]
    fn requests_go_when_their_time_is_over() {
        let created = Time::from_ms(0).seconds();
        let check = |conditions: &[&str], minutes: u64, expect: bool| {
            let conditions: Vec<_> = conditions
                .iter()
                .map(|kind| json!({"type": kind, "lastUpdateTime": created}))
                .collect();
            let object = json!({"metadata": {"creationTimestamp": created}, "status": {"conditions": conditions}});
            assert_eq!(
                is_over(&object.into(), minutes * MINUTE),
                expect,
                "{conditions:?} {minutes}"
            );
        };
        for kind in ["Approved", "Denied", "Failed"] {
            check(&[kind], 60, false);
            check(&[kind], 61, true);
        }
        check(&[], 24 * 60, false);
        check(&[], 24 * 60 + 1, true);
        check(&["Other"], 61, false);
        check(&["Other"], 24 * 60 + 1, true);
    }

    #[test]
    fn an_expired_certificate_ends_its_request() {
        let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
        params.not_after = rcgen::date_time_ymd(1971, 1, 1);
        params.not_before = rcgen::date_time_ymd(1970, 1, 1);
        let certificate = params.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap().pem();
        let year = 365 * 24 * 60 * MINUTE;
        let check = |now: u64, expect: bool| {
            let conditions =
                json!([{"type": "Approved", "lastUpdateTime": Time::from_ms(now).seconds()}]);
            let status =
                json!({"certificate": STANDARD.encode(&certificate), "conditions": conditions});
            assert_eq!(is_over(&json!({"status": status}).into(), now), expect, "{now}");
        };
        check(year - MINUTE, false);
        check(year + MINUTE, true);
    }
}
