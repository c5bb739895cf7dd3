//! CertificateSigningRequest: a client asks a signer for a certificate, an approver approves it
//! (KEP-1513).
//!
//! Invariants: the request and its author never change. The decision is written through `approval`,
//! the certificate through `status`, each only by clients that may act for the signer.

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quorate_meta::well_known::GROUP_MASTERS;
use quorate_meta::{Cause, Map, Names, Naming, Path, Time, Value};

use super::conditions::{self, APPROVED, DENIED, FAILED};
use super::signer;
use quorate_registry::{NameRule, Part, Permission, Strategy, UserInfo};
use quorate_wire::pem_text::{self, CERTIFICATE};

/// The lower limit of `expirationSeconds`.
const MIN_EXPIRATION_SECONDS: i64 = 600;
/// The replacement of a certificate in messages.
const REDACTED: &str = "<certificate data>";
/// The fields about the requesting user, which the server sets.
const AUTHOR_FIELDS: [&str; 4] = ["username", "uid", "groups", "extra"];

/// The strategy of CertificateSigningRequest.
#[derive(Debug)]
pub(super) struct CertificateSigningRequest;

impl Strategy for CertificateSigningRequest {
    fn has_declared_rules(&self) -> bool {
        true
    }

    fn name_rule(&self) -> NameRule {
        NameRule::PathSegment
    }

    fn ignored(&self, part: Part) -> &'static [&'static str] {
        match part {
            // The specification never changes, so it has no field managers.
            Part::Main
            | Part::Finalize
            | Part::Scale
            | Part::Binding
            | Part::EphemeralContainers
            | Part::Resize => &["spec", "status"],
            Part::Approval => &["spec", "status.certificate"],
            Part::Status => &["spec"],
        }
    }

    fn prepare_create(&self, _: &Names, object: &mut Value) {
        object.set_at(&["status"], Map::new());
    }

    fn prepare_update(&self, _: &Names, part: Part, old: &Value, new: &mut Value) {
        restore(old, new, &["spec"]);
        match part {
            Part::Main
            | Part::Finalize
            | Part::Scale
            | Part::Binding
            | Part::EphemeralContainers
            | Part::Resize => restore(old, new, &["status"]),
            Part::Approval => restore(old, new, &["status", "certificate"]),
            Part::Status => conditions::keep_decision(old, new),
        }
    }

    fn stamp(&self, _: &Names, old: Option<&Value>, new: &mut Value, now: Time) {
        if let Some(old) = old {
            conditions::set_times(old, new, now);
        }
    }

    fn created_by(&self, who: Option<UserInfo<'_>>, object: &mut Value) {
        let Some(spec) = object.get_mut("spec").and_then(Value::as_map_mut) else {
            return;
        };
        for field in AUTHOR_FIELDS {
            spec.remove(field);
        }
        for (field, value) in who.map(|who| who.to_fields()).unwrap_or_default().iter() {
            spec.insert(field, value.clone());
        }
    }

    fn permission(
        &self,
        names: &Names,
        part: Part,
        old: Option<&Value>,
        new: &Value,
    ) -> Result<Option<Permission>, String> {
        // The signer name never changes, so the new object has that of the old one.
        let asked = signer_of(new);
        match (part, old) {
            (Part::Main, None) => refuse_masters(names, new).map(|()| None),
            (Part::Approval, Some(_)) => {
                Ok(Some(signer::permission(names, "approve", "approve requests with", asked)))
            }
            (Part::Status, Some(old)) if old.get("status") != new.get("status") => {
                Ok(Some(signer::permission(names, "sign", "sign requests with", asked)))
            }
            _ => Ok(None),
        }
    }

    fn judges(&self) -> &'static [&'static str] {
        &["spec.request"]
    }

    fn validate(&self, names: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let request = object.at(&["spec", "request"]).cloned().unwrap_or_default();
        if let Err(why) = pem_text::check_request(&bytes(&request)) {
            causes.push(Cause::invalid("spec.request", request, &why));
        }
        check_usages(object, &mut causes);
        let asked = signer_of(object);
        if asked == names.signer_legacy_unknown {
            let why = "the legacy signerName is not allowed via this API version";
            causes.push(Cause::invalid("spec.signerName", asked, why));
        } else if !asked.is_empty() {
            causes.extend(signer::check("spec.signerName", asked));
        }
        let seconds = object.at(&["spec", "expirationSeconds"]).and_then(Value::as_i64);
        if let Some(seconds) = seconds.filter(|seconds| *seconds < MIN_EXPIRATION_SECONDS) {
            let why = "may not specify a duration less than 600 seconds (10 minutes)";
            causes.push(Cause::invalid("spec.expirationSeconds", seconds, why));
        }
        causes.extend(conditions::check(object));
        if let Err(why) = check_certificate(object) {
            causes.push(Cause::invalid("status.certificate", REDACTED, &why));
        }
        causes
    }

    fn validate_update(&self, names: &Names, part: Part, old: &Value, new: &Value) -> Vec<Cause> {
        let mut causes = conditions::check_change(part, old, new);
        let (before, after) = (certificate(old), certificate(new));
        if !before.is_empty() && before != after {
            let why = "updates may not modify existing certificate content";
            causes.push(Cause::forbidden("status.certificate", why));
        }
        if names.naming == Naming::Svc {
            check_order(part, old, new, &mut causes);
        }
        causes
    }
}

