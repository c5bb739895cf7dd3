//! Certificates whose subject a request says: the name, the key and the alternative names are the
//! request's own, everything else is the issuer's.
//!
//! Made with x509-cert, because rcgen writes one organization in a name at most, and the
//! organizations of a client's name are its groups. The issuer's key signs through rcgen, which
//! holds it anyway.

#[cfg(test)]
mod tests;

use std::fmt::Display;

use quorate_controllers::certificates::{NotIssued, Order, Usage};
use rcgen::{KeyPair, SigningKey};
use time::OffsetDateTime;
use x509_cert::der::asn1::{BitString, GeneralizedTime, OctetString, UtcTime};
use x509_cert::der::oid::db::{rfc5280, rfc5912};
use x509_cert::der::{DateTime, Decode, DecodePem, Encode, EncodePem, pem::LineEnding};
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::ext::pkix::{
    AuthorityKeyIdentifier, BasicConstraints, ExtendedKeyUsage, KeyUsage, KeyUsages,
    SubjectAltName, SubjectKeyIdentifier,
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
    if end <= u64::try_from(now.unix_timestamp()).unwrap_or(0)
        || order.not_before.ms() / 1000 >= not_after
    {
        return Err(unusable("it has expired"));
    }
    let request = CertReq::from_der(order.request).map_err(wrong)?;
    let subject = request.info.subject.clone();
    let tbs = TbsCertificate {
        version: Version::V3,
        serial_number: SerialNumber::new(&positive(serial)).map_err(unusable)?,
        signature: algorithm(),
        issuer: issuer.subject.clone(),
        validity: Validity {
            not_before: time(order.not_before.ms() / 1000)?,
            not_after: time(not_after)?,
        },
        extensions: Some(extensions(&issuer, &request, &subject, order.usages)?),
        subject,
        subject_public_key_info: request.info.public_key,
        issuer_unique_id: None,
        subject_unique_id: None,
    };
    let key = KeyPair::from_pem(&authority.key).map_err(unusable)?;
    let signature = key.sign(&tbs.to_der().map_err(wrong)?).map_err(unusable)?;
    let signature = BitString::from_bytes(&signature).map_err(unusable)?;
    let certificate =
        Certificate { tbs_certificate: tbs, signature_algorithm: algorithm(), signature };
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
    let time = DateTime::from_unix_duration(std::time::Duration::from_secs(unix_seconds))
        .map_err(unusable)?;
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
            Usage::DigitalSignature => {
                key_usage = Some(key_usage.unwrap_or_default() | KeyUsages::DigitalSignature)
            }
            Usage::KeyEncipherment => {
                key_usage = Some(key_usage.unwrap_or_default() | KeyUsages::KeyEncipherment)
            }
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
    add(&|all| {
        BasicConstraints { ca: false, path_len_constraint: None }.to_extension(subject, all)
    })?;
    if let Some(identifier) = key_identifier(issuer)? {
        let identifier = AuthorityKeyIdentifier {
            key_identifier: Some(identifier),
            ..AuthorityKeyIdentifier::default()
        };
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
    let mut asked = request
        .info
        .attributes
        .iter()
        .filter(|attribute| attribute.oid == rfc5912::ID_EXTENSION_REQ);
    let Some(attribute) = asked.next() else {
        return Ok(Vec::new());
    };
    let (None, [value]) = (asked.next(), attribute.values.as_slice()) else {
        return Err(wrong("the request asks for extensions more than once"));
    };
    let ExtensionReq(extensions) =
        ExtensionReq::from_der(&value.to_der().map_err(wrong)?).map_err(wrong)?;
    let mut names = Vec::new();
    for extension in
        extensions.iter().filter(|extension| extension.extn_id == rfc5280::ID_CE_SUBJECT_ALT_NAME)
    {
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
