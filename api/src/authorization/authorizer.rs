//! The one that is asked, and whom it asks in turn.
//!
//! Invariants about changes that were acknowledged anywhere in the cluster before a question came: nobody is refused for want
//! of one, because the quorum is asked before a refusal whether this node has seen everything; and nothing is read from the
//! newest state on the ground of rules that are older than that state ([`Authorizer::recheck`]). Other requests are allowed by
//! the rules as this node has applied them. Without a quorum, a refusal is told from what this node knows.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use quorate_meta::Names;
use quorate_meta::well_known::GROUP_MASTERS;
use quorate_store::Store;
use tokio::time::timeout;

use super::mode::Mode;
use super::rbac::{self, Rule, Rules};
use super::{Action, Decision, ModeOptions, Rights, Verdict};
use crate::authentication::User;
use crate::error::Error;
use crate::registry::Registry;

/// How long a refusal waits for the quorum to say whether this node has seen everything.
const CONFIRMATION: Duration = Duration::from_secs(1);

/// What an [`Authorizer`] is made of.
pub struct AuthorizerOptions<'a> {
    /// The names of the cluster.
    pub names: &'static Names,
    /// What is served.
    pub registry: &'a Registry,
    /// Where rules are stored.
    pub store: Arc<dyn Store>,
    /// Whom to ask, in this order; the first that has an opinion decides.
    pub modes: &'a [ModeOptions],
}

/// Decides who may do what.
pub struct Authorizer {
    modes: Vec<Mode>,
    store: Arc<dyn Store>,
    /// The name of the group that roles are in.
    pub(super) group: String,
}

impl Authorizer {
    /// Puts the parts together; starts nothing.
    #[must_use]
    pub fn new(options: AuthorizerOptions<'_>) -> Self {
        let AuthorizerOptions { names, registry, store, modes } = options;
        let modes = modes.iter().filter_map(|asked| Mode::new(asked, names, registry, &store)).collect();
        Self { modes, store, group: names.group(rbac::GROUP) }
    }

    /// The same store, with what the authorizer has to know of its writes noted.
    #[must_use]
    pub fn noting(&self, store: Arc<dyn Store>) -> Arc<dyn Store> {
        self.modes.iter().fold(store, |store, mode| mode.noting(store))
    }

    /// Whether the node can decide: what it decides by has been read, and the default roles are there.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.modes.iter().all(Mode::is_ready)
    }

    /// Whether a user may do something, and why.
    pub async fn decide(&self, user: &User, action: &Action<'_>) -> Decision {
        if user.is_in(GROUP_MASTERS) {
            return Decision::allow("");
        }
        let epoch = self.epoch();
        let decision = self.ask(user, action).await;
        let (Some(epoch), false, true) = (epoch, decision.is_allowed(), decision.error.is_empty()) else {
            return decision;
        };
        let confirmed = timeout(CONFIRMATION, self.store.read_index()).await;
        if !matches!(confirmed, Ok(Ok(_))) || self.catch_up().await.is_err() || self.epoch() == Some(epoch) {
            return decision;
        }
        self.ask(user, action).await
    }

    /// What can be told of a decision that is made now: a later one can only differ when [`Authorizer::recheck`] finds another
    /// number.
    pub(crate) fn epoch(&self) -> Option<u64> {
        self.modes.iter().filter_map(Mode::epoch).reduce(u64::wrapping_add)
    }

    /// What is to be said by everything that this node has applied about what was allowed at an epoch; `None` when nothing has
    /// changed. Before something is told from a newer state than it was allowed by.
    ///
    /// # Errors
    /// 503 when it cannot be decided just now.
    pub(crate) async fn recheck(
        &self,
        epoch: Option<u64>,
        user: &User,
        action: &Action<'_>,
    ) -> Result<Option<Decision>, Error> {
        if user.is_in(GROUP_MASTERS) {
            return Ok(None);
        }
        self.catch_up().await?;
        if self.epoch() == epoch { Ok(None) } else { Ok(Some(self.decide(user, action).await)) }
    }

    async fn catch_up(&self) -> Result<(), Error> {
        for mode in &self.modes {
            mode.catch_up().await?;
        }
        Ok(())
    }

    async fn ask(&self, user: &User, action: &Action<'_>) -> Decision {
        let (mut reasons, mut errors) = (Vec::new(), Vec::new());
        for mode in &self.modes {
            let decision = mode.decide(&self.group, user, action).await;
            errors.extend(Some(decision.error).filter(|error| !error.is_empty()));
            if decision.verdict != Verdict::NoOpinion {
                return Decision { error: errors.join(", "), verdict: decision.verdict, reason: decision.reason };
            }
            reasons.extend(Some(decision.reason).filter(|reason| !reason.is_empty()));
        }
        Decision { verdict: Verdict::NoOpinion, reason: reasons.join("\n"), error: errors.join(", ") }
    }

    /// Lets through what is allowed.
    ///
    /// # Errors
    /// The 403 to answer; 503 when it cannot be decided just now.
    pub async fn check(&self, user: &User, action: &Action<'_>) -> Result<(), Error> {
        self.decide(user, action).await.enforce(user, action)
    }

    /// What a user may do in a namespace, and in the cluster.
    pub async fn rights(&self, user: &User, namespace: &str) -> Rights {
        let mut rights = Rights::default();
        if user.is_in(GROUP_MASTERS) {
            rights.add(&Rule::everything());
        }
        for mode in &self.modes {
            mode.list(&self.group, user, namespace, &mut rights).await;
        }
        rights
    }

    /// Follows the store for ever; returns at once when nothing that is stored matters.
    pub(super) async fn follow(&self) {
        join_all(self.modes.iter().map(Mode::follow)).await;
    }

    pub(super) fn rules(&self) -> Option<&Rules> {
        self.modes.iter().find_map(|mode| match mode {
            Mode::Rules(rules) => Some(rules.as_ref()),
            _ => None,
        })
    }
}

impl fmt::Debug for Authorizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authorizer").field("modes", &self.modes).finish_non_exhaustive()
    }
}
