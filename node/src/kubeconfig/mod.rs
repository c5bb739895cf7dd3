//! Kubeconfigs: written for users of this cluster, and read to reach a cluster.
//!
//! In one that is written, certificates and keys are embedded, so that the file works from anywhere; it is readable by
//! its owner only.

mod access;
mod credential_plugin;
mod file;

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::error::Error;
use crate::files::write_private;
use crate::pki::Identity;
pub(crate) use access::ClusterAccess;
pub(crate) use file::{KubeconfigFile, KubeconfigUser, pem};

/// The text of a kubeconfig for one user and one server (`https://host:port`).
pub(crate) fn text(server: &str, authority: &str, user: &str, identity: &Identity) -> String {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": "quorate", "cluster": {
            "server": server,
            "certificate-authority-data": STANDARD.encode(authority),
        }}],
        "users": [{ "name": user, "user": {
            "client-certificate-data": STANDARD.encode(&identity.certificate),
            "client-key-data": STANDARD.encode(&identity.key),
        }}],
        "contexts": [{ "name": "quorate", "context": { "cluster": "quorate", "user": user } }],
        "current-context": "quorate",
    });
    // JSON is YAML, and needs no quoting rules.
    format!("{config:#}\n")
}

/// Writes [`text`] to a file.
pub(crate) fn write(
    path: &Path,
    server: &str,
    authority: &str,
    user: &str,
    identity: &Identity,
) -> Result<(), Error> {
    write_private(path, text(server, authority, user, identity).as_bytes())
}
