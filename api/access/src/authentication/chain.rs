//! The authenticator chain: which credential of a request determines its user.
//!
//! Invariants: the first credential that is there decides, in this order: the headers of an
//! authenticating proxy, a bearer token, a client certificate. There is no falling through: a
//! client that sends a wrong token beside a valid certificate is refused, because it means to be
//! the token's user. A client whose only credential is a certificate that no CA of this server has
//! signed, or that has expired since the connection began, is refused too. A request without any
//! credential is refused, or is one of the anonymous user where the operator lets those in: what that
//! user may do is the authorizer's to say.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use quorate_meta::{Names, Status};
use quorate_store::Store;

use super::token::{Accepted, Refusal, ServiceAccountTokens, TokenOptions};
use super::{ConnectionIdentity, ProxyOptions, StaticTokens, User};
use crate::authentication::quorum_confirmation::{QuorumConfirmation, StateRequirement};
use quorate_registry::error::Error;

/// How long the quorum may take to confirm the state that a token is checked against.
const CONFIRMATION: Duration = Duration::from_secs(2);
/// What the value of the header begins with that carries a token. It has no case.
const BEARER: &[u8] = b"bearer ";

/// How users authenticate.
#[derive(Debug, Clone, Default)]
pub struct AuthenticationOptions {
    /// Tokens of service accounts.
    pub tokens: TokenOptions,
    /// The static token file.
    pub static_tokens: StaticTokens,
    /// Authenticating proxies. They also need a CA of their own in the server's TLS settings.
    pub proxy: ProxyOptions,
    /// Whether requests without credentials are those of the anonymous user.
    pub anonymous: bool,
}

/// Authenticates requests.
pub struct Authentication {
    /// The tokens of service accounts.
    pub service_accounts: Arc<ServiceAccountTokens>,
    static_tokens: ArcSwap<StaticTokens>,
    proxy: ProxyOptions,
    anonymous: bool,
    confirmation: QuorumConfirmation,
}

impl Authentication {
    /// Puts the parts together; see [`ServiceAccountTokens::set_keys`] for what has to follow.
    #[must_use]
    pub fn new(names: &'static Names, options: AuthenticationOptions) -> Self {
        Self {
            service_accounts: Arc::new(ServiceAccountTokens::new(names, options.tokens)),
            static_tokens: ArcSwap::from_pointee(options.static_tokens),
            proxy: options.proxy,
            anonymous: options.anonymous,
            confirmation: QuorumConfirmation::default(),
        }
    }

    /// Takes other static tokens from here on.
    pub fn set_static_tokens(&self, tokens: StaticTokens) {
        self.static_tokens.store(tokens.into());
    }

    /// The user of a request. `now_ms` is the time; `is_health` says that the request goes to a
    /// health endpoint, where a state that is old is good enough to check a token.
    ///
    /// # Errors
    /// 401 for a wrong credential, or none; 503 when it cannot be checked just now.
    pub async fn user(
        &self,
        store: &dyn Store,
        now_ms: u64,
        identity: &ConnectionIdentity,
        headers: &HeaderMap,
        is_health: bool,
    ) -> Result<Arc<User>, Error> {
        let proxied = match &identity.proxy {
            Some(proxy) => self.proxy.user(proxy, headers)?,
            None => None,
        };
        if let Some(user) = proxied {
            refuse_bad(identity, now_ms)?;
            return Ok(Arc::new(user));
        }
        if let Some(token) = bearer(headers)? {
            let own = &self.service_accounts.options().audiences;
            let required =
                if is_health { StateRequirement::Any } else { StateRequirement::Confirmed };
            return match self.token(store, now_ms, token, own, required).await? {
                Ok(accepted) => Ok(accepted.user),
                Err(Refusal::NoKeys) => {
                    Err(Status::service_unavailable(Refusal::NoKeys.to_string()).into())
                }
                Err(refusal) => {
                    tracing::debug!(%refusal, "a bearer token was refused");
                    Err(Status::unauthorized().into())
                }
            };
        }
        refuse_bad(identity, now_ms)?;
        match &identity.certificate {
            Some(user) => Ok(Arc::clone(user)),
            None if self.anonymous => Ok(Arc::new(User::anonymous())),
            None => Err(Status::unauthorized().into()),
        }
    }

    /// The user of a token, for one of these audiences.
    ///
    /// # Errors
    /// When the store cannot be asked. A token that is not accepted is the inner error.
    pub async fn token(
        &self,
        store: &dyn Store,
        now_ms: u64,
        token: &str,
        audiences: &[String],
        required: StateRequirement,
    ) -> Result<Result<Accepted, Refusal>, Error> {
        if let Some(user) = self.static_tokens.load().find(token) {
            // A static token names no audience: it is for all audiences of this server.
            let own = &self.service_accounts.options().audiences;
            let common: Vec<String> =
                audiences.iter().filter(|asked| own.contains(asked)).cloned().collect();
            if common.is_empty() {
                return Ok(Err(Refusal::Audience {
                    token: own.clone(),
                    target: audiences.to_vec(),
                }));
            }
            return Ok(Ok(Accepted { user: user.clone(), audiences: common }));
        }
        let recent = required == StateRequirement::Any || self.confirmation.is_recent();
        let check = |snapshot| self.service_accounts.check(token, audiences, &snapshot, now_ms);
        let first = check(store.snapshot());
        // A good answer needs a state that is not too old, a bad one may come from a state that is
        // older than the object.
        let is_settled = match &first {
            Ok(_) => recent,
            Err(refusal) => required == StateRequirement::Any || !refusal.is_of_this_state(),
        };
        if is_settled {
            return Ok(first);
        }
        self.confirmation.renew(store, CONFIRMATION, "tokens cannot be checked").await?;
        Ok(check(store.snapshot()))
    }
}

