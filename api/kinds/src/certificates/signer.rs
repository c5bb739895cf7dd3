//! Signer names, and the permissions that depend on them.

use quorate_meta::{Cause, Names, name};

use quorate_registry::Permission;

/// Bytes of the domain before the slash, at most.
const MAX_DOMAIN: usize = name::MAX_SUBDOMAIN_LEN;
/// Bytes of the path after the slash, at most: a domain, a dot and a label.
const MAX_PATH: usize = name::MAX_SUBDOMAIN_LEN + name::MAX_LABEL_LEN + 1;
const FORM: &str =
    "must be a fully qualified domain and path of the form 'example.com/signer-name'";

/// Checks a signer name: a domain, a slash and a path.
pub(crate) fn check(field: &str, signer: &str) -> Vec<Cause> {
    let mut parts = signer.split('/');
    let (Some(domain), Some(path), None) = (parts.next(), parts.next(), parts.next()) else {
        return vec![Cause::invalid(field, signer, FORM)];
    };
    let mut causes = Vec::new();
    if domain.len() > MAX_DOMAIN {
        causes.push(Cause::too_long(field, MAX_DOMAIN));
    }
    let mut check = |part: &str, labels: &dyn Fn(&str) -> Vec<String>| {
        for label in part.split('.') {
            for why in labels(label) {
                causes.push(Cause::invalid(
                    field,
                    part,
                    &format!("validating label {label:?}: {why}"),
                ));
            }
        }
    };
    check(domain, &name::dns_label);
    check(path, &name::dns_subdomain);
    if !domain.contains('.') {
        let why = "should be a domain with at least two segments separated by dots";
        causes.push(Cause::invalid(field, domain, why));
    }
    if path.len() > MAX_PATH {
        causes.push(Cause::too_long(field, MAX_PATH));
    }
    causes
}

/// The permission for a verb on a signer: on its name, or on all signers of its domain. `what`
/// completes the message "user not permitted to".
pub(super) fn permission(
    names: &Names,
    verb: &'static str,
    what: &str,
    signer: &str,
) -> Permission {
    let domain = signer.split('/').next().unwrap_or_default();
    Permission {
        verb,
        resource: "signers",
        group: names.group("certificates"),
        names: vec![signer.to_owned(), format!("{domain}/*")],
        refusal: format!("user not permitted to {what} signerName {signer:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_domain_and_a_path() {
        let check =
            |signer: &str, expect: usize| assert_eq!(check("f", signer).len(), expect, "{signer}");
        check("example.com/a", 0);
        check("sub.example.com/a.b-c", 0);
        check(&format!("{}.com/a", "x".repeat(63)), 0);
        check(&format!("{}.com/a", "x".repeat(64)), 1);
        for one in [
            "signer",
            "example.com",
            "example/a",
            "example.com/",
            "a.b/c/d",
            "A.b/c",
            "a.b/C",
            "a_.b/c",
            "a.b/c..d",
        ] {
            check(one, 1);
        }
        check(&format!("{}/a", vec!["x".repeat(60); 5].join(".")), 1);
        check(&format!("a.b/{}", vec!["x".repeat(60); 6].join(".")), 1);
    }

    #[test]
    fn a_permission_is_for_one_signer_or_for_a_domain() {
        let permission =
            permission(quorate_meta::Naming::Svc.names(), "sign", "sign requests with", "a.b/c");
        assert_eq!(permission.names, ["a.b/c", "a.b/*"]);
        assert_eq!(permission.group, "certificates.svc.io");
        assert_eq!(
            permission.refusal,
            "user not permitted to sign requests with signerName \"a.b/c\""
        );
    }
}
