//! What a kubeconfig and the options of a command come to: a server, TLS settings, headers, a namespace.
//!
//! Invariants: TLS always, with an authority that is named; a secret is never in an error.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use http::{HeaderName, HeaderValue, header};
use quorate_webhook::{HTTP_2, Place};
use rustls::ClientConfig;

use super::credential_plugin;
use super::file::{KubeconfigCluster, KubeconfigFile, KubeconfigUser, pem};
use crate::cli::ClusterFlags;
use crate::error::Error;
use crate::pki::{Identity, client_config};

/// The namespace of a context that names none.
const DEFAULT_NAMESPACE: &str = "default";
const IMPERSONATE_USER: HeaderName = HeaderName::from_static("impersonate-user");
const IMPERSONATE_GROUP: HeaderName = HeaderName::from_static("impersonate-group");

/// How to reach a cluster.
pub(crate) struct ClusterAccess {
    /// `host:port`.
    pub(crate) address: String,
    /// The name that the server's certificate has to be for.
    pub(crate) server_name: String,
    /// The path that all paths of the API are below; does not end with `/`.
    pub(crate) prefix: String,
    pub(crate) tls: Arc<ClientConfig>,
    /// Headers of every request: the token, and whom to act for.
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    /// The namespace for what names none.
    pub(crate) namespace: String,
}

impl ClusterAccess {
    /// Reads the files that the options name.
    pub(crate) async fn read(flags: &ClusterFlags) -> Result<Self, Error> {
        let file = read_files(flags.kubeconfig.as_deref())?;
        let name = flags.context.as_deref().unwrap_or(&file.current_context);
        let context = match file.context(name) {
            Some(context) => context.clone(),
            // Options alone say enough.
            None if flags.server.is_some() && flags.context.is_none() => Default::default(),
            None if name.is_empty() => {
                return Err(Error::config(
                    "no kubeconfig names a current context: set KUBECONFIG, or give --kubeconfig or --context",
                ));
            }
            None => {
                return Err(Error::config(format_args!("no kubeconfig has a context '{name}'")));
            }
        };
        let cluster = match file.cluster(&context.cluster) {
            Some(cluster) => cluster.clone(),
            None if flags.server.is_some() => KubeconfigCluster::default(),
            None => {
                let missing = &context.cluster;
                return Err(Error::config(format_args!("no kubeconfig has a cluster '{missing}'")));
            }
        };
        let user = match file.user(&context.user) {
            Some(user) => user.clone(),
            None if context.user.is_empty() || flags.token.is_some() => KubeconfigUser::default(),
            None => {
                let missing = &context.user;
                return Err(Error::config(format_args!("no kubeconfig has a user '{missing}'")));
            }
        };
        let namespace = context.namespace.filter(|namespace| !namespace.is_empty());
        let namespace = namespace.unwrap_or_else(|| DEFAULT_NAMESPACE.to_owned());
        Self::of(flags, cluster, user, namespace).await
    }

    async fn of(
        flags: &ClusterFlags,
        cluster: KubeconfigCluster,
        user: KubeconfigUser,
        namespace: String,
    ) -> Result<Self, Error> {
        check_supported(&cluster)?;
        let url = flags.server.as_deref().unwrap_or(&cluster.server);
        let url = url.trim_end_matches('/');
        let place = Place::of_url(url).map_err(Error::config)?;
        let server_name = cluster.tls_server_name.clone().unwrap_or_else(|| place.server_name());
        let (Place::Url { address, path } | Place::Service { name: address, path, .. }) = place;
        let authority = match &flags.certificate_authority {
            Some(file) => pem(None, Some(file))?,
            None => pem(
                cluster.certificate_authority_data.as_deref(),
                cluster.certificate_authority.as_deref(),
            )?,
        };
        let authority = authority.ok_or_else(|| {
            Error::config(
                "no authority of the server is named: certificate-authority in the kubeconfig, or --certificate-authority",
            )
        })?;
        let (identity, token) = credentials(flags, &user, &cluster).await?;
        let tls = client_config(&authority, identity.as_ref(), &HTTP_2)?;
        let mut headers = Vec::new();
        if let Some(token) = token {
            let mut value = HeaderValue::from_str(&format!("Bearer {token}"))
                .map_err(|_| Error::config("the token has characters that no request can carry"))?;
            value.set_sensitive(true);
            headers.push((header::AUTHORIZATION, value));
        }
        headers.extend(impersonation(flags, &user)?);
        let prefix = path.trim_end_matches('/').to_owned();
        Ok(Self { address, server_name, prefix, tls, headers, namespace })
    }
}