impl fmt::Debug for Authentication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { service_accounts, static_tokens, proxy, anonymous, .. } = self;
        f.debug_struct("Authentication")
            .field("service_accounts", service_accounts)
            .field("static_tokens", &static_tokens.load())
            .field("proxy", proxy)
            .field("anonymous", anonymous)
            .finish_non_exhaustive()
    }
}

/// The bearer token of a request that has one. The scheme has no case; another scheme is no
/// credential. A request with two
/// is refused: a proxy on the way may have read the other one.
fn bearer(headers: &HeaderMap) -> Result<Option<&str>, Error> {
    let mut values = headers.get_all(AUTHORIZATION).into_iter();
    let (first, second) = (values.next(), values.next());
    if second.is_some() {
        return Err(Status::unauthorized().into());
    }
    let is_bearer = |value: &&HeaderValue| {
        value
            .as_bytes()
            .get(..BEARER.len())
            .is_some_and(|scheme| scheme.eq_ignore_ascii_case(BEARER))
    };
    let Some(value) = first.filter(is_bearer) else {
        return Ok(None);
    };
    // A token in other characters than visible ASCII is a wrong one, not none.
    let text = value.to_str().map_err(|_| Status::unauthorized())?;
    let token = text.split_at(BEARER.len()).1.trim();
    Ok(Some(token).filter(|token| !token.is_empty()))
}

/// The certificate was looked at when the connection began, which may be long ago.
fn refuse_bad(identity: &ConnectionIdentity, now_ms: u64) -> Result<(), Error> {
    if identity.has_unknown_certificate || identity.has_ended(now_ms) {
        tracing::debug!(
            "a client certificate of an unknown authority, or an expired one, was refused"
        );
        return Err(Status::unauthorized().into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use quorate_env::SystemEnv;
    use quorate_meta::Naming;
    use quorate_store::{MemoryOptions, MemoryStore};

    use super::*;

    const END_MS: u64 = 1000;

    /// The name of the user, or the code of the refusal.
    async fn user_name(
        identity: &ConnectionIdentity,
        now_ms: u64,
        headers: &[(&'static str, &str)],
        is_health: bool,
    ) -> String {
        let options = AuthenticationOptions {
            tokens: TokenOptions { audiences: vec!["api".into()], ..TokenOptions::default() },
            static_tokens: StaticTokens::parse("secret,ann,1").unwrap(),
            anonymous: true,
            ..AuthenticationOptions::default()
        };
        let authentication = Authentication::new(Naming::Svc.names(), options);
        let store = MemoryStore::new(MemoryOptions::new(SystemEnv::env().clock));
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        match authentication.user(&store, now_ms, identity, &map, is_health).await {
            Ok(user) => user.name.clone(),
            Err(error) => error.into_status().code.to_string(),
        }
    }

    #[tokio::test]
    async fn a_client_with_an_unknown_certificate_needs_a_token() {
        let check = async |headers: &[(&'static str, &str)], expect: &str| {
            for is_health in [false, true] {
                let name = user_name(
                    &ConnectionIdentity::of_unknown_certificate(),
                    END_MS,
                    headers,
                    is_health,
                )
                .await;
                assert_eq!(name, expect, "{headers:?}");
            }
        };
        check(&[], "401").await;
        check(&[("authorization", "Bearer secret")], "ann").await;
        check(&[("x-remote-user", "eve")], "401").await;
    }

    #[tokio::test]
    async fn a_certificate_that_has_ended_is_a_wrong_one() {
        let joe = ConnectionIdentity {
            until_ms: Some(END_MS),
            ..ConnectionIdentity::of_user(User::new("joe", Vec::new()))
        };
        let front = ConnectionIdentity {
            until_ms: Some(END_MS),
            proxy: Some("front".into()),
            ..ConnectionIdentity::default()
        };
        let (eve, ann) = (("x-remote-user", "eve"), ("authorization", "Bearer secret"));
        let check = async |identity: &ConnectionIdentity,
                           headers: &[(&'static str, &str)],
                           before: &str,
                           after: &str| {
            for is_health in [false, true] {
                assert_eq!(
                    user_name(identity, END_MS, headers, is_health).await,
                    before,
                    "{headers:?}"
                );
                assert_eq!(
                    user_name(identity, END_MS + 1, headers, is_health).await,
                    after,
                    "{headers:?}"
                );
            }
        };
        check(&joe, &[], "joe", "401").await;
        check(&joe, &[ann], "ann", "ann").await;
        check(&front, &[eve], "eve", "401").await;
        check(&front, &[eve, ann], "eve", "401").await;
        check(&front, &[ann], "ann", "ann").await;
        check(&front, &[eve, ann, ("x-remote-user", "joe")], "401", "401").await;
        assert_eq!(
            user_name(&ConnectionIdentity::default(), END_MS, &[], true).await,
            "system:anonymous"
        );
    }

    #[tokio::test]
    async fn a_token_is_a_credential_in_any_characters() {
        let joe = ConnectionIdentity::of_user(User::new("joe", Vec::new()));
        let check = async |value: &str, expect: &str| {
            assert_eq!(
                user_name(&joe, END_MS, &[("authorization", value)], true).await,
                expect,
                "{value}"
            );
        };
        check("bEARER  secret", "ann").await;
        check("Bearer sécret", "401").await;
        check("bearer é", "401").await;
        check("Bearer ", "joe").await;
        check("Bearer", "joe").await;
        check("Bearers secret", "joe").await;
        check("Basic é", "joe").await;
    }
}
