//! A certificate with its private key, and their files.
//!
//! Invariant: certificate and key are replaced together. The new key waits beside the old one
//! (`NAME.key.next`) until the new certificate is there; a reader between the two steps takes the
//! key that belongs to the certificate.

use std::fmt;
use std::path::{Path, PathBuf};

use rustls::crypto::ring::sign::any_supported_type;
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use crate::error::Error;
use crate::files::{read_text, rename, write_private, write_public};

/// A certificate (or chain) and its private key, both as PEM.
#[derive(Clone)]
pub(crate) struct Identity {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").finish_non_exhaustive()
    }
}

impl Identity {
    /// Reads `NAME.crt` and `NAME.key` of a folder, and finishes a [`Identity::write`] that was
    /// interrupted.
    pub(crate) fn read(folder: &Path, name: &str) -> Result<Self, Error> {
        let [certificate, key, next] = files(folder, name);
        let certificate = read_text(&certificate)?;
        if let Ok(key_text) = read_text(&next) {
            let renewed = Self { certificate: certificate.clone(), key: key_text };
            if renewed.belongs_together() {
                // Where the rename fails, the next reader tries it again.
                let _ = rename(&next, &key);
                return Ok(renewed);
            }
        }
        Ok(Self { certificate, key: read_text(&key)? })
    }

    /// Writes `NAME.crt` and `NAME.key`.
    pub(crate) fn write(&self, folder: &Path, name: &str) -> Result<(), Error> {
        let [certificate, key, next] = files(folder, name);
        write_private(&next, self.key.as_bytes())?;
        write_public(&certificate, self.certificate.as_bytes())?;
        // A reader may have been faster.
        rename(&next, &key).or_else(|error| if next.exists() { Err(error) } else { Ok(()) })
    }

    /// The chain in the form that rustls takes.
    pub(crate) fn chain(&self) -> Result<Vec<CertificateDer<'static>>, Error> {
        certificates(&self.certificate)
    }

    /// The key in the form that rustls takes.
    pub(crate) fn private_key(&self) -> Result<PrivateKeyDer<'static>, Error> {
        PrivateKeyDer::from_pem_slice(self.key.as_bytes())
            .map_err(|error| Error::config(format_args!("private key: {error}")))
    }

    /// Whether this is the key of that certificate.
    pub(crate) fn belongs_together(&self) -> bool {
        let (Ok(chain), Ok(key)) = (self.chain(), self.private_key()) else {
            return false;
        };
        any_supported_type(&key).is_ok_and(|key| CertifiedKey::new(chain, key).keys_match().is_ok())
    }
}

/// Every certificate of a PEM text; at least one.
pub(crate) fn certificates(pem: &str) -> Result<Vec<CertificateDer<'static>>, Error> {
    let all: Vec<_> = CertificateDer::pem_slice_iter(pem.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(|error| Error::config(format_args!("certificate: {error}")))?;
    if all.is_empty() { Err(Error::config("certificate: the file holds none")) } else { Ok(all) }
}

/// Where the certificate lies, its key, and a key that waits for its certificate.
fn files(folder: &Path, name: &str) -> [PathBuf; 3] {
    ["crt", "key", "key.next"].map(|ending| folder.join(format!("{name}.{ending}")))
}

#[cfg(test)]
mod tests {
    use time::OffsetDateTime;

    use super::*;
    use crate::pki::Authority;

    /// Writes a second identity over a first one and stops after so many steps. Gives whether what
    /// is read then is the second one.
    fn check(steps: usize, expect_second: bool) {
        let folder = tempfile::TempDir::new().unwrap();
        let folder = folder.path();
        let [first, second] =
            [1, 2].map(|_| Authority::generate("a", OffsetDateTime::UNIX_EPOCH).unwrap());
        let (first, second) = (first.identity(), second.identity());
        first.write(folder, "a").unwrap();
        let [certificate, key, next] = files(folder, "a");
        let all: [&dyn Fn() -> Result<(), Error>; 3] = [
            &|| write_private(&next, second.key.as_bytes()),
            &|| write_public(&certificate, second.certificate.as_bytes()),
            &|| rename(&next, &key),
        ];
        all[..steps].iter().for_each(|step| step().unwrap());
        let expect = if expect_second { second } else { first };
        for _ in 0..2 {
            let read = Identity::read(folder, "a").unwrap();
            assert_eq!(
                (&read.certificate, &read.key),
                (&expect.certificate, &expect.key),
                "{steps}"
            );
        }
        first.write(folder, "a").unwrap();
        assert_eq!(
            (read_text(&key).unwrap(), next.exists()),
            (first.key.clone(), false),
            "{steps}"
        );
    }

    #[test]
    fn an_interrupted_renewal_leaves_a_certificate_with_its_key() {
        check(0, false);
        check(1, false);
        check(2, true);
        check(3, true);
    }
}