/// The merged files: the one that is named, or those of the environment that are there.
fn read_files(named: Option<&Path>) -> Result<KubeconfigFile, Error> {
    let read = |path: &Path| {
        KubeconfigFile::read(path)
            .map_err(|error| Error::config(format_args!("{}: {error}", path.display())))
    };
    if let Some(path) = named {
        return read(path);
    }
    let mut merged = KubeconfigFile::default();
    for path in default_files().iter().filter(|path| path.exists()) {
        merged.merge(read(path)?);
    }
    Ok(merged)
}

fn default_files() -> Vec<PathBuf> {
    let listed = std::env::var_os("KUBECONFIG").filter(|listed| !listed.is_empty());
    if let Some(listed) = listed {
        return std::env::split_paths(&listed)
            .filter(|path| !path.as_os_str().is_empty())
            .collect();
    }
    let home = std::env::var_os("HOME").map(PathBuf::from);
    home.map(|home| home.join(".kube/config")).into_iter().collect()
}

/// Refuses what this client does not do, rather than doing something else.
fn check_supported(cluster: &KubeconfigCluster) -> Result<(), Error> {
    if cluster.insecure_skip_tls_verify {
        return Err(Error::config(
            "insecure-skip-tls-verify is not supported: name the server's certificate-authority",
        ));
    }
    if cluster.proxy_url.as_deref().is_some_and(|url| !url.is_empty()) {
        return Err(Error::config("proxy-url is not supported"));
    }
    Ok(())
}

/// The client certificate and the token.
async fn credentials(
    flags: &ClusterFlags,
    user: &KubeconfigUser,
    cluster: &KubeconfigCluster,
) -> Result<(Option<Identity>, Option<String>), Error> {
    if let Some(token) = &flags.token {
        return Ok((None, Some(token.clone())));
    }
    let certificate =
        pem(user.client_certificate_data.as_deref(), user.client_certificate.as_deref())?;
    let key = pem(user.client_key_data.as_deref(), user.client_key.as_deref())?;
    let identity = match (certificate, key) {
        (Some(certificate), Some(key)) => Some(Identity { certificate, key }),
        (None, None) => None,
        (Some(_), None) => return Err(Error::config("the client certificate has no key")),
        (None, Some(_)) => return Err(Error::config("the client key has no certificate")),
    };
    let token = match pem(None, user.token_file.as_deref())? {
        Some(text) => Some(text.trim().to_owned()),
        None => user.token.clone().filter(|token| !token.is_empty()),
    };
    match &user.exec {
        Some(plugin) if identity.is_none() && token.is_none() => {
            credential_plugin::ask(plugin, &cluster.server).await
        }
        _ => Ok((identity, token)),
    }
}

