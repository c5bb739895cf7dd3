//! ClusterTrustBundle: trust anchors (root certificates), of one signer or of none (KEP-3257).
//!
//! Which clients may write the bundles of a signer is declared here as a permission and decided by
//! the authorizer.

use std::collections::HashMap;

use quorate_meta::{Cause, Names, Value, name};

use super::signer;
use quorate_registry::{NameRule, Part, Permission, Strategy};
use quorate_wire::pem_text::{self, CERTIFICATE};

/// Bytes of a trust bundle, at most.
const MAX_BUNDLE_BYTES: usize = 1 << 20;
/// The replacement of a bundle in messages.
const OMITTED: &str = "<value omitted>";

/// The strategy of ClusterTrustBundle.
#[derive(Debug)]
pub(super) struct ClusterTrustBundle;

impl Strategy for ClusterTrustBundle {
    fn name_rule(&self) -> NameRule {
        NameRule::Own
    }

    fn unconditional_update(&self) -> bool {
        false
    }

    fn permission(
        &self,
        names: &Names,
        _: Part,
        _: Option<&Value>,
        new: &Value,
    ) -> Result<Option<Permission>, String> {
        let signer = signer_of(new);
        Ok((!signer.is_empty()).then(|| signer::permission(names, "attest", "attest for", signer)))
    }

    fn judges(&self) -> &'static [&'static str] {
        &["spec.trustBundle"]
    }

    fn validate(&self, _: &Names, object: &Value) -> Vec<Cause> {
        let signer = signer_of(object);
        let mut causes =
            check_name(object.str_at(&["metadata", "name"]).unwrap_or_default(), signer);
        if !signer.is_empty() {
            causes.extend(signer::check("spec.signerName", signer));
        }
        let bundle = object.str_at(&["spec", "trustBundle"]).unwrap_or_default();
        if bundle.len() > MAX_BUNDLE_BYTES {
            causes.push(Cause::too_long("spec.trustBundle", MAX_BUNDLE_BYTES));
        } else if let Err(why) = check_bundle(bundle) {
            causes.push(Cause::invalid("spec.trustBundle", OMITTED, &why));
        }
        causes
    }

    fn validate_update(&self, _: &Names, _: Part, old: &Value, new: &Value) -> Vec<Cause> {
        let (before, after) = (signer_of(old), signer_of(new));
        if before == after {
            return Vec::new();
        }
        vec![Cause::invalid("spec.signerName", after, "field is immutable")]
    }
}

fn signer_of(object: &Value) -> &str {
    object.str_at(&["spec", "signerName"]).unwrap_or_default()
}

/// Checks that the name has the signer name as its prefix, or no colon without a signer.
fn check_name(own: &str, signer: &str) -> Vec<Cause> {
    const FIELD: &str = "metadata.name";
    if own.is_empty() {
        return Vec::new();
    }
    let prefix = format!("{}:", signer.replace('/', ":"));
    let rest = match signer.is_empty() {
        true if own.contains(':') => {
            let why = "ClusterTrustBundle without signer name must not have \":\" in its name";
            return vec![Cause::invalid(FIELD, own, why)];
        }
        true => Some(own),
        false => own.strip_prefix(&prefix),
    };
    let Some(rest) = rest else {
        let why = format!(
            "ClusterTrustBundle for signerName {signer} must be named with prefix {prefix}"
        );
        return vec![Cause::invalid(FIELD, own, &why)];
    };
    name::dns_subdomain(rest).iter().map(|why| Cause::invalid(FIELD, own, why)).collect()
}

/// Checks that a PEM text has certificates of certificate authorities, each once, and nothing else.
fn check_bundle(text: &str) -> Result<(), String> {
    let blocks = pem_text::blocks(text.as_bytes())?;
    let mut seen: HashMap<&[u8], usize> = HashMap::new();
    for (index, block) in blocks.iter().enumerate() {
        if block.label != CERTIFICATE {
            return Err(format!("entry {index} has bad block type: {}", block.label));
        }
        if block.has_headers {
            return Err(format!("entry {index} has PEM block headers"));
        }
        let certificate = pem_text::certificate(block);
        let certificate =
            certificate.ok_or_else(|| format!("entry {index} does not parse as X.509"))?;
        let constraints = certificate.basic_constraints().ok().flatten();
        let constraints = constraints
            .ok_or_else(|| format!("entry {index} does not have basic constraints set"))?;
        if !constraints.value.ca {
            return Err(format!("entry {index} does not have the CA bit set"));
        }
        if let Some(first) = seen.insert(&block.contents, index) {
            return Err(format!("duplicate trust anchor (indices [{first} {index}])"));
        }
    }
    if blocks.is_empty() {
        return Err("at least one trust anchor must be provided".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Naming;
    use serde_json::json;

    fn certificate(authority: Option<bool>) -> String {
        let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = match authority {
            Some(true) => rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained),
            Some(false) => rcgen::IsCa::ExplicitNoCa,
            None => rcgen::IsCa::NoCa,
        };
        params.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap().pem()
    }

    #[test]
    fn a_bundle_holds_authorities_and_nothing_else() {
        let check = |text: &str, expect: Result<(), &str>| {
            assert_eq!(check_bundle(text), expect.map_err(str::to_owned));
        };
        let (one, two) = (certificate(Some(true)), certificate(Some(true)));
        check(&format!("# one\n{one}\n# two\n{two}"), Ok(()));
        check("", Err("at least one trust anchor must be provided"));
        check(&certificate(Some(false)), Err("entry 0 does not have the CA bit set"));
        check(
            &format!("{one}{}", certificate(None)),
            Err("entry 1 does not have basic constraints set"),
        );
        check(&format!("{one}{two}{one}"), Err("duplicate trust anchor (indices [0 2])"));
        check(&one.replacen("-----\n", "-----\nA: b\n\n", 1), Err("entry 0 has PEM block headers"));
        check(&one.replace("CERTIFICATE", "X"), Err("entry 0 has bad block type: X"));
        let garbage = "-----BEGIN CERTIFICATE-----\nAAEC\n-----END CERTIFICATE-----\n";
        check(garbage, Err("entry 0 does not parse as X.509"));
    }

    #[test]
    fn a_name_belongs_to_its_signer() {
        let check = |name: &str, signer: &str, expect: usize| {
            assert_eq!(check_name(name, signer).len(), expect, "{name} {signer}");
        };
        check("plain", "", 0);
        check("Plain", "", 1);
        check("a:b", "", 1);
        check("a.b:c:x", "a.b/c", 0);
        for wrong in ["x", "a.b:c:", "a.b:d:x", "a.b/c:x", "a.b:c:X", "a.b:c:x:y"] {
            check(wrong, "a.b/c", 1);
        }
    }

    #[test]
    fn the_signer_stays_and_is_asked() {
        let bundle = |signer: &str| {
            Value::from(json!({"metadata": {"name": "a"}, "spec": {"signerName": signer}}))
        };
        let names = Naming::Svc.names();
        let check = |old: &str, new: &str, changes: usize, asked: bool| {
            let (old, new) = (bundle(old), bundle(new));
            assert_eq!(
                ClusterTrustBundle.validate_update(names, Part::Main, &old, &new).len(),
                changes
            );
            let permission =
                ClusterTrustBundle.permission(names, Part::Main, Some(&old), &new).unwrap();
            assert_eq!(permission.is_some_and(|permission| permission.verb == "attest"), asked);
        };
        check("", "", 0, false);
        check("a.b/c", "a.b/c", 0, true);
        check("", "a.b/c", 1, true);
        check("a.b/c", "", 1, false);
    }
}
