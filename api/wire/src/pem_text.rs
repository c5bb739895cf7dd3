//! PEM text with certificates and certificate signing requests (RFC 7468).

use x509_parser::asn1_rs::Tag;
use x509_parser::error::X509Error;
use x509_parser::prelude::{
    AttributeTypeAndValue, FromDer, X509Certificate, X509CertificationRequest, X509Name,
};
use x509_parser::public_key::PublicKey;

/// The label of a certificate.
pub const CERTIFICATE: &str = "CERTIFICATE";
/// The label of a certificate signing request.
const REQUEST: &str = "CERTIFICATE REQUEST";
const BAD_SIGNATURE: &str = "x509: the signature of the request does not fit its public key";
/// Bits of an RSA key whose signatures can be verified, at least.
const MIN_RSA_BITS: usize = 2048;

/// One PEM block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The label after `BEGIN`.
    pub label: String,
    /// Whether the block has header lines.
    pub has_headers: bool,
    /// The decoded content.
    pub contents: Vec<u8>,
}

/// The blocks of a text, in order; text around them is ignored.
///
/// # Errors
/// Why a block is malformed.
pub fn blocks(text: &[u8]) -> Result<Vec<Block>, String> {
    let found = pem::parse_many(text).map_err(|error| format!("malformed PEM block: {error}"))?;
    let block = |pem: pem::Pem| Block {
        label: pem.tag().to_owned(),
        has_headers: pem.headers().iter().next().is_some(),
        contents: pem.into_contents(),
    };
    Ok(found.into_iter().map(block).collect())
}

/// Checks that the first block of a text is a certificate signing request, and that it is signed by
/// the key that it is about (RFC 2986, section 4.2). A signature of a sort that this server cannot
/// verify is left to the signer.
///
/// # Errors
/// Why it is none.
pub fn check_request(text: &[u8]) -> Result<(), String> {
    let blocks = blocks(text).unwrap_or_default();
    let first = blocks.first().filter(|block| block.label == REQUEST);
    let first = first.ok_or_else(|| format!("PEM block type must be {REQUEST}"))?;
    match X509CertificationRequest::from_der(&first.contents) {
        Ok(([], request)) => match request.verify_signature() {
            Err(X509Error::SignatureUnsupportedAlgorithm) => Ok(()),
            Err(_) if has_short_key(&request) => Ok(()),
            verified => verified.map_err(|_| BAD_SIGNATURE.to_owned()),
        },
        Ok(_) => Err("asn1: syntax error: trailing data".to_owned()),
        Err(error) => Err(format!("asn1: structure error: {error}")),
    }
}

/// Whether a request is about an RSA key that is too short for its signatures to be verified.
fn has_short_key(request: &X509CertificationRequest<'_>) -> bool {
    let key = request.certification_request_info.subject_pki.parsed();
    matches!(key, Ok(PublicKey::RSA(key)) if (1..MIN_RSA_BITS).contains(&key.key_size()))
}

/// The organizations in the subject of a request; none for another text.
pub fn organizations(text: &[u8]) -> Vec<String> {
    let of = |subject: &X509Name<'_>| subject.iter_organization().map(shown).collect();
    subject(text, of).unwrap_or_default()
}

/// The common names in the subject of a request.
///
/// # Errors
/// Why the text is no request.
pub fn common_names(text: &[u8]) -> Result<Vec<String>, String> {
    subject(text, |subject| subject.iter_common_name().map(shown).collect())
}

