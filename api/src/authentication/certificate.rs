//! Client certificates: the subject's common name is the user, its organizations are the groups (document 000).
//!
//! Invariant: the chain has been verified against the client CA by TLS before this file sees the certificate; here only
//! the verified leaf's subject is read.

use std::sync::Arc;

use x509_parser::prelude::{FromDer, X509Certificate};

use super::User;

/// What a connection proved about its client, before any request: shared by all requests of the connection.
#[derive(Debug, Clone, Default)]
pub struct Identity {
    /// The user of the client certificate; `None` when there was none or it names nobody.
    pub certificate: Option<Arc<User>>,
    /// The address of the other end; `None` inside the process.
    pub peer: Option<Arc<str>>,
    /// The name of the proxy that is at the other end; `None` when it is none.
    pub proxy: Option<Arc<str>>,
}

impl Identity {
    /// The identity of a connection whose verified client certificate is this one.
    #[must_use]
    pub fn of_certificate(der: Option<&[u8]>) -> Self {
        Self { certificate: der.and_then(from_certificate).map(Arc::new), ..Self::default() }
    }

    /// The same, at the other end of a connection from this address.
    #[must_use]
    pub fn with_peer(self, address: &str) -> Self {
        Self { peer: Some(address.into()), ..self }
    }

    /// An identity that is already known, for calls inside the process.
    #[must_use]
    pub fn of_user(user: User) -> Self {
        Self { certificate: Some(Arc::new(user)), ..Self::default() }
    }

    /// The same, for a peer whose verified certificate is that of a proxy in front.
    #[must_use]
    pub fn with_proxy(self, der: &[u8]) -> Self {
        Self { proxy: from_certificate(der).map(|user| user.name.into()), ..self }
    }
}

/// The user that a verified certificate (DER) stands for; `None` when it does not parse or has no common name.
#[must_use]
pub fn from_certificate(der: &[u8]) -> Option<User> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    let subject = certificate.subject();
    let name = subject.iter_common_name().next()?.as_str().ok()?;
    if name.is_empty() {
        return None;
    }
    let groups = subject.iter_organization().filter_map(|o| o.as_str().ok()).map(str::to_owned);
    Some(User::new(name, groups))
}