fn impersonation(
    flags: &ClusterFlags,
    user: &KubeconfigUser,
) -> Result<Vec<(HeaderName, HeaderValue)>, Error> {
    let (name, groups) = match &flags.impersonate {
        Some(name) => (Some(name), &flags.impersonate_group),
        None => (user.impersonate.as_ref(), &user.impersonate_groups),
    };
    let Some(name) = name else { return Ok(Vec::new()) };
    let named = std::iter::once((IMPERSONATE_USER, name));
    let all = named.chain(groups.iter().map(|group| (IMPERSONATE_GROUP, group)));
    all.map(|(header, text)| {
        HeaderValue::from_str(text).map(|value| (header, value)).map_err(|_| {
            Error::config(format_args!("'{text}' has characters that no request can carry"))
        })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CA: &str = "ca.crt";

    async fn read(text: &str, flags: ClusterFlags) -> Result<ClusterAccess, String> {
        let folder = tempfile::TempDir::new().unwrap();
        let authority =
            crate::pki::Authority::generate("a", time::OffsetDateTime::UNIX_EPOCH).unwrap();
        std::fs::write(folder.path().join(CA), &authority.identity().certificate).unwrap();
        let path = folder.path().join("config");
        std::fs::write(&path, text).unwrap();
        let flags = ClusterFlags { kubeconfig: Some(path), ..flags };
        ClusterAccess::read(&flags).await.map_err(|error| error.to_string())
    }

    const WHOLE: &str = r#"clusters: [{name: c, cluster: {server: "https://a:1/sub/", certificate-authority: ca.crt}}]
contexts:
- {name: x, context: {cluster: c, user: u, namespace: shop}}
- {name: y, context: {cluster: c, user: nobody-knows}}
- {name: z, context: {cluster: other, user: u}}
current-context: x
users: [{name: u, user: {token: s3cr3t, as: bob, as-groups: [dev, ops]}}]
"#;

    #[tokio::test]
    async fn a_context_says_all() {
        let access = read(WHOLE, ClusterFlags::default()).await.unwrap();
        assert_eq!((access.address.as_str(), access.prefix.as_str()), ("a:1", "/sub"));
        assert_eq!((access.server_name.as_str(), access.namespace.as_str()), ("a", "shop"));
        let headers: Vec<_> = access
            .headers
            .iter()
            .map(|(name, value)| format!("{name}={}", value.to_str().unwrap()))
            .collect();
        let expect = [
            "authorization=Bearer s3cr3t",
            "impersonate-user=bob",
            "impersonate-group=dev",
            "impersonate-group=ops",
        ];
        assert_eq!(headers, expect);
    }

    #[tokio::test]
    async fn options_count_more() {
        let flags = ClusterFlags {
            server: Some("https://b".to_owned()),
            token: Some("t".to_owned()),
            impersonate: Some("eve".to_owned()),
            context: Some("y".to_owned()),
            ..ClusterFlags::default()
        };
        let access = read(WHOLE, flags).await.unwrap();
        assert_eq!((access.address.as_str(), access.namespace.as_str()), ("b:443", "default"));
        assert_eq!(access.headers.len(), 2);
    }

    #[tokio::test]
    async fn mistakes_are_told() {
        async fn check(from: &str, to: &str, context: Option<&str>, expect: &str) {
            let flags =
                ClusterFlags { context: context.map(str::to_owned), ..ClusterFlags::default() };
            let told = read(&WHOLE.replace(from, to), flags).await.err().unwrap_or_default();
            assert!(told.contains(expect), "{told}");
            assert!(!told.contains("s3cr3t"), "{told}");
        }
        check("", "", Some("w"), "no kubeconfig has a context 'w'").await;
        check("", "", Some("y"), "no kubeconfig has a user 'nobody-knows'").await;
        check("", "", Some("z"), "no kubeconfig has a cluster 'other'").await;
        check("current-context: x", "", None, "no kubeconfig names a current context").await;
        check(", certificate-authority: ca.crt", "", None, "no authority of the server").await;
        check("certificate-authority: ca.crt", "insecure-skip-tls-verify: true", None, "insecure")
            .await;
        check("https://a:1", "http://a:1", None, "is no https:// URL").await;
        check("token: s3cr3t", "token: [s3cr3t]", None, "this is not what a kubeconfig says").await;
        check("token: s3cr3t", "client-key: ca.crt", None, "the client key has no certificate")
            .await;
    }
}