/// Reads from the subject of the request that a text begins with.
fn subject<T>(text: &[u8], read: impl FnOnce(&X509Name<'_>) -> T) -> Result<T, String> {
    let blocks = blocks(text)?;
    let first = blocks.first().ok_or("there is no PEM block")?;
    let (_, request) =
        X509CertificationRequest::from_der(&first.contents).map_err(|error| error.to_string())?;
    Ok(read(&request.certification_request_info.subject))
}

/// An attribute of a subject as text, decoded leniently: also string types that certificates should
/// not have.
fn shown(part: &AttributeTypeAndValue<'_>) -> String {
    if let Ok(text) = part.as_str() {
        return text.to_owned();
    }
    let bytes = part.as_slice();
    if part.attr_value().tag() == Tag::BmpString {
        let units = bytes.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
        return char::decode_utf16(units)
            .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect();
    }
    String::from_utf8_lossy(bytes).into_owned()
}

/// The certificate in a block; `None` for another block.
pub fn certificate(block: &Block) -> Option<X509Certificate<'_>> {
    match X509Certificate::from_der(&block.contents) {
        Ok(([], certificate)) => Some(certificate),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_stand_among_other_text() {
        let text = "before\n-----BEGIN A-----\nAAEC\n-----END A-----\nbetween\n-----BEGIN B C-----\nk: v\n\nAAEC\n-----END B C-----\n";
        let found = blocks(text.as_bytes()).unwrap();
        let shown: Vec<_> = found
            .iter()
            .map(|b| (b.label.as_str(), b.has_headers, b.contents.as_slice()))
            .collect();
        assert_eq!(shown, [("A", false, &[0, 1, 2][..]), ("B C", true, &[0, 1, 2][..])]);
        assert_eq!(blocks(b"nothing").unwrap(), []);
        assert!(blocks(b"-----BEGIN A-----\n!!\n-----END A-----\n").is_err());
    }

    #[test]
    fn a_request_is_the_first_block() {
        let key = rcgen::KeyPair::generate().unwrap();
        let params = rcgen::CertificateParams::new(Vec::new()).unwrap();
        let request = params.serialize_request(&key).unwrap().pem().unwrap();
        assert_eq!(check_request(request.as_bytes()), Ok(()));
        assert_eq!(check_request(format!("text\n{request}text").as_bytes()), Ok(()));
        let wrong_label = "PEM block type must be CERTIFICATE REQUEST".to_owned();
        let certificate = params.self_signed(&key).unwrap().pem();
        assert_eq!(check_request(certificate.as_bytes()), Err(wrong_label.clone()));
        assert_eq!(check_request(b""), Err(wrong_label));
        let garbage =
            "-----BEGIN CERTIFICATE REQUEST-----\nAAEC\n-----END CERTIFICATE REQUEST-----\n";
        assert!(
            check_request(garbage.as_bytes()).is_err() && common_names(garbage.as_bytes()).is_err()
        );
    }

    /// Requests of keys whose signatures cannot be verified here: of the curve P-521, and RSA of
    /// 1024 bits.
    const LEFT_TO_THE_SIGNER: [&str; 2] = [
        "-----BEGIN CERTIFICATE REQUEST-----\n\
         MIIBXzCBwQIBADAcMQwwCgYDVQQKDANkZXYxDDAKBgNVBAMMA2FubjCBmzAQBgcq\n\
         hkjOPQIBBgUrgQQAIwOBhgAEANW9pxHu4ncOd94vd96VSKM8G6hic0j2d0o4ysEq\n\
         aqHkBCfBLzkXAhKNOr1VS3DXtTAk4/Ppjva+DC9kZojyI7SNAbUB0C21Hv33ytYc\n\
         UudPgLXCBeAqoV98lW1XapgoL7kuKhewxhL2lpaaNgiHWGG45TTHkHb9eoYogbW8\n\
         Ot8nqkVNoAAwCgYIKoZIzj0EAwIDgYwAMIGIAkIBWf447lzUGCjfYQe8jCDGQMTu\n\
         ygoyhHxdohUQFPkVN8L7SetS4ro+dubWZ3/Yv5pZ4EkV0CYyod+6XwW+a/10MA4C\n\
         QgH5K/CVVsIJ68gixIME6Vv8zl6ZIe7K0NnaOUkwxmPHUj0rtSc2f4lQrzcF6taP\n\
         COvNRdYSw/Zql27sNvmP/D7TAg==\n\
         -----END CERTIFICATE REQUEST-----\n",
        "-----BEGIN CERTIFICATE REQUEST-----\n\
         MIIBWzCBxQIBADAcMQwwCgYDVQQKDANkZXYxDDAKBgNVBAMMA2FubjCBnzANBgkq\n\
         hkiG9w0BAQEFAAOBjQAwgYkCgYEA+lsXLLrIrS+CqL1qZV66cArLJpJGx4F7JAMg\n\
         hl+4cCXM4RxvKu+t+Oyl8ZWYmW72llxRHBsJhBNNUC/8C7LSLTQ5huNvN/rGeTi8\n\
         ZgPRvlt56it5JDalUtR8XZP0mN3O3L6CYqNavLqUrXJ3TGWKuabvpt9JI1JpiaBf\n\
         Jt45gyECAwEAAaAAMA0GCSqGSIb3DQEBCwUAA4GBAM+mTT6/c5Vx3ZsGe50X0Yfj\n\
         hRUowwlKW8X5bVVF5NY4GnfmiRAsj3q4GP4NANwDA3RqnZyvN1wRiPOpSTq+r8PL\n\
         pDQ7JvrCo5IsSkvrf4lC7zj0FBGYilteMOgRwq0TsQjynqWyf1VncyNm8qH4mW8o\n\
         ho3EV2lwSEDZCLH9H65D\n\
         -----END CERTIFICATE REQUEST-----\n",
    ];

    #[test]
    fn signatures_that_cannot_be_verified_are_left_to_the_signer() {
        for request in LEFT_TO_THE_SIGNER {
            assert_eq!(check_request(request.as_bytes()), Ok(()), "{request}");
        }
    }

    #[test]
    fn a_request_is_signed_by_its_own_key() {
        let check = |algorithm: &'static rcgen::SignatureAlgorithm| {
            let [own, other] = [(); 2].map(|()| {
                let key = rcgen::KeyPair::generate_for(algorithm).unwrap();
                let params = rcgen::CertificateParams::new(Vec::new()).unwrap();
                params.serialize_request(&key).unwrap().der().to_vec()
            });
            let asked =
                |der: &[u8]| check_request(pem::encode(&pem::Pem::new(REQUEST, der)).as_bytes());
            assert_eq!(asked(&own), Ok(()), "{algorithm:?}");
            // The signature is the end of a request: the last byte of another one's.
            let mut changed = own.clone();
            *changed.last_mut().unwrap() ^= 1;
            assert_eq!(asked(&changed), Err(BAD_SIGNATURE.to_owned()), "{algorithm:?}");
            // The public key of another request under this one's signature.
            let key_of = |der: &[u8]| {
                let (_, request) = X509CertificationRequest::from_der(der).unwrap();
                request.certification_request_info.subject_pki.subject_public_key.data.to_vec()
            };
            let (from, to) = (key_of(&own), key_of(&other));
            let at = own.windows(from.len()).position(|window| window == from).unwrap();
            let mut stolen = own.clone();
            stolen[at..at + from.len()].copy_from_slice(&to);
            assert_eq!(asked(&stolen), Err(BAD_SIGNATURE.to_owned()), "{algorithm:?}");
        };
        check(&rcgen::PKCS_ECDSA_P256_SHA256);
        check(&rcgen::PKCS_ECDSA_P384_SHA384);
        check(&rcgen::PKCS_ED25519);
    }

    #[test]
    fn a_subject_may_have_several_names() {
        let check = |names: &[&str]| {
            let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
            params.distinguished_name = rcgen::DistinguishedName::new();
            for name in names {
                params.distinguished_name.push(rcgen::DnType::CommonName, *name);
            }
            let key = rcgen::KeyPair::generate().unwrap();
            let request = params.serialize_request(&key).unwrap().pem().unwrap();
            assert_eq!(common_names(request.as_bytes()).unwrap(), names);
        };
        check(&[]);
        check(&["system:node:a"]);
    }

    #[test]
    fn a_name_is_the_same_in_every_sort_of_text() {
        let (bmp, teletex) =
            ("system:masters".try_into().unwrap(), "system:masters".try_into().unwrap());
        for name in [
            rcgen::DnValue::BmpString(bmp),
            rcgen::DnValue::TeletexString(teletex),
            "system:masters".into(),
        ] {
            let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
            params.distinguished_name.push(rcgen::DnType::OrganizationName, name);
            let key = rcgen::KeyPair::generate().unwrap();
            let request = params.serialize_request(&key).unwrap().pem().unwrap();
            assert_eq!(organizations(request.as_bytes()), ["system:masters"]);
        }
    }
}
