//! Certificates whose subject a request says: the name, the key and the alternative names are the
//! request's own, everything else is the issuer's.
//!
//! Made with x509-cert, because rcgen writes one organization in a name at most, and the
//! organizations of a client's name are its groups. The issuer's key signs through rcgen, which
//! holds it anyway.

use std::fmt::Display;

use quorate_api::controllers::certificates::{NotIssued, Order, Usage};
use rcgen::{KeyPair, SigningKey};
use time::OffsetDateTime;
use x509_cert::der::asn1::{BitString, GeneralizedTime, OctetString, UtcTime};
use x509_cert::der::oid::db::{rfc5280, rfc5912};
use x509_cert::der::{DateTime, Decode, DecodePem, Encode, EncodePem, pem::LineEnding};
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::ext::pkix::{
    AuthorityKeyIdentifier, BasicConstraints, ExtendedKeyUsage, KeyUsage, KeyUsages, SubjectAltName,
    SubjectKeyIdentifier,
};
use x509_cert::ext::{AsExtension, Extension};
use x509_cert::name::Name;
use x509_cert::request::{CertReq, ExtensionReq};
use x509_cert::serial_number::SerialNumber;
use x509_cert::spki::AlgorithmIdentifierOwned;
use x509_cert::time::{Time, Validity};
use x509_cert::{Certificate, TbsCertificate, Version};

use super::Identity;

/// Bytes of a serial number.
pub(crate) const SERIAL_BYTES: usize = 16;

/// The certificate (PEM) for an order, from an authority with an ECDSA P-256 key. It never outlives
/// the authority.
///
/// # Errors
/// `Refused` where the request is wrong, `Unavailable` where the authority is: another one may take
/// its place.
pub(crate) fn issue(
    authority: &Identity,
    order: &Order<'_>,
    serial: [u8; SERIAL_BYTES],
    now: OffsetDateTime,
) -> Result<String, NotIssued> {
    let issuer = Certificate::from_pem(&authority.certificate).map_err(unusable)?.tbs_certificate;
    let end = issuer.validity.not_after.to_unix_duration().as_secs();
    let not_after = (order.not_after.ms() / 1000).min(end);
    if end <= u64::try_from(now.unix_timestamp()).unwrap_or(0) || order.not_before.ms() / 1000 >= not_after {
        return Err(unusable("it has expired"));
    }
    let request = CertReq::from_der(order.request).map_err(wrong)?;
    let subject = request.info.subject.clone();
    let tbs = TbsCertificate {
        version: Version::V3,
        serial_number: SerialNumber::new(&positive(serial)).map_err(unusable)?,
        signature: algorithm(),
        issuer: issuer.subject.clone(),
        validity: Validity { not_before: time(order.not_before.ms() / 1000)?, not_after: time(not_after)? },
        extensions: Some(extensions(&issuer, &request, &subject, order.usages)?),
        subject,
        subject_public_key_info: request.info.public_key,
        issuer_unique_id: None,
        subject_unique_id: None,
    };
    let key = KeyPair::from_pem(&authority.key).map_err(unusable)?;
    let signature = key.sign(&tbs.to_der().map_err(wrong)?).map_err(unusable)?;
    let signature = BitString::from_bytes(&signature).map_err(unusable)?;
    let certificate = Certificate { tbs_certificate: tbs, signature_algorithm: algorithm(), signature };
    certificate.to_pem(LineEnding::LF).map_err(wrong)
}

/// The request is at fault.
fn wrong(error: impl Display) -> NotIssued {
    NotIssued::Refused(format!("certificate: {error}"))
}

/// The authority is at fault.
fn unusable(error: impl Display) -> NotIssued {
    NotIssued::Unavailable(format!("the authority of the signers: {error}"))
}

/// What authorities sign with: they are made with ECDSA P-256 keys.
fn algorithm() -> AlgorithmIdentifierOwned {
    AlgorithmIdentifierOwned { oid: rfc5912::ECDSA_WITH_SHA_256, parameters: None }
}

/// The bytes as those of a number above zero.
fn positive(mut serial: [u8; SERIAL_BYTES]) -> [u8; SERIAL_BYTES] {
    serial[0] = serial[0] & 0x7f | 0x40;
    serial
}

