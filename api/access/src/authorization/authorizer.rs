//! The authorizer: the configured modes in their order, and how new the rules are that they decide
//! by.
//!
//! Invariants about changes that were acknowledged anywhere in the cluster before a request came:
//! - No user is refused for want of one: the quorum is asked before a refusal whether this node has
//!   applied everything.
//! - Nothing is read from the newest state on the ground of rules that are older than that state
//!   ([`Authorizer::recheck`]).
//! - A write or a watch is allowed by rules that the quorum has confirmed within a second: a
//!   permission that was taken away through any node is gone everywhere by then.
//! - A read of a state that may be old is allowed by rules that are as old; so are access reviews.
//!
//! Without a quorum, this node refuses, and lets watches begin, by what it has applied, after a
//! second; no write is allowed. A watch that has begun goes on until it ends, whatever happens to
//! the permission to begin it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use quorate_meta::Names;
use quorate_meta::well_known::{GROUP_AUTHENTICATED, GROUP_MASTERS};
use quorate_store::Store;

use super::decision_counts::DecisionCounts;
use super::mode::Mode;
use super::node::NodeRestriction;
use super::rbac::{self, Rule, Rules};
use super::{Action, ActionKind, Decision, ModeDecisions, ModeOptions, Rights, Verdict};
use crate::authentication::{QuorumConfirmation, User};
use quorate_registry::Catalogue;
use quorate_registry::derived::Informed;
use quorate_registry::error::Error;

/// How long a refusal, a review or a watch waits for the quorum to confirm the state of this node.
const READ_CONFIRMATION: Duration = Duration::from_secs(1);
/// How long a write waits for the quorum to confirm the state of this node.
const WRITE_CONFIRMATION: Duration = Duration::from_secs(5);

/// What an [`Authorizer`] is made of.
pub struct AuthorizerOptions<'a> {
    /// The names of the cluster.
    pub names: &'static Names,
    /// What is served.
    pub catalogue: &'a Catalogue,
    /// Where rules are stored.
    pub store: Arc<dyn Store>,
    /// The modes to ask, in this order; the first that has an opinion decides.
    pub modes: &'a [ModeOptions],
}

/// Decides what users may do.
pub struct Authorizer {
    pub(super) names: &'static Names,
    modes: Vec<Mode>,
    /// Of each of them.
    counts: Vec<DecisionCounts>,
    store: Arc<dyn Store>,
    confirmation: QuorumConfirmation,
    /// The name of the group that roles are in.
    pub(super) group: String,
}

impl Authorizer {
    /// Puts the parts together; starts nothing.
    #[must_use]
    pub fn new(options: AuthorizerOptions<'_>) -> Self {
        let AuthorizerOptions { names, catalogue, store, modes } = options;
        let modes: Vec<Mode> =
            modes.iter().filter_map(|asked| Mode::new(asked, names, catalogue, &store)).collect();
        Self {
            names,
            counts: modes.iter().map(|_| DecisionCounts::default()).collect(),
            modes,
            store,
            confirmation: QuorumConfirmation::default(),
            group: names.group(rbac::GROUP),
        }
    }

    /// The derived states that it decides by.
    #[must_use]
    pub fn derived_states(&self) -> Vec<Arc<dyn Informed>> {
        self.modes.iter().filter_map(Mode::derived_state).collect()
    }

    /// How often each mode has decided.
    pub fn decisions(&self) -> impl Iterator<Item = ModeDecisions> {
        self.modes.iter().zip(&self.counts).map(|(mode, counts)| counts.of(mode))
    }