/// Checks the order of a request's states, which the profile `svc` prescribes and clients of the
/// other one do not know: approved, then either a certificate or a failure.
fn check_order(part: Part, old: &Value, new: &Value, causes: &mut Vec<Cause>) {
    if part == Part::Status && conditions::begins_to_fail(old, new) {
        causes.push(Cause::forbidden("status.conditions", "only an approved request can fail"));
    }
    let (before, after) = (certificate(old), certificate(new));
    let mut forbid = |why: &str| causes.push(Cause::forbidden("status.certificate", why));
    if before.is_empty() && before != after && !conditions::has(new, APPROVED) {
        forbid("only an approved request can have a certificate");
    }
    if !after.is_empty() && (conditions::has(new, FAILED) || conditions::has(new, DENIED)) {
        forbid("a request that was denied or has failed cannot have a certificate");
    }
}

fn certificate(object: &Value) -> &str {
    object.str_at(&["status", "certificate"]).unwrap_or_default()
}

fn signer_of(object: &Value) -> &str {
    object.str_at(&["spec", "signerName"]).unwrap_or_default()
}

/// Refuses a request for a client certificate of the group `system:masters`.
fn refuse_masters(names: &Names, object: &Value) -> Result<(), String> {
    let request = object.at(&["spec", "request"]).cloned().unwrap_or_default();
    let asked = signer_of(object);
    if asked == names.signer_client
        && pem_text::organizations(&bytes(&request)).iter().any(|o| o == GROUP_MASTERS)
    {
        return Err(format!("use of {asked} signer with {GROUP_MASTERS} group is not allowed"));
    }
    Ok(())
}

fn check_usages(object: &Value, causes: &mut Vec<Cause>) {
    let path = Path::new("spec.usages");
    let usages = object.at(&["spec", "usages"]).and_then(Value::as_list).unwrap_or_default();
    if usages.is_empty() {
        causes.push(Cause::required(&path, ""));
    }
    let mut seen = HashSet::new();
    for (index, usage) in usages.iter().enumerate() {
        if !seen.insert(usage.as_str()) {
            causes.push(Cause::duplicate(path.index(index), usage.clone()));
        }
    }
}

/// Checks an issued certificate: PEM with at least one certificate and no other block.
fn check_certificate(object: &Value) -> Result<(), String> {
    let certificate = object.at(&["status", "certificate"]).cloned().unwrap_or_default();
    if certificate.is_empty() {
        return Ok(());
    }
    let blocks = pem_text::blocks(&bytes(&certificate))?;
    if blocks.is_empty() {
        return Err(format!("must contain at least one {CERTIFICATE} PEM block"));
    }
    for block in &blocks {
        if block.label != CERTIFICATE {
            return Err(format!(
                "only {CERTIFICATE} PEM blocks are allowed, found {:?}",
                block.label
            ));
        }
        if block.has_headers {
            return Err("no PEM block headers are permitted".to_owned());
        }
        if pem_text::certificate(block).is_none() {
            return Err("x509: malformed certificate".to_owned());
        }
    }
    Ok(())
}

/// The bytes of a field of type `bytes`.
fn bytes(value: &Value) -> Vec<u8> {
    STANDARD.decode(value.as_str().unwrap_or_default()).unwrap_or_default()
}

/// Sets a path of `new` to its value in `old`.
fn restore(old: &Value, new: &mut Value, path: &[&str]) {
    match old.at(path) {
        Some(value) => {
            new.set_at(path, value.clone());
        }
        None => {
            new.remove_at(path);
        }
    }
}
