//! The next step of each CertificateSigningRequest: approve, issue, fail, or nothing.
//!
//! A kubelet's request for a client certificate is approved when its author may create requests of
//! that sort: their own (subresource `selfnodeclient`), or any node's (`nodeclient`).

use std::collections::BTreeSet;
use std::future::pending;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use quorate_meta::{Map, Status, Time, Value};

use super::issuer::{NotIssued, Order, Signing};
use super::signers::{RequestedNames, Signer, requests};
use crate::context::{Context, is_conflict, is_settled};
use crate::retry_queue::RetryQueue;
use quorate_access::authentication::User;
use quorate_access::authorization::{Action, Authorizer, ResourceAction};
use quorate_registry::error::Error;
use quorate_registry::write::Target;
use quorate_registry::{Part, stored_codec};

/// Certificates begin this much before they are issued, so that clocks may differ, in milliseconds.
const BACKDATE_MS: u64 = 5 * 60 * 1000;
/// The end of certificates that last less than this is not moved with their beginning, in
/// milliseconds.
const SHORT_MS: u64 = 8 * 60 * 60 * 1000;
/// No certificate lasts less, in milliseconds.
const MIN_LIFETIME_MS: u64 = 10 * 60 * 1000;

/// Approves and signs for ever; returns only with an error, after which it is started again.
pub(crate) async fn run(
    context: &Context,
    authorizer: &Authorizer,
    signing: Option<&Signing>,
) -> Result<(), Error> {
    let Some(signing) = signing else {
        return pending().await;
    };
    let prefix = requests(context)?.prefix(None);
    let snapshot = context.current().await?;
    let mut changes = context.store.watch(prefix.clone(), snapshot.revision())?;
    let mut next: BTreeSet<Bytes> =
        snapshot.range(&prefix, None).map(|(key, _)| key.clone()).collect();
    drop(snapshot);
    let mut retries = RetryQueue::default();
    loop {
        context.work.waits(next.len());
        for key in std::mem::take(&mut next) {
            // Most need nothing to be waited for, and there may be very many.
            tokio::task::consume_budget().await;
            let work = context.work.item(reconcile(context, authorizer, signing, &key));
            let settled = work.await.unwrap_or_else(|error| {
                tracing::warn!(%error, "a request for a certificate cannot be handled yet");
                false
            });
            match settled {
                true => retries.forget(&key),
                false => retries.back_off(key),
            }
        }
        tokio::select! {
            batch = changes.next() => next.extend(batch?.events().map(|event| event.key.clone())),
            due = retries.due() => next.extend(due),
        }
    }
}

/// Reconciles the request of a key. False when it has to be tried again.
async fn reconcile(
    context: &Context,
    authorizer: &Authorizer,
    signing: &Signing,
    key: &Bytes,
) -> Result<bool, Error> {
    let resource = &*requests(context)?;
    let Some(entry) = context.store.snapshot().get(key).cloned() else {
        return Ok(true);
    };
    let header = stored_codec::header(resource, &entry.value)?;
    let Some(signer) =
        Signer::of(context.names, header.field("spec.signerName").unwrap_or_default())
    else {
        return Ok(true);
    };
    let object = stored_codec::decode(resource, &entry)?;
    let target = Target { resource, namespace: None, name: header.name() };
    let has = |kind: &str| has(&object, kind);
    let issued =
        object.at(&["status", "certificate"]).is_some_and(|certificate| !certificate.is_empty());
    if issued || has("Denied") || has("Failed") {
        return Ok(true);
    }
    let Some(request) = request_of(&object) else {
        return Ok(true);
    };
    if !has("Approved") {
        return approve(context, authorizer, target, signer, (&object, &request)).await;
    }
    let now = Time::from_ms(context.env.clock.now_ms());
    match issue(signing, signer, &object, &request, now) {
        Ok(certificate) => {
            let certificate = STANDARD.encode(certificate);
            let set =
                |new: &mut Value| new.set_at(&["status", "certificate"], certificate.as_str());
            write(context, target, Part::Status, &object, set).await
        }
        Err(NotIssued::Refused(why)) => {
            let failed = condition("Failed", "SignerValidationFailure", &why);
            write(context, target, Part::Status, &object, |new| push(new, failed.clone())).await
        }
        Err(NotIssued::Unavailable(why)) => {
            tracing::warn!(why, name = target.name, "a certificate cannot be issued yet");
            Ok(false)
        }
    }
}

/// The request (DER) of an object.
fn request_of(object: &Value) -> Option<Vec<u8>> {
    let text = STANDARD.decode(object.str_at(&["spec", "request"])?).ok()?;
    Some(pem::parse_many(text).ok()?.into_iter().next()?.into_contents())
}

fn usages(object: &Value) -> Vec<&str> {
    let usages = object.at(&["spec", "usages"]).and_then(Value::as_list).unwrap_or_default();
    usages.iter().filter_map(Value::as_str).collect()
}

