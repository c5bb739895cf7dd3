//! JSON web signatures in the compact form (RFC 7515) with ES256 (RFC 7518), and no other
//! algorithm.
//!
//! Invariants: the algorithm is fixed, a header that names another one is refused, so that no token
//! chooses how it is checked (`none`, a public key as a shared secret). A key is found by its id
//! and never comes out of the token. Not here: the claims, which the caller has to check.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::Refusal;
use super::keys::{KeySet, SigningKey};

/// The only algorithm.
pub const ALGORITHM: &str = "ES256";
/// Bytes of a token at most; what is longer is none.
pub(super) const MAX_TOKEN_BYTES: usize = 16 * 1024;

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: String,
    /// Header parameters that a reader must understand: none is understood.
    crit: Option<IgnoredAny>,
}

/// The token that says these claims, which are JSON; none that would not verify.
pub(super) fn sign(key: &SigningKey, claims: &[u8]) -> Result<String, Refusal> {
    let header = format!(r#"{{"alg":"{ALGORITHM}","kid":"{}"}}"#, key.id());
    let mut token = URL_SAFE_NO_PAD.encode(header);
    token.push('.');
    URL_SAFE_NO_PAD.encode_string(claims, &mut token);
    let signature =
        key.pair().sign(&SystemRandom::new(), token.as_bytes()).map_err(|_| Refusal::Unsigned)?;
    token.push('.');
    URL_SAFE_NO_PAD.encode_string(signature, &mut token);
    if token.len() > MAX_TOKEN_BYTES { Err(Refusal::TooLong) } else { Ok(token) }
}

/// The claims of a token that one of the keys has signed.
pub(super) fn verify(keys: &KeySet, token: &str) -> Result<Vec<u8>, Refusal> {
    if token.len() > MAX_TOKEN_BYTES {
        return Err(Refusal::Malformed);
    }
    let (message, signature) = token.rsplit_once('.').ok_or(Refusal::Malformed)?;
    let (header, claims) = message.split_once('.').ok_or(Refusal::Malformed)?;
    if claims.contains('.') {
        return Err(Refusal::Malformed);
    }
    let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| Refusal::Malformed);
    let header: Header =
        serde_json::from_slice(&decode(header)?).map_err(|_| Refusal::Malformed)?;
    if header.alg != ALGORITHM || header.crit.is_some() {
        return Err(Refusal::Signature);
    }
    let key = keys.find(&header.kid).ok_or(Refusal::Signature)?;
    let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key.public());
    public.verify(message.as_bytes(), &decode(signature)?).map_err(|_| Refusal::Signature)?;
    decode(claims)
}

#[cfg(test)]
mod tests {
    use ring::hmac;

    use super::*;
    use crate::authentication::token::tests::key_set;

    fn part(text: &str) -> String {
        URL_SAFE_NO_PAD.encode(text)
    }

    #[test]
    fn what_was_signed_verifies_and_nothing_else() {
        let (keys, others) = (key_set(), key_set());
        let (key, id) = (keys.signing(0), keys.signing(0).id().to_owned());
        let token = sign(key, b"{}").unwrap();
        let check = |token: &str, expect: Result<&[u8], Refusal>| {
            assert_eq!(verify(&keys, token).as_deref().map_err(Clone::clone), expect, "{token}");
        };
        check(&token, Ok(b"{}"));
        let [header, claims, signature]: [&str; 3] =
            token.split('.').collect::<Vec<_>>().try_into().unwrap();
        let refused: Result<&[u8], Refusal> = Err(Refusal::Signature);
        check(&format!("{header}.{}.{signature}", part(r#"{"a":1}"#)), refused.clone());
        check(&format!("{header}.{claims}."), refused.clone());
        check(&sign(others.signing(0), b"{}").unwrap(), refused.clone());
        let forged = |alg: &str| part(&format!(r#"{{"alg":"{alg}","kid":"{id}"}}"#));
        for alg in ["none", "None", "ES384", "HS256", ""] {
            check(&format!("{}.{claims}.{signature}", forged(alg)), refused.clone());
            check(&format!("{}.{claims}.", forged(alg)), refused.clone());
        }
        let message = format!("{}.{claims}", forged("HS256"));
        let secret = hmac::Key::new(hmac::HMAC_SHA256, key.public());
        let tag = URL_SAFE_NO_PAD.encode(hmac::sign(&secret, message.as_bytes()));
        check(&format!("{message}.{tag}"), refused.clone());
        let critical = part(&format!(r#"{{"alg":"ES256","kid":"{id}","crit":["b64"]}}"#));
        check(&format!("{critical}.{claims}.{signature}"), refused);
    }

    #[test]
    fn what_is_too_long_to_verify_is_not_signed() {
        let keys = key_set();
        let check = |bytes: usize, expect: Option<Refusal>| {
            let token = sign(keys.signing(0), &vec![b' '; bytes]);
            assert_eq!(token.and_then(|token| verify(&keys, &token)).err(), expect, "{bytes}");
        };
        // Three bytes make four, and header and signature come on top.
        check(MAX_TOKEN_BYTES / 4 * 3 - 300, None);
        check(MAX_TOKEN_BYTES / 4 * 3, Some(Refusal::TooLong));
    }

    #[test]
    fn what_has_another_form_is_no_token() {
        let keys = key_set();
        let token = sign(keys.signing(0), b"{}").unwrap();
        let long = "a".repeat(MAX_TOKEN_BYTES + 1);
        for text in
            ["", "a", "a.b", "a.b.c", "..", &format!("{token}="), &format!("{token}.a"), &long]
        {
            assert_eq!(verify(&keys, text), Err(Refusal::Malformed), "{text}");
        }
        let twice = part(r#"{"alg":"none","alg":"ES256","kid":"x"}"#);
        assert_eq!(verify(&keys, &format!("{twice}.e30.AA")), Err(Refusal::Malformed));
    }
}
