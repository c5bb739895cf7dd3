//! A certificate with its private key, and how both lie on disk.
//!
//! Invariants: a key file is readable by its owner only, from its first byte; files are replaced by rename, so that a
//! reader never sees half of one.

use std::fmt;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use crate::error::{Error, at};

const PRIVATE: u32 = 0o600;
const PUBLIC: u32 = 0o644;

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
    /// Reads `NAME.crt` and `NAME.key` of a folder.
    pub(crate) fn read(folder: &Path, name: &str) -> Result<Self, Error> {
        Ok(Self {
            certificate: read_text(&folder.join(format!("{name}.crt")))?,
            key: read_text(&folder.join(format!("{name}.key")))?,
        })
    }

    /// Writes `NAME.crt` and `NAME.key`; the certificate last, so that whoever waits for it finds the key too.
    pub(crate) fn write(&self, folder: &Path, name: &str) -> Result<(), Error> {
        write_private(&folder.join(format!("{name}.key")), self.key.as_bytes())?;
        write_public(&folder.join(format!("{name}.crt")), self.certificate.as_bytes())
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
}

/// Every certificate of a PEM text; at least one.
pub(crate) fn certificates(pem: &str) -> Result<Vec<CertificateDer<'static>>, Error> {
    let all: Vec<_> = CertificateDer::pem_slice_iter(pem.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(|error| Error::config(format_args!("certificate: {error}")))?;
    if all.is_empty() { Err(Error::config("certificate: the file holds none")) } else { Ok(all) }
}

/// Reads a text file, naming it in the error.
pub(crate) fn read_text(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(|error| Error::config(format_args!("{}: {error}", path.display())))
}

/// Replaces a file that anybody may read.
pub(crate) fn write_public(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    replace(path, bytes, PUBLIC)
}

/// Replaces a file that only its owner may read.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    replace(path, bytes, PRIVATE)
}

fn replace(path: &Path, bytes: &[u8], mode: u32) -> Result<(), Error> {
    let parent = path.parent().expect("every file written here lies in a folder");
    std::fs::create_dir_all(parent).map_err(at(parent))?;
    let draft = path.with_extension("tmp");
    let _ = std::fs::remove_file(&draft);
    let mut file =
        std::fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(&draft).map_err(at(&draft))?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(at(&draft))?;
    std::fs::rename(&draft, path).map_err(at(path))?;
    std::fs::File::open(parent).and_then(|folder| folder.sync_all()).map_err(at(parent))
}