async fn approve(
    context: &Context,
    authorizer: &Authorizer,
    target: Target<'_>,
    signer: Signer,
    (object, request): (&Value, &[u8]),
) -> Result<bool, Error> {
    if signer != Signer::NodeClient {
        return Ok(true);
    }
    let Ok(asked) = RequestedNames::parse(request) else {
        return Ok(true);
    };
    if signer.check(&asked, &usages(object)).is_err() {
        return Ok(true);
    }
    let user = author(object);
    let may = async |subresource: &str| {
        let resource = target.resource;
        let action = ResourceAction {
            verb: "create",
            group: &resource.group,
            version: "*",
            resource: &resource.plural,
            subresource,
            ..ResourceAction::default()
        };
        authorizer.decide(&user, &Action::Resource(action)).await.is_allowed()
    };
    let message = if asked.common_names == [user.name.as_str()] && may("selfnodeclient").await {
        "Auto approving the node agent's own client certificate after an access review."
    } else if may("nodeclient").await {
        "Auto approving a node agent's client certificate after an access review."
    } else {
        return Ok(false);
    };
    let approved = condition("Approved", "AutoApproved", message);
    write(context, target, Part::Approval, object, |new| push(new, approved.clone())).await
}

/// The user who made the request.
fn author(object: &Value) -> User {
    let texts = |value: &Value| -> Vec<String> {
        value
            .as_list()
            .unwrap_or_default()
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect()
    };
    let spec = |field: &str| object.at(&["spec", field]);
    let extra = spec("extra").and_then(Value::as_map).into_iter().flat_map(|map| map.iter());
    User {
        name: spec("username").and_then(Value::as_str).unwrap_or_default().to_owned(),
        uid: spec("uid").and_then(Value::as_str).unwrap_or_default().to_owned(),
        groups: spec("groups").map(texts).unwrap_or_default(),
        extra: extra.map(|(key, values)| (key.to_owned(), texts(values))).collect(),
    }
}

fn issue(
    signing: &Signing,
    signer: Signer,
    object: &Value,
    request: &[u8],
    now: Time,
) -> Result<String, NotIssued> {
    let asked = RequestedNames::parse(request).map_err(NotIssued::Refused)?;
    let usages = signer.check(&asked, &usages(object)).map_err(NotIssued::Refused)?;
    let most = u64::try_from(signing.duration.as_millis()).unwrap_or(u64::MAX);
    let wanted = object.at(&["spec", "expirationSeconds"]).and_then(Value::as_u64);
    let (not_before, not_after) = validity(now, wanted, most);
    signing.issuer.issue(&Order { request, usages: &usages, not_before, not_after })
}

/// From when to when a certificate lasts.
fn validity(now: Time, wanted_seconds: Option<u64>, most_ms: u64) -> (Time, Time) {
    let wanted =
        wanted_seconds.map_or(most_ms, |seconds| seconds.saturating_mul(1000).max(MIN_LIFETIME_MS));
    let lifetime = wanted.min(most_ms);
    let backdated = if lifetime < SHORT_MS { 0 } else { BACKDATE_MS };
    let end = now.ms().saturating_add(lifetime - backdated);
    (Time::from_ms(now.ms().saturating_sub(BACKDATE_MS)), Time::from_ms(end))
}

fn condition(kind: &str, reason: &str, message: &str) -> Map {
    Map::from([("type", kind), ("status", "True"), ("reason", reason), ("message", message)])
}

fn has(object: &Value, kind: &str) -> bool {
    let conditions =
        object.at(&["status", "conditions"]).and_then(Value::as_list).unwrap_or_default();
    conditions.iter().any(|condition| condition.str_at(&["type"]) == Some(kind))
}

fn push(object: &mut Value, condition: Map) -> bool {
    let mut conditions =
        object.at(&["status", "conditions"]).and_then(Value::as_list).unwrap_or_default().to_vec();
    conditions.push(Value::Map(condition));
    object.set_at(&["status", "conditions"], Value::List(conditions))
}

/// Changes the request, if it is still the one that was read; when not, its change queues it again.
async fn write(
    context: &Context,
    target: Target<'_>,
    part: Part,
    seen: &Value,
    change: impl Fn(&mut Value) -> bool + Send + Sync,
) -> Result<bool, Error> {
    let options = context.update_options(part);
    let version = |object: &Value| object.at(&["metadata", "resourceVersion"]).cloned();
    let again = |current: Option<&Value>| {
        let group_resource = target.resource.group_resource();
        let current = current.ok_or_else(|| Status::not_found(&group_resource, target.name))?;
        if version(current) != version(seen) {
            return Err(Status::stale(&group_resource, target.name).into());
        }
        let mut new = current.clone();
        change(&mut new);
        Ok(new)
    };
    match context.writer.update(target, options, again).await {
        Err(error) if is_settled(&error) || is_conflict(&error) => Ok(true),
        written => written.map(|_| true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const HOUR: u64 = 3600;

    #[test]
    fn certificates_last_as_long_as_asked_within_limits() {
        let now = 1_000_000_000;
        let check = |wanted: Option<u64>, expect_seconds: u64| {
            let (start, end) = validity(Time::from_ms(now), wanted, 24 * HOUR * 1000);
            assert_eq!(start.ms(), now - BACKDATE_MS);
            assert_eq!(end.ms() - now, expect_seconds * 1000, "{wanted:?}");
        };
        check(None, 24 * HOUR - 300);
        check(Some(1), 600);
        check(Some(HOUR), HOUR);
        check(Some(8 * HOUR), 8 * HOUR - 300);
        check(Some(48 * HOUR), 24 * HOUR - 300);
    }

    #[test]
    fn the_author_is_read_back() {
        let object =
            json!({"spec": {"username": "a", "uid": "u", "groups": ["g"], "extra": {"k": ["v"]}}});
        let expect = User {
            name: "a".into(),
            uid: "u".into(),
            groups: vec!["g".into()],
            extra: vec![("k".into(), vec!["v".into()])],
        };
        assert_eq!(author(&object.into()), expect);
    }
}
