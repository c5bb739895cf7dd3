//! The one that is asked, and the ways of deciding that it asks in turn.

use std::sync::Arc;

use quorate_meta::well_known::GROUP_MASTERS;
use quorate_meta::{Names, Status, Value};
use quorate_store::Store;

use super::rbac::{self, Rule, Rules};
use super::{Action, refusal};
use crate::authentication::User;
use crate::error::Error;
use crate::registry::Registry;

/// When somebody may come back about whom nothing could be decided.
const RETRY_SECONDS: u32 = 1;

/// What came out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Verdict {
    /// They may.
    Allow,
    /// They may not, and nobody else is asked.
    Deny,
    /// Nothing allows it.
    #[default]
    NoOpinion,
}

/// An answer with its reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decision {
    /// What came out.
    pub verdict: Verdict,
    /// Why, for people; may be empty.
    pub reason: String,
    /// What went wrong on the way; empty when nothing did. The verdict holds all the same.
    pub error: String,
}

impl Decision {
    /// They may, for this reason.
    pub fn allow(reason: impl Into<String>) -> Self {
        Self { verdict: Verdict::Allow, reason: reason.into(), error: String::new() }
    }

    /// Whether they may.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        self.verdict == Verdict::Allow
    }

    /// Lets through what is allowed: the 403 otherwise, or 503 when it is not known whether they may.
    pub(crate) fn enforce(self, user: &User, action: &Action<'_>) -> Result<(), Error> {
        match self.verdict {
            Verdict::Allow => Ok(()),
            Verdict::NoOpinion if !self.error.is_empty() => {
                Err(Status::service_unavailable(self.error).with_retry_after(RETRY_SECONDS).into())
            }
            Verdict::Deny | Verdict::NoOpinion => Err(refusal(user, action, &self)),
        }
    }
}

/// What somebody may do, as far as it can be listed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rights {
    /// Rules about resources, as reviews show them.
    pub resources: Vec<Value>,
    /// Rules about other paths.
    pub paths: Vec<Value>,
    /// Why there may be more; empty when there is not.
    pub incomplete: Vec<String>,
    /// What went wrong on the way.
    pub errors: Vec<String>,
}

/// A way of deciding, as it is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ModeOptions {
    /// By the rules of roles and bindings.
    #[default]
    Rules,
    /// Everybody may do everything.
    AlwaysAllow,
    /// Nobody may do anything.
    AlwaysDeny,
}

/// A way of deciding.
#[derive(Debug)]
pub(super) enum Mode {
    Rules(Box<Rules>),
    AlwaysAllow,
    AlwaysDeny,
}

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
#[derive(Debug)]
pub struct Authorizer {
    pub(super) modes: Vec<Mode>,
    /// The name of the group that roles are in.
    pub(super) group: String,
}

impl Authorizer {
    /// Puts the parts together; starts nothing.
    #[must_use]
    pub fn new(options: AuthorizerOptions<'_>) -> Self {
        let AuthorizerOptions { names, registry, store, modes } = options;
        let group = names.group(rbac::GROUP);
        let mode = |asked: &ModeOptions| match asked {
            ModeOptions::Rules => Rules::new(store.clone(), registry, &group).map(|rules| Mode::Rules(Box::new(rules))),
            ModeOptions::AlwaysAllow => Some(Mode::AlwaysAllow),
            ModeOptions::AlwaysDeny => Some(Mode::AlwaysDeny),
        };
        Self { modes: modes.iter().filter_map(mode).collect(), group }
    }

    /// The same store, with what the authorizer has to know of its writes noted.
    #[must_use]
    pub fn noting(&self, store: Arc<dyn Store>) -> Arc<dyn Store> {
        match self.rules() {
            Some(rules) => rules.noting(store),
            None => store,
        }
    }

    /// Whether the node can decide: its rules have been read, and they are there.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.rules().is_none_or(|rules| rules.is_synced() && rules.known().role("", "cluster-admin").is_some())
    }

    /// Whether a user may do something, and why.
    pub async fn decide(&self, user: &User, action: &Action<'_>) -> Decision {
        if user.is_in(GROUP_MASTERS) {
            return Decision::allow("");
        }
        let (mut reasons, mut errors) = (Vec::new(), Vec::new());
        for mode in &self.modes {
            let decision = mode.decide(&self.group, user, action).await;
            errors.extend(Some(decision.error).filter(|error| !error.is_empty()));
            if decision.verdict != Verdict::NoOpinion {
                return Decision { error: errors.join(", "), ..Decision { error: String::new(), ..decision } };
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

    pub(super) fn rules(&self) -> Option<&Rules> {
        self.modes.iter().find_map(|mode| match mode {
            Mode::Rules(rules) => Some(rules.as_ref()),
            Mode::AlwaysAllow | Mode::AlwaysDeny => None,
        })
    }
}

impl Rights {
    fn add(&mut self, rules: &[Rule]) {
        for rule in rules {
            let list = if rule.is_about_resources() { &mut self.resources } else { &mut self.paths };
            list.push(rule.to_value());
        }
    }
}

impl Mode {
    async fn decide(&self, group: &str, user: &User, action: &Action<'_>) -> Decision {
        match self {
            Self::Rules(rules) => by_rules(rules, group, user, action).await,
            Self::AlwaysAllow => Decision::allow(""),
            Self::AlwaysDeny => Decision { reason: "Everything is forbidden.".to_owned(), ..Decision::default() },
        }
    }

    async fn list(&self, group: &str, user: &User, namespace: &str, rights: &mut Rights) {
        match self {
            Self::Rules(rules) => match rules.current().await {
                Ok(index) => {
                    let errors = index.visit(group, user, namespace, |found| {
                        rights.add(found.rules);
                        false
                    });
                    rights.errors.extend(errors);
                }
                Err(error) => rights.errors.push(error.to_string()),
            },
            Self::AlwaysAllow => rights.add(&Rule::everything()),
            Self::AlwaysDeny => {}
        }
    }
}

async fn by_rules(rules: &Rules, group: &str, user: &User, action: &Action<'_>) -> Decision {
    let index = match rules.current().await {
        Ok(index) => index,
        Err(error) => return Decision { error: error.to_string(), ..Decision::default() },
    };
    let namespace = match action {
        Action::Resource(on) => on.namespace,
        Action::Path { .. } => "",
    };
    let allows = |rule: &Rule| match action {
        Action::Resource(on) => rule.allows_resource(on),
        Action::Path { verb, path } => rule.allows_path(verb, path),
    };
    let mut reason = None;
    let errors = index.visit(group, user, namespace, |found| {
        let allowed = found.rules.iter().any(allows);
        if allowed {
            reason = Some(format!("RBAC: {}", found.reason()));
        }
        allowed
    });
    match (reason, errors.as_slice()) {
        (Some(reason), _) => Decision::allow(reason),
        (None, []) => Decision::default(),
        (None, [error]) => Decision { reason: format!("RBAC: {error}"), ..Decision::default() },
        (None, errors) => Decision { reason: format!("RBAC: [{}]", errors.join(", ")), ..Decision::default() },
    }
}
