//! A kubeconfig as it is written: clusters, users and contexts by their names, read from one file or merged from
//! several.
//!
//! Invariants: of two entries with one name, the first file's counts, as for kubectl; a path in a file begins where
//! that file lies; a mistake is told by its place only, since what stands there may be a secret.
//!
//! Not here: what credentials come to ([`super::access`]).

use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use crate::error::Error;
use crate::files::read_text;

/// What a file says.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(crate) struct KubeconfigFile {
    clusters: Vec<ClusterEntry>,
    users: Vec<UserEntry>,
    contexts: Vec<ContextEntry>,
    pub(crate) current_context: String,
}

#[derive(Debug, Deserialize)]
struct ClusterEntry {
    name: String,
    cluster: KubeconfigCluster,
}

#[derive(Debug, Deserialize)]
struct UserEntry {
    name: String,
    user: KubeconfigUser,
}

#[derive(Debug, Deserialize)]
struct ContextEntry {
    name: String,
    context: KubeconfigContext,
}

/// A context: a cluster, a user, and a namespace for what names none.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct KubeconfigContext {
    pub(crate) cluster: String,
    #[serde(default)]
    pub(crate) user: String,
    pub(crate) namespace: Option<String>,
}

/// A cluster.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct KubeconfigCluster {
    pub(crate) server: String,
    pub(crate) tls_server_name: Option<String>,
    #[serde(default)]
    pub(crate) insecure_skip_tls_verify: bool,
    pub(crate) proxy_url: Option<String>,
    pub(crate) certificate_authority: Option<PathBuf>,
    pub(crate) certificate_authority_data: Option<String>,
}

/// A user's credentials.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(crate) struct KubeconfigUser {
    pub(crate) token: Option<String>,
    #[serde(rename = "tokenFile")]
    pub(crate) token_file: Option<PathBuf>,
    pub(crate) client_certificate: Option<PathBuf>,
    pub(crate) client_certificate_data: Option<String>,
    pub(crate) client_key: Option<PathBuf>,
    pub(crate) client_key_data: Option<String>,
    /// Whom to act for.
    #[serde(rename = "as")]
    pub(crate) impersonate: Option<String>,
    #[serde(rename = "as-groups")]
    pub(crate) impersonate_groups: Vec<String>,
    pub(crate) exec: Option<CredentialPlugin>,
}

/// A program that prints credentials (`client.authentication`).
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct CredentialPlugin {
    pub(crate) api_version: String,
    pub(crate) command: String,
    pub(crate) args: Option<Vec<String>>,
    pub(crate) env: Option<Vec<PluginVariable>>,
    pub(crate) install_hint: Option<String>,
}

/// A variable of such a program's environment.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PluginVariable {
    pub(crate) name: String,
    pub(crate) value: String,
}

impl KubeconfigFile {
    /// Reads a text. Of a mistake in it only the place is told.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        serde_saphyr::from_str(text).map_err(|error| {
            let place = error
                .location()
                .map(|place| format!("line {}, column {}: ", place.line(), place.column()));
            Error::config(format_args!(
                "{}this is not what a kubeconfig says",
                place.unwrap_or_default()
            ))
        })
    }

    /// Reads a file; paths in it are made to begin where it lies.
    pub(crate) fn read(path: &Path) -> Result<Self, Error> {
        let mut file = Self::parse(&read_text(path)?)?;
        let folder = beside(path);
        let named = |field: &mut Option<PathBuf>| {
            if let Some(path) = field {
                *path = folder.join(&path);
            }
        };
        for entry in &mut file.clusters {
            named(&mut entry.cluster.certificate_authority);
        }
        for entry in &mut file.users {
            let user = &mut entry.user;
            [&mut user.client_certificate, &mut user.client_key, &mut user.token_file]
                .into_iter()
                .for_each(named);
        }
        Ok(file)
    }

    /// Adds what another file says and this one does not.
    pub(crate) fn merge(&mut self, other: Self) {
        self.clusters.extend(other.clusters);
        self.users.extend(other.users);
        self.contexts.extend(other.contexts);
        if self.current_context.is_empty() {
            self.current_context = other.current_context;
        }
    }

    /// The context of this name.
    pub(crate) fn context(&self, name: &str) -> Option<&KubeconfigContext> {
        self.contexts.iter().find(|entry| entry.name == name).map(|entry| &entry.context)
    }

    /// The cluster of this name.
    pub(crate) fn cluster(&self, name: &str) -> Option<&KubeconfigCluster> {
        self.clusters.iter().find(|entry| entry.name == name).map(|entry| &entry.cluster)
    }

    /// The user of this name.
    pub(crate) fn user(&self, name: &str) -> Option<&KubeconfigUser> {
        self.users.iter().find(|entry| entry.name == name).map(|entry| &entry.user)
    }
}

/// A text that is given in base64 or as a file.
pub(crate) fn pem(data: Option<&str>, path: Option<&Path>) -> Result<Option<String>, Error> {
    if let Some(data) = data.filter(|data| !data.is_empty()) {
        let bytes = STANDARD.decode(data).map_err(Error::config)?;
        return String::from_utf8(bytes).map(Some).map_err(Error::config);
    }
    path.map(read_text).transpose()
}

/// The folder that a file lies in.
fn beside(file: &Path) -> &Path {
    file.parent().unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_file_counts() {
        let file = |server: &str, current: &str| {
            KubeconfigFile::parse(&format!(
                "clusters: [{{name: c, cluster: {{server: '{server}'}}}}]\ncurrent-context: '{current}'\n"
            ))
            .unwrap()
        };
        let mut merged = file("https://a", "");
        merged.merge(file("https://b", "x"));
        assert_eq!(merged.cluster("c").unwrap().server, "https://a");
        assert_eq!(merged.current_context, "x");
        assert!(merged.user("u").is_none() && merged.context("x").is_none());
    }

    #[test]
    fn paths_begin_where_the_file_lies() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("config");
        std::fs::write(&path, "users: [{name: u, user: {client-key: a.key, tokenFile: /t}}]")
            .unwrap();
        let file = KubeconfigFile::read(&path).unwrap();
        let user = file.user("u").unwrap();
        assert_eq!(user.client_key.as_deref(), Some(folder.path().join("a.key").as_path()));
        assert_eq!(user.token_file.as_deref(), Some(Path::new("/t")));
    }
}
