//! From when until when certificates are valid, read from their files, and whether an end is near.
//!
//! Invariant: a file that is not there or holds no certificate is left out. What becomes of a
//! certificate that ends (who renews it, who is told) is not decided here.

use std::path::{Path, PathBuf};

use time::OffsetDateTime;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::{certificates, names};
use crate::error::Error;
use crate::files::read_text;

/// A certificate ends soon when less than this part of its life is left: 36 days of a year, a year
/// of an authority's ten.
const SOON: i64 = 10;

/// The certificates in the folder of a node, by their names there. An authority's file may hold
/// several, of which one is enough.
const IN_FOLDER: [(&str, bool); 6] = [
    (names::SERVER, false),
    (names::PEER, false),
    (names::ADMIN, false),
    (names::AUTHORITY, true),
    (names::PEER_AUTHORITY, true),
    (names::SIGNER_AUTHORITY, true),
];

/// The life of a certificate, in seconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Validity {
    pub(crate) start: i64,
    pub(crate) end: i64,
}

impl Validity {
    fn of(certificate: &[u8]) -> Result<Self, Error> {
        let (_, certificate) = X509Certificate::from_der(certificate).map_err(Error::config)?;
        let life = certificate.validity();
        Ok(Self { start: life.not_before.timestamp(), end: life.not_after.timestamp() })
    }

    /// Whether the last tenth of its life has begun.
    pub(crate) fn ends_soon(self, now: OffsetDateTime) -> bool {
        now.unix_timestamp() > self.end - (self.end - self.start) / SOON
    }

    /// Its end.
    pub(crate) fn end(self) -> OffsetDateTime {
        OffsetDateTime::from_unix_timestamp(self.end)
            .expect("the years of certificates have four digits")
    }
}

/// A file that holds certificates, and what it is called.
#[derive(Debug, Clone)]
pub(crate) struct CertificateFile {
    pub(crate) name: &'static str,
    path: PathBuf,
    is_authority: bool,
}

impl CertificateFile {
    /// A certificate, with those that it was issued by.
    pub(crate) fn chain(name: &'static str, path: PathBuf) -> Self {
        Self { name, path, is_authority: false }
    }

    /// Authorities that are trusted.
    pub(crate) fn authority(name: &'static str, path: PathBuf) -> Self {
        Self { name, path, is_authority: true }
    }

    /// The files in the folder of a node.
    pub(crate) fn of_folder(pki: &Path) -> Vec<Self> {
        let file = |(name, is_authority): (&'static str, bool)| {
            let path = pki.join(format!("{name}.crt"));
            Self { name, path, is_authority }
        };
        IN_FOLDER.map(file).to_vec()
    }

    /// For how long what the file holds is of use: a chain until its first certificate ends,
    /// authorities until the last one does.
    pub(crate) fn validity(&self) -> Option<Validity> {
        let all = certificates(&read_text(&self.path).ok()?).ok()?;
        let lives = all.iter().map(|certificate| Validity::of(certificate));
        let lives = lives.collect::<Result<Vec<_>, _>>().ok()?.into_iter();
        match self.is_authority {
            true => lives.max_by_key(|life| life.end),
            false => lives.min_by_key(|life| life.end),
        }
    }
}

#[cfg(test)]
mod tests {
    use time::Duration;

    use super::*;
    use crate::pki::{Authority, Subject};

    const START: OffsetDateTime = OffsetDateTime::UNIX_EPOCH;

    #[test]
    fn the_last_tenth_of_a_life_is_soon() {
        let year = Validity { start: 0, end: Duration::days(365).whole_seconds() };
        let check = |days: i64, expect: bool| {
            assert_eq!(year.ends_soon(START + Duration::days(days)), expect, "{days}");
        };
        check(0, false);
        check(300, false);
        check(328, false);
        check(329, true);
        check(400, true);
    }

    #[test]
    fn a_chain_ends_with_its_first_end_and_authorities_with_their_last() {
        let folder = tempfile::TempDir::new().unwrap();
        let authority = |day: i64| {
            let start = START + Duration::days(day);
            Authority::generate("test-ca", start).unwrap().identity().certificate.clone()
        };
        let subject = Subject::Client { user: "ann".to_owned(), group: None };
        let issuer = Authority::generate("test-ca", START).unwrap();
        let leaf = issuer.issue(&subject, START).unwrap().certificate;
        let check = |file: CertificateFile, texts: &[&str], expect: Option<i64>| {
            std::fs::write(&file.path, texts.concat()).unwrap();
            let days = file.validity().map(|life| (life.end() - START).whole_days());
            assert_eq!(days, expect, "{file:?}");
        };
        let path = |name: &str| folder.path().join(name);
        let ca = authority(100);
        check(CertificateFile::chain("server", path("server.crt")), &[&leaf, &ca], Some(365));
        let both = [authority(0), ca];
        let both = both.each_ref().map(String::as_str);
        check(CertificateFile::authority("ca", path("ca.crt")), &both, Some(3750));
        check(CertificateFile::chain("peer", path("peer.crt")), &["no certificate"], None);
        let names = |file: &CertificateFile| file.validity().map(|_| file.name);
        let found: Vec<_> =
            CertificateFile::of_folder(folder.path()).iter().filter_map(names).collect();
        assert_eq!(found, ["server", "ca"]);
    }
}
