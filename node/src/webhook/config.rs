//! The kubeconfig of a webhook: the server's address and authority, and this node's credentials.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use http::HeaderValue;
use quorate_webhook::{HTTP_1, Place};
use rustls::ClientConfig;

use crate::error::Error;
use crate::kubeconfig::{KubeconfigFile, KubeconfigUser, pem};
use crate::pki::{Identity, client_config};

/// Where to send.
pub(crate) struct WebhookConfig {
    pub(crate) place: Place,
    /// The header with the token.
    pub(crate) authorization: Option<HeaderValue>,
    pub(crate) tls: Arc<ClientConfig>,
    /// Where all that stands: the file itself and those that it names.
    pub(crate) files: Vec<PathBuf>,
}

impl WebhookConfig {
    /// Reads the file; paths in it begin where it lies.
    pub(crate) fn read(file: &Path) -> Result<Self, Error> {
        let config = KubeconfigFile::read(file)?;
        let missing = |what: &str| Error::config(format_args!("it names no {what}"));
        let context = config.context(&config.current_context);
        let context = context.ok_or_else(|| missing("current context"))?;
        let cluster = config.cluster(&context.cluster);
        let cluster = cluster.ok_or_else(|| missing("cluster of the current context"))?;
        let anonymous = KubeconfigUser::default();
        let user = match config.user(&context.user) {
            Some(named) => named,
            None if context.user.is_empty() => &anonymous,
            None => return Err(missing("user of the current context")),
        };
        let text =
            |data: &Option<String>, path: &Option<PathBuf>| pem(data.as_deref(), path.as_deref());
        let named = [
            &cluster.certificate_authority,
            &user.client_certificate,
            &user.client_key,
            &user.token_file,
        ];
        let named = named.into_iter().flatten().cloned();
        let files = std::iter::once(file.to_owned()).chain(named).collect();
        let authority = text(&cluster.certificate_authority_data, &cluster.certificate_authority)?;
        let authority = authority.ok_or_else(|| missing("certificate-authority"))?;
        let certificate = text(&user.client_certificate_data, &user.client_certificate)?;
        let key = text(&user.client_key_data, &user.client_key)?;
        let identity = match (certificate, key) {
            (Some(certificate), Some(key)) => Some(Identity { certificate, key }),
            (None, None) => None,
            (Some(_), None) => return Err(missing("key for the client certificate")),
            (None, Some(_)) => return Err(missing("client certificate for the key")),
        };
        let place = Place::of_url(&cluster.server).map_err(Error::config)?;
        let tls = client_config(&authority, identity.as_ref(), &HTTP_1)?;
        let from_file = pem(None, user.token_file.as_deref())?.map(|text| text.trim().to_owned());
        let token = user.token.clone().or(from_file);
        let authorization = token.map(|token| {
            let mut header = HeaderValue::from_str(&format!("Bearer {token}"))
                .map_err(|_| Error::config("its token has characters that no request can carry"))?;
            header.set_sensitive(true);
            Ok::<_, Error>(header)
        });
        Ok(Self { place, authorization: authorization.transpose()?, tls, files })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_are_told_without_what_stands_there() {
        let folder = tempfile::TempDir::new().unwrap();
        let (file, authority) = (folder.path().join("a.kubeconfig"), folder.path().join("ca.crt"));
        let ca = crate::pki::Authority::generate("a", time::OffsetDateTime::UNIX_EPOCH).unwrap();
        std::fs::write(authority, &ca.identity().certificate).unwrap();
        let whole = r#"clusters: [{name: c, cluster: {server: "https://a", certificate-authority: ca.crt}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
users:
- name: u
  user:
    token: s3cr3t
"#;
        let check = |from: &str, to: &str, expect: &str| {
            assert!(whole.contains(from), "{from}");
            std::fs::write(&file, whole.replace(from, to)).unwrap();
            let told =
                WebhookConfig::read(&file).err().map(|error| error.to_string()).unwrap_or_default();
            assert_eq!(told, expect, "{to}");
        };
        check("u", "u", "");
        check("  user:\n", "  user\n", "line 6, column 3: this is not what a kubeconfig says");
        check("token: s3cr3t", "s3cr3t", "line 7, column 5: this is not what a kubeconfig says");
        check("- name: u", "- name: other", "it names no user of the current context");
        check("s3cr3t", r#""s3c\nr3t""#, "its token has characters that no request can carry");
        check("token: s3cr3t", "client-key: ca.crt", "it names no client certificate for the key");
        check(
            "token: s3cr3t",
            "client-certificate: ca.crt",
            "it names no key for the client certificate",
        );
    }
}
