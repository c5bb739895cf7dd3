//! Certificates that are issued for requests, read back.

use quorate_meta::Time as Moment;
use rcgen::{CertificateParams, DnType};
use x509_parser::prelude::{FromDer, X509Certificate};

use super::*;
use crate::pki::Authority;

/// Days from the Unix epoch to the moment of these tests, in 2024: an authority begins a little
/// earlier, which a certificate cannot say of 1970.
const TODAY: u64 = 20_000;
const DAY_MS: u64 = 24 * 3600 * 1000;

fn now() -> OffsetDateTime {
    OffsetDateTime::UNIX_EPOCH + time::Duration::days(TODAY.cast_signed())
}

/// Seconds from the Unix epoch to so many days from the moment of these tests.
fn seconds_after(days: u64) -> i64 {
    ((TODAY + days) * DAY_MS / 1000).cast_signed()
}

fn request(names: Vec<String>) -> Vec<u8> {
    let mut params = CertificateParams::new(names).unwrap();
    params.distinguished_name.push(DnType::CommonName, "alice");
    params.distinguished_name.push(DnType::OrganizationName, "dev");
    params.distinguished_name.push(DnType::CustomDnType(vec![2, 5, 4, 10]), "ops");
    params.serialize_request(&KeyPair::generate().unwrap()).unwrap().der().to_vec()
}

fn check(
    names: &[&str],
    usages: &[Usage],
    not_after_days: u64,
    expect: impl Fn(&X509Certificate<'_>),
) {
    let authority = Authority::generate("test-ca", now()).unwrap();
    let request = request(names.iter().map(|name| (*name).to_owned()).collect());
    let at = |days: u64| Moment::from_ms((TODAY + days) * DAY_MS);
    let order =
        Order { request: &request, usages, not_before: at(0), not_after: at(not_after_days) };
    let pem = issue(authority.identity(), &order, [0xff; SERIAL_BYTES], now()).unwrap();
    let chain = Identity { certificate: pem, key: String::new() }.chain().unwrap();
    let (_, leaf) = X509Certificate::from_der(&chain[0]).unwrap();
    let ca = authority.identity().chain().unwrap();
    let (_, ca) = X509Certificate::from_der(&ca[0]).unwrap();
    assert!(leaf.verify_signature(Some(ca.public_key())).is_ok());
    assert_eq!(leaf.subject().to_string(), "CN=alice, O=dev, O=ops");
    assert_eq!(leaf.issuer(), ca.subject());
    assert!(!leaf.is_ca());
    expect(&leaf);
}

#[test]
fn subject_and_key_are_those_of_the_request() {
    check(&[], &[Usage::ClientAuth, Usage::DigitalSignature], 1, |leaf| {
        let usage = leaf.extended_key_usage().unwrap().unwrap().value;
        assert_eq!((usage.client_auth, usage.server_auth), (true, false));
        let usage = leaf.key_usage().unwrap().unwrap().value;
        assert_eq!((usage.digital_signature(), usage.key_encipherment()), (true, false));
        assert_eq!(leaf.validity().not_after.timestamp(), seconds_after(1));
        assert!(leaf.subject_alternative_name().unwrap().is_none());
    });
}

#[test]
fn alternative_names_are_taken_over() {
    let usages = [Usage::ServerAuth, Usage::DigitalSignature, Usage::KeyEncipherment];
    check(&["n1.example", "10.0.0.9"], &usages, 1, |leaf| {
        let names = leaf.subject_alternative_name().unwrap().unwrap().value;
        assert_eq!(names.general_names.len(), 2);
        let usage = leaf.extended_key_usage().unwrap().unwrap().value;
        assert_eq!((usage.client_auth, usage.server_auth), (false, true));
    });
}

#[test]
fn what_is_wrong_with_the_authority_may_pass() {
    let authority = Authority::generate("test-ca", now()).unwrap().identity().clone();
    let check = |authority: &Identity, request: &[u8], days: u64, refused: bool| {
        let at = |days: u64| Moment::from_ms((TODAY + days) * DAY_MS);
        let order = Order {
            request,
            usages: &[Usage::ClientAuth],
            not_before: at(days),
            not_after: at(days + 1),
        };
        let now = now() + time::Duration::days(days.cast_signed());
        let error = issue(authority, &order, [1; SERIAL_BYTES], now).unwrap_err();
        assert_eq!(matches!(error, NotIssued::Refused(_)), refused, "{error}");
    };
    check(&authority, b"nonsense", 0, true);
    let request = request(Vec::new());
    check(&authority, &request, 3650, false);
    check(&Identity { key: "nonsense".into(), ..authority.clone() }, &request, 0, false);
    check(&Identity { certificate: "nonsense".into(), ..authority }, &request, 0, false);
}

/// Requests (DER) of an extension: a usage of keys, and the name `b.example`.
const HARMLESS: &[u8] = b"\x30\x0d\x30\x0b\x06\x03\x55\x1d\x0f\x04\x04\x03\x02\x07\x80";
const NAMED: &[u8] = b"\x30\x16\x30\x14\x06\x03\x55\x1d\x11\x04\x0d\x30\x0b\x82\x09b.example";

/// An attribute that asks for extensions with these values.
fn attribute(values: &[&[u8]]) -> rcgen::Attribute {
    let values = values.concat();
    let head = [0x31, u8::try_from(values.len()).unwrap()];
    rcgen::Attribute { oid: &[1, 2, 840, 113_549, 1, 9, 14], values: [&head[..], &values].concat() }
}

#[test]
fn alternative_names_are_asked_for_at_one_place() {
    let check = |attributes: &[&[&[u8]]], expect: Option<usize>| {
        let attributes = attributes.iter().map(|values| attribute(values)).collect();
        let params = CertificateParams::new(Vec::new()).unwrap();
        let key = KeyPair::generate().unwrap();
        let request = params.serialize_request_with_attributes(&key, attributes).unwrap();
        let names = alternative_names(&<CertReq as Decode>::from_der(request.der()).unwrap());
        match (names, expect) {
            (Ok(names), Some(count)) => assert_eq!(names.len(), count),
            (Err(NotIssued::Refused(why)), None) => {
                assert!(why.contains("more than once"), "{why}")
            }
            (other, _) => panic!("{other:?}, not {expect:?}"),
        }
    };
    check(&[], Some(0));
    check(&[&[HARMLESS]], Some(0));
    check(&[&[NAMED]], Some(1));
    check(&[&[HARMLESS], &[NAMED]], None);
    check(&[&[HARMLESS, NAMED]], None);
}

#[test]
fn nothing_outlives_the_authority() {
    check(&[], &[Usage::ClientAuth], 36_500, |leaf| {
        assert_eq!(leaf.validity().not_after.timestamp(), seconds_after(3650));
    });
}