    /// Whether it can decide: what it decides by has been read, and the default roles exist.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.modes.iter().all(Mode::is_ready)
    }

    /// Whether a user may do something, and why.
    pub async fn decide(&self, user: &User, action: &Action<'_>) -> Decision {
        self.decide_at(action.kind(self.names), user, action).await
    }

    /// The same by rules that are as new as another kind of action needs.
    async fn decide_at(&self, kind: ActionKind, user: &User, action: &Action<'_>) -> Decision {
        if user.is_in(GROUP_MASTERS) {
            return Decision::allow("");
        }
        // In this order: the decision is by rules at least as new as what was confirmed before.
        let (epoch, recent) = (self.epoch(), self.confirmation.is_recent());
        let decision = self.ask(user, action).await;
        let Some(epoch) = epoch else { return decision };
        let confirmed = match decision.is_allowed() {
            true if recent || kind == ActionKind::Read => return decision,
            true if kind == ActionKind::Write => self.confirm(WRITE_CONFIRMATION).await,
            false if !decision.error.is_empty() => return decision,
            _ => self.confirm(READ_CONFIRMATION).await,
        };
        match confirmed {
            Ok(()) if self.epoch() == Some(epoch) => decision,
            Ok(()) => self.ask(user, action).await,
            Err(error) if decision.is_allowed() && kind == ActionKind::Write => {
                Decision { error: error.into_status().message, ..Decision::default() }
            }
            Err(_) => decision,
        }
    }

    /// The decision by what this node has applied. For one of many questions of a request after which
    /// the newest rules were taken in.
    pub async fn decide_by_applied(&self, user: &User, action: &Action<'_>) -> Decision {
        if user.is_in(GROUP_MASTERS) {
            return Decision::allow("");
        }
        self.ask(user, action).await
    }

    /// Takes in everything that was acknowledged before, if a quorum confirms in time what that is.
    pub async fn refresh(&self) {
        if let Err(error) = self.confirm(READ_CONFIRMATION).await {
            tracing::debug!(?error, "questions about rights are answered by what this node knows");
        }
    }

    /// Takes in everything that was acknowledged before.
    async fn confirm(&self, within: Duration) -> Result<(), Error> {
        self.confirmation.renew(&*self.store, within, "it cannot be said who may do this").await?;
        self.catch_up().await
    }

    /// The epoch of a decision that is made now: a later one can only differ where the epoch does.
    pub fn epoch(&self) -> Option<u64> {
        self.modes.iter().filter_map(Mode::epoch).reduce(u64::wrapping_add)
    }

    /// The decision by everything that this node has applied, where it may differ from the one at
    /// an epoch; `None` otherwise. For a request that is answered from a newer state than it was
    /// allowed by.
    ///
    /// # Errors
    /// 503 when it cannot be decided just now.
    pub async fn recheck(
        &self,
        epoch: Option<u64>,
        user: &User,
        action: &Action<'_>,
    ) -> Result<Option<Decision>, Error> {
        if user.is_in(GROUP_MASTERS) {
            return Ok(None);
        }
        if self.has_changed(epoch).await? {
            Ok(Some(self.decide(user, action).await))
        } else {
            Ok(None)
        }
    }

    /// Whether something that this node has applied since an epoch may change a decision.
    ///
    /// # Errors
    /// 503 when that cannot be said just now.
    pub async fn has_changed(&self, epoch: Option<u64>) -> Result<bool, Error> {
        self.catch_up().await?;
        Ok(self.epoch() != epoch)
    }

    async fn catch_up(&self) -> Result<(), Error> {
        for mode in &self.modes {
            mode.catch_up().await?;
        }
        Ok(())
    }

    /// The decision of the modes; but every authenticated user may ask about themselves: no binding
    /// can be missing for that, and no mode can refuse it.
    async fn ask(&self, user: &User, action: &Action<'_>) -> Decision {
        let decision = self.ask_modes(user, action).await;
        if !decision.is_allowed()
            && user.is_in(GROUP_AUTHENTICATED)
            && action.is_self_review(self.names)
        {
            return Decision::allow("everybody may ask about themselves");
        }
        decision
    }

    async fn ask_modes(&self, user: &User, action: &Action<'_>) -> Decision {
        let (mut reasons, mut errors, mut problems) = (Vec::new(), Vec::new(), Vec::new());
        for (mode, counts) in self.modes.iter().zip(&self.counts) {
            let decision = mode.decide(&self.group, user, action).await;
            counts.count(&decision);
            errors.extend(Some(decision.error).filter(|error| !error.is_empty()));
            problems.extend(decision.problems);
            if decision.verdict != Verdict::NoOpinion {
                let error = errors.join(", ");
                return Decision {
                    verdict: decision.verdict,
                    reason: decision.reason,
                    error,
                    problems,
                };
            }
            reasons.extend(Some(decision.reason).filter(|reason| !reason.is_empty()));
        }
        Decision {
            verdict: Verdict::NoOpinion,
            reason: reasons.join("\n"),
            error: errors.join(", "),
            problems,
        }
    }

    /// Lets through what is allowed.
    ///
    /// # Errors
    /// The 403 to answer; 503 when it cannot be decided just now.
    pub async fn check(&self, user: &User, action: &Action<'_>) -> Result<(), Error> {
        self.decide(user, action).await.enforce(user, action)
    }

    /// Lets through what is allowed as a part of another request, such as impersonation for the
    /// sake of a read.
    ///
    /// # Errors
    /// As [`Authorizer::check`].
    pub(super) async fn check_for(
        &self,
        request: &Action<'_>,
        user: &User,
        action: &Action<'_>,
    ) -> Result<(), Error> {
        self.decide_at(request.kind(self.names), user, action).await.enforce(user, action)
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

    pub(super) fn rules(&self) -> Option<&Rules> {
        self.modes.iter().find_map(|mode| match mode {
            Mode::Rules(rules) => Some(rules.as_ref()),
            _ => None,
        })
    }

    /// What a user may write, if the user is a node and restricted.
    #[must_use]
    pub fn node_restriction<'a>(&'a self, user: &'a User) -> Option<NodeRestriction<'a>> {
        let nodes = self.modes.iter().find_map(|mode| match mode {
            Mode::Nodes(nodes) => Some(nodes.as_ref()),
            _ => None,
        })?;
        NodeRestriction::of(nodes, user)
    }
}

impl fmt::Debug for Authorizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authorizer").field("modes", &self.modes).finish_non_exhaustive()
    }
}
