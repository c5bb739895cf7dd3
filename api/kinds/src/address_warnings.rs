//! Warnings about IP addresses and CIDRs that are accepted today and ambiguous or not canonical
//! (KEP-4858, "IP/CIDR validation improvements").
//!
//! Whether an address is valid at all is checked in `rules`.

use std::net::IpAddr;

use super::field::Field;
use quorate_meta::net::{self, Range};

/// The warning about an address.
pub(super) fn of_address(field: &Field<'_>) -> Option<String> {
    let (path, text) = (field.path().as_str(), field.text());
    let address = net::address(text)?;
    match strict(text) {
        None => Some(format!(
            "{path}: non-standard IP address {text:?} will be considered invalid in a future Kubernetes release: use \"{address}\""
        )),
        Some(_) if address.is_ipv6() && address.to_string() != text => Some(format!(
            "{path}: IPv6 address {text:?} should be in RFC 5952 canonical format (\"{address}\")"
        )),
        Some(_) => None,
    }
}

/// The warnings about a CIDR.
pub(super) fn of_range(field: &Field<'_>) -> Vec<String> {
    let (path, text) = (field.path().as_str(), field.text());
    let (Some(range), Some((start, prefix))) = (Range::parse(text), text.split_once('/')) else {
        return Vec::new();
    };
    let Some(address) = net::address(start) else {
        return Vec::new();
    };
    let mut warnings = Vec::new();
    if range.first() != address {
        let alone = if address.is_ipv4() { 32 } else { 128 };
        warnings.push(format!(
            "{path}: CIDR value {text:?} is ambiguous in this context (should be \"{range}\" or \"{address}/{alone}\"?)"
        ));
    }
    if strict(start).is_none() || (prefix.len() > 1 && prefix.starts_with('0')) {
        warnings.push(format!(
            "{path}: non-standard CIDR value {text:?} will be considered invalid in a future Kubernetes release: use \"{range}\""
        ));
    }
    if warnings.is_empty() && address.is_ipv6() && range.to_string() != text {
        warnings.push(format!(
            "{path}: IPv6 CIDR value {text:?} should be in RFC 5952 canonical format (\"{range}\")"
        ));
    }
    warnings
}

/// The address, unless a part of it has leading zeros or it is an IPv4-mapped IPv6 address.
fn strict(text: &str) -> Option<IpAddr> {
    let address: IpAddr = text.parse().ok()?;
    let mapped = matches!(address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some());
    (!mapped).then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Value;
    use serde_json::json;

    #[test]
    fn addresses() {
        let check = |text: &str, expect: Option<&str>| {
            let object = Value::from(json!({ "a": text }));
            assert_eq!(of_address(&Field::root(&object).get("a")).as_deref(), expect);
        };
        for good in ["10.1.1.1", "fd00::1", "x", ""] {
            check(good, None);
        }
        let future = "will be considered invalid in a future Kubernetes release: use";
        check(
            "010.1.1.1",
            Some(&format!("a: non-standard IP address \"010.1.1.1\" {future} \"10.1.1.1\"")),
        );
        check(
            "::ffff:1.2.3.4",
            Some(&format!("a: non-standard IP address \"::ffff:1.2.3.4\" {future} \"1.2.3.4\"")),
        );
        check(
            "fd00:0::1",
            Some(
                "a: IPv6 address \"fd00:0::1\" should be in RFC 5952 canonical format (\"fd00::1\")",
            ),
        );
    }

    #[test]
    fn ranges() {
        let check = |text: &str, expect: &[&str]| {
            let object = Value::from(json!({ "a": text }));
            assert_eq!(of_range(&Field::root(&object).get("a")), expect);
        };
        for good in ["10.1.1.0/24", "fd00::/64", "0.0.0.0/0", "x"] {
            check(good, &[]);
        }
        let ambiguous = "is ambiguous in this context";
        check(
            "10.0.0.1/24",
            &[&format!(
                "a: CIDR value \"10.0.0.1/24\" {ambiguous} (should be \"10.0.0.0/24\" or \"10.0.0.1/32\"?)"
            )],
        );
        let future = "will be considered invalid in a future Kubernetes release: use";
        for (text, canonical) in [("010.0.0.0/8", "10.0.0.0/8"), ("10.0.0.0/08", "10.0.0.0/8")] {
            check(text, &[&format!("a: non-standard CIDR value {text:?} {future} {canonical:?}")]);
        }
        check(
            "fd00:0::/64",
            &[
                "a: IPv6 CIDR value \"fd00:0::/64\" should be in RFC 5952 canonical format (\"fd00::/64\")",
            ],
        );
    }
}
