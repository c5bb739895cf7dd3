//! Which credential of a request decides who asks.
//!
//! Invariants: the first that is there decides, in this order: the headers of a trusted proxy, a bearer token, a client
//! certificate. There is no falling through: a wrong token beside a right certificate is refused, because whoever sends a
//! token means to be its user. Without any credential a request is refused, unless anonymous requests are let in where it
//! goes to.

use std::fmt;
use std::time::Duration;

use arc_swap::ArcSwap;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use quorate_meta::{Names, Status};
use quorate_store::Store;

use super::freshness::{Confirmation, Freshness};
use super::token::{Accepted, Refusal, ServiceAccountTokens, TokenOptions};
use super::{Identity, ProxyOptions, StaticTokens, User};
use crate::error::Error;

/// How long the quorum may take to confirm the state that a token is checked against.
const CONFIRMATION: Duration = Duration::from_secs(2);

/// How users are found out.
#[derive(Debug, Clone, Default)]
pub struct AuthenticationOptions {
    /// Tokens of service accounts.
    pub tokens: TokenOptions,
    /// Tokens that an operator wrote down.
    pub static_tokens: StaticTokens,
    /// Proxies in front. They also need an authority of their own in the server's TLS settings.
    pub proxy: ProxyOptions,
    /// Whether requests to health endpoints need no credentials.
    pub anonymous_health: bool,
}

/// Finds out who asks.
pub struct Authentication {
    /// The tokens of service accounts.
    pub service_accounts: ServiceAccountTokens,
    static_tokens: ArcSwap<StaticTokens>,
    proxy: ProxyOptions,
    anonymous_health: bool,
    confirmation: Confirmation,
}

impl Authentication {
    /// Puts the parts together; see [`ServiceAccountTokens::set_keys`] for what has to follow.
    #[must_use]
    pub fn new(names: &'static Names, options: AuthenticationOptions) -> Self {
        Self {
            service_accounts: ServiceAccountTokens::new(names, options.tokens),
            static_tokens: ArcSwap::from_pointee(options.static_tokens),
            proxy: options.proxy,
            anonymous_health: options.anonymous_health,
            confirmation: Confirmation::default(),
        }
    }

    /// Takes other static tokens from here on.
    pub fn set_static_tokens(&self, tokens: StaticTokens) {
        self.static_tokens.store(tokens.into());
    }

    /// Who asks, or 401. `now_ms` is the time; `is_health` says that the request goes to a health endpoint.
    pub(crate) async fn user(
        &self,
        store: &dyn Store,
        now_ms: u64,
        identity: &Identity,
        headers: &HeaderMap,
        is_health: bool,
    ) -> Result<User, Error> {
        if let Some(user) = identity.proxy.as_ref().and_then(|proxy| self.proxy.user(proxy, headers)) {
            return Ok(user);
        }
        if let Some(token) = bearer(headers)? {
            let own = &self.service_accounts.options().audiences;
            let freshness = if is_health { Freshness::Any } else { Freshness::Recent };
            return match self.token(store, now_ms, token, own, freshness).await? {
                Ok(accepted) => Ok(User::clone(&accepted.user)),
                Err(Refusal::NoKeys) => Err(Status::service_unavailable(Refusal::NoKeys.to_string()).into()),
                Err(refusal) => {
                    tracing::debug!(%refusal, "a bearer token was refused");
                    Err(Status::unauthorized().into())
                }
            };
        }
        match &identity.certificate {
            Some(user) => Ok(User::clone(user)),
            None if is_health && self.anonymous_health => Ok(User::anonymous()),
            None => Err(Status::unauthorized().into()),
        }
    }

    /// Whose a token is, for one of these audiences.
    ///
    /// # Errors
    /// When the store cannot be asked. A token that is not accepted is the inner error.
    pub(crate) async fn token(
        &self,
        store: &dyn Store,
        now_ms: u64,
        token: &str,
        audiences: &[String],
        freshness: Freshness,
    ) -> Result<Result<Accepted, Refusal>, Error> {
        if let Some(user) = self.static_tokens.load().find(token) {
            // Such a token says nothing of whom it is for: it is for whoever this server is.
            let own = &self.service_accounts.options().audiences;
            let common: Vec<String> = audiences.iter().filter(|asked| own.contains(asked)).cloned().collect();
            if common.is_empty() {
                return Ok(Err(Refusal::Audience { token: own.clone(), target: audiences.to_vec() }));
            }
            return Ok(Ok(Accepted { user: user.clone(), audiences: common }));
        }
        let recent = freshness == Freshness::Any || self.confirmation.is_recent();
        let check = |snapshot| self.service_accounts.check(token, audiences, &snapshot, now_ms);
        let first = check(store.snapshot());
        // A good answer needs a state that is not too old, a bad one may come from a state that is older than the object.
        let is_settled = match &first {
            Ok(_) => recent,
            Err(refusal) => freshness == Freshness::Any || !refusal.is_of_this_state(),
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
        let Self { service_accounts, static_tokens, proxy, anonymous_health, .. } = self;
        f.debug_struct("Authentication")
            .field("service_accounts", service_accounts)
            .field("static_tokens", &static_tokens.load())
            .field("proxy", proxy)
            .field("anonymous_health", anonymous_health)
            .finish_non_exhaustive()
    }
}

/// The bearer token of a request that has one. The scheme has no case; another scheme is no credential. Who says two things
/// is refused: somebody on the way may have read the other one.
fn bearer(headers: &HeaderMap) -> Result<Option<&str>, Error> {
    let mut values = headers.get_all(AUTHORIZATION).into_iter();
    let (first, second) = (values.next(), values.next());
    if second.is_some() {
        return Err(Status::unauthorized().into());
    }
    let credential = first.and_then(|value| value.to_str().ok()?.split_once(' '));
    let token = credential.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, token)| token.trim());
    Ok(token.filter(|token| !token.is_empty()))
}
