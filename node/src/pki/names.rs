//! The file names of a node's certificates, without their endings where a certificate and a key go
//! together.

/// The serving certificate.
pub(crate) const SERVER: &str = "server";
/// The certificate among nodes.
pub(crate) const PEER: &str = "peer";
/// The administrator's client certificate.
pub(crate) const ADMIN: &str = "admin";
/// The authority of serving and client certificates; also its name in the store.
pub(crate) const AUTHORITY: &str = "ca";
/// The authority among nodes; also its name in the store.
pub(crate) const PEER_AUTHORITY: &str = "peer-ca";
/// The keys of service account tokens, in the store only.
pub(crate) const TOKEN_KEYS: &str = "token-keys";
/// The certificate of [`AUTHORITY`].
pub(crate) const AUTHORITY_CERTIFICATE: &str = "ca.crt";
/// The certificate of [`PEER_AUTHORITY`].
pub(crate) const PEER_AUTHORITY_CERTIFICATE: &str = "peer-ca.crt";
/// The authority of the well-known signers of certificate requests; also its name in the store.
pub(crate) const SIGNER_AUTHORITY: &str = "signer-ca";
/// The certificate of [`SIGNER_AUTHORITY`].
pub(crate) const SIGNER_AUTHORITY_CERTIFICATE: &str = "signer-ca.crt";
