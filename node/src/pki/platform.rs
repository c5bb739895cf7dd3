//! The authorities that the platform trusts.

use std::path::Path;

use quorate_webhook::certificates;
use rustls_pki_types::CertificateDer;

/// Where distributions keep them, in PEM; the first that is there counts.
const FILES: [&str; 6] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/tls/cacert.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// Those of this machine; none where it has no such file.
pub(crate) fn platform_roots() -> Vec<CertificateDer<'static>> {
    first_of(&FILES.map(Path::new))
}

fn first_of(files: &[&Path]) -> Vec<CertificateDer<'static>> {
    let text = files.iter().find_map(|file| std::fs::read(file).ok());
    text.map(|text| certificates(&text)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_file_that_is_there_counts() {
        let folder = tempfile::TempDir::new().unwrap();
        let [missing, first, second] =
            ["missing", "first", "second"].map(|name| folder.path().join(name));
        let authority =
            crate::pki::Authority::generate("a", time::OffsetDateTime::UNIX_EPOCH).unwrap();
        std::fs::write(&first, &authority.identity().certificate).unwrap();
        std::fs::write(&second, "").unwrap();
        assert_eq!(first_of(&[&missing, &first, &second]).len(), 1);
        assert_eq!(first_of(&[&missing, &second, &first]).len(), 0);
        assert_eq!(first_of(&[&missing]).len(), 0);
    }
}