/// A moment as certificates write it: with two digits of the year as long as that is possible (RFC
/// 5280, 4.1.2.5).
fn time(unix_seconds: u64) -> Result<Time, NotIssued> {
    let time = DateTime::from_unix_duration(std::time::Duration::from_secs(unix_seconds)).map_err(unusable)?;
    if time.year() <= UtcTime::MAX_YEAR {
        return Ok(Time::UtcTime(UtcTime::from_date_time(time).map_err(unusable)?));
    }
    Ok(Time::GeneralTime(GeneralizedTime::from_date_time(time)))
}

fn extensions(
    issuer: &TbsCertificate,
    request: &CertReq,
    subject: &Name,
    usages: &[Usage],
) -> Result<Vec<Extension>, NotIssued> {
    let mut extensions = Vec::new();
    let mut key_usage = None;
    let mut purposes = Vec::new();
    for usage in usages {
        match usage {
            Usage::DigitalSignature => key_usage = Some(key_usage.unwrap_or_default() | KeyUsages::DigitalSignature),
            Usage::KeyEncipherment => key_usage = Some(key_usage.unwrap_or_default() | KeyUsages::KeyEncipherment),
            Usage::ClientAuth => purposes.push(rfc5280::ID_KP_CLIENT_AUTH),
            Usage::ServerAuth => purposes.push(rfc5280::ID_KP_SERVER_AUTH),
        }
    }
    let mut add = |extension: &dyn Fn(&[Extension]) -> Result<Extension, x509_cert::der::Error>| {
        let made = extension(&extensions).map_err(wrong)?;
        extensions.push(made);
        Ok::<_, NotIssued>(())
    };
    if let Some(usage) = key_usage {
        add(&|all| KeyUsage(usage).to_extension(subject, all))?;
    }
    add(&|all| ExtendedKeyUsage(purposes.clone()).to_extension(subject, all))?;
    add(&|all| BasicConstraints { ca: false, path_len_constraint: None }.to_extension(subject, all))?;
    if let Some(identifier) = key_identifier(issuer)? {
        let identifier =
            AuthorityKeyIdentifier { key_identifier: Some(identifier), ..AuthorityKeyIdentifier::default() };
        add(&|all| identifier.to_extension(subject, all))?;
    }
    let names = alternative_names(request)?;
    if !names.is_empty() {
        add(&|all| SubjectAltName(names.clone()).to_extension(subject, all))?;
    }
    Ok(extensions)
}

/// What the authority calls its own key.
fn key_identifier(issuer: &TbsCertificate) -> Result<Option<OctetString>, NotIssued> {
    Ok(issuer.get::<SubjectKeyIdentifier>().map_err(unusable)?.map(|(_, identifier)| identifier.0))
}

/// The alternative names that a request asks for, of the sorts that certificates are used by. It
/// asks at one place only: others may have looked at no other.
fn alternative_names(request: &CertReq) -> Result<Vec<GeneralName>, NotIssued> {
    let mut asked = request.info.attributes.iter().filter(|attribute| attribute.oid == rfc5912::ID_EXTENSION_REQ);
    let Some(attribute) = asked.next() else { return Ok(Vec::new()) };
    let (None, [value]) = (asked.next(), attribute.values.as_slice()) else {
        return Err(wrong("the request asks for extensions more than once"));
    };
    let ExtensionReq(extensions) = ExtensionReq::from_der(&value.to_der().map_err(wrong)?).map_err(wrong)?;
    let mut names = Vec::new();
    for extension in extensions.iter().filter(|extension| extension.extn_id == rfc5280::ID_CE_SUBJECT_ALT_NAME) {
        names.extend(SubjectAltName::from_der(extension.extn_value.as_bytes()).map_err(wrong)?.0);
    }
    names.retain(|name| {
        matches!(
            name,
            GeneralName::DnsName(_)
                | GeneralName::IpAddress(_)
                | GeneralName::Rfc822Name(_)
                | GeneralName::UniformResourceIdentifier(_)
        )
    });
    Ok(names)
}

#[cfg(test)]
mod tests {
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

    fn check(names: &[&str], usages: &[Usage], not_after_days: u64, expect: impl Fn(&X509Certificate<'_>)) {
        let authority = Authority::generate("test-ca", now()).unwrap();
        let request = request(names.iter().map(|name| (*name).to_owned()).collect());
        let at = |days: u64| Moment::from_ms((TODAY + days) * DAY_MS);
        let order = Order { request: &request, usages, not_before: at(0), not_after: at(not_after_days) };
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
            let order = Order { request, usages: &[Usage::ClientAuth], not_before: at(days), not_after: at(days + 1) };
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
                (Err(NotIssued::Refused(why)), None) => assert!(why.contains("more than once"), "{why}"),
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
}
