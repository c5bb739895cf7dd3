//! Authorization modes: RBAC, Node, Webhook, AlwaysAllow and AlwaysDeny.

use std::sync::Arc;

use quorate_meta::Names;
use quorate_store::Store;

use super::node::NodeAuthorizer;
use super::rbac::{self, Rule, Rules};
use super::webhook::{Webhook, WebhookOptions};
use super::{Action, Decision, Rights};
use crate::authentication::User;
use quorate_registry::Catalogue;
use quorate_registry::derived::Informed;
use quorate_registry::error::Error;

/// An authorization mode and its options.
#[derive(Debug, Clone, Default)]
pub enum ModeOptions {
    /// RBAC.
    #[default]
    Rules,
    /// The node authorizer.
    Nodes,
    /// A webhook.
    Webhook(WebhookOptions),
    /// Every user may do everything.
    AlwaysAllow,
    /// No user may do anything but ask about themselves.
    AlwaysDeny,
}

/// A configured authorization mode.
#[derive(Debug)]
pub(super) enum Mode {
    Rules(Arc<Rules>),
    Nodes(Box<NodeAuthorizer>),
    Webhook(Box<Webhook>),
    AlwaysAllow,
    AlwaysDeny,
}

impl Mode {
    /// `None` when the catalogue does not have the resources that it decides by.
    pub(super) fn new(
        asked: &ModeOptions,
        names: &'static Names,
        catalogue: &Catalogue,
        store: &Arc<dyn Store>,
    ) -> Option<Self> {
        Some(match asked {
            ModeOptions::Rules => {
                Self::Rules(Arc::new(rbac::rules(names, catalogue, store.clone())?))
            }
            ModeOptions::Nodes => {
                Self::Nodes(Box::new(NodeAuthorizer::new(names, catalogue, store.clone())?))
            }
            ModeOptions::Webhook(options) => {
                Self::Webhook(Box::new(Webhook::new(names, options.clone())))
            }
            ModeOptions::AlwaysAllow => Self::AlwaysAllow,
            ModeOptions::AlwaysDeny => Self::AlwaysDeny,
        })
    }

    /// Its name in options and the name of its authorizer, as metrics say them.
    pub(super) fn names(&self) -> (&'static str, &'static str) {
        match self {
            Self::Rules(_) => ("RBAC", "rbac"),
            Self::Nodes(_) => ("Node", "node"),
            Self::Webhook(_) => ("Webhook", "default"),
            Self::AlwaysAllow => ("AlwaysAllow", "alwaysallow"),
            Self::AlwaysDeny => ("AlwaysDeny", "alwaysdeny"),
        }
    }

    /// The decision of this mode; `group` is the name of the group of roles.
    pub(super) async fn decide(&self, group: &str, user: &User, action: &Action<'_>) -> Decision {
        match self {
            Self::Rules(rules) => rbac::decide(rules, group, user, action).await,
            Self::Nodes(nodes) => nodes.decide(user, action).await,
            Self::Webhook(webhook) => webhook.decide(user, action).await,
            Self::AlwaysAllow => Decision::allow(""),
            Self::AlwaysDeny => {
                Decision { reason: "Everything is forbidden.".to_owned(), ..Decision::default() }
            }
        }
    }

    /// Adds the rules that it can list for a user.
    pub(super) async fn list(
        &self,
        group: &str,
        user: &User,
        namespace: &str,
        rights: &mut Rights,
    ) {
        let mut unlisted = |mode: &str| {
            rights.incomplete.push(format!("{mode} does not support user rule resolution"))
        };
        match self {
            Self::Rules(rules) => match rules.current().await {
                Ok(index) => {
                    let errors = index.visit(group, user, namespace, |found| {
                        rights.add(found.in_force());
                        false
                    });
                    rights.errors.extend(errors);
                }
                Err(error) => rights.incomplete.push(error.into_status().message),
            },
            Self::Nodes(_) if NodeAuthorizer::node_name(user).is_some() => {
                unlisted("node authorizer")
            }
            Self::Webhook(_) => unlisted("webhook authorizer"),
            Self::AlwaysAllow => rights.add(&Rule::everything()),
            Self::Nodes(_) | Self::AlwaysDeny => {}
        }
    }

    /// The derived state that it decides by.
    pub(super) fn derived_state(&self) -> Option<Arc<dyn Informed>> {
        match self {
            Self::Rules(rules) => Some(rules.clone()),
            Self::Nodes(nodes) => Some(nodes.graph.clone()),
            Self::Webhook(_) | Self::AlwaysAllow | Self::AlwaysDeny => None,
        }
    }

    /// The epoch of its derived state, which differs whenever it may decide otherwise; `None` when
    /// it decides by nothing that is stored.
    pub(super) fn epoch(&self) -> Option<u64> {
        match self {
            Self::Rules(rules) => Some(rules.epoch()),
            Self::Nodes(nodes) => Some(nodes.graph.epoch()),
            Self::Webhook(_) | Self::AlwaysAllow | Self::AlwaysDeny => None,
        }
    }

    /// Takes in everything that this node has applied.
    pub(super) async fn catch_up(&self) -> Result<(), Error> {
        match self {
            Self::Rules(rules) => rules.current().await.map(drop),
            Self::Nodes(nodes) => nodes.graph.current().await.map(drop),
            Self::Webhook(_) | Self::AlwaysAllow | Self::AlwaysDeny => Ok(()),
        }
    }

    /// Whether it has read what it decides by.
    pub(super) fn is_ready(&self) -> bool {
        match self {
            Self::Rules(rules) => {
                rules.is_synced() && rules.cached().role("", "cluster-admin").is_some()
            }
            Self::Nodes(nodes) => nodes.graph.is_synced(),
            Self::Webhook(_) | Self::AlwaysAllow | Self::AlwaysDeny => true,
        }
    }
}
