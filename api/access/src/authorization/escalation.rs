//! Privilege escalation prevention of RBAC: what a user must hold, or be allowed, to write a role
//! or a binding.
//!
//! Invariants: a user must hold all rules of a role that they write, unless they have the verb
//! `escalate` on it, and all rules of a role that they bind, unless they have the verb `bind` on
//! it. An aggregation rule takes over rules of other roles, whatever they become, so its author
//! must hold everything. A user holds what roles and bindings grant; the other authorization modes
//! can only allow the two verbs.

use std::sync::Arc;

use quorate_meta::well_known::GROUP_MASTERS;
use quorate_meta::{GroupResource, Status};

use super::rbac::{Rule, missing};
use super::{Action, Authorizer, ResourceAction};
use crate::authentication::User;
use quorate_registry::Grant;
use quorate_registry::error::Error;
use quorate_registry::write::Target;

/// Comparisons of texts that one check may take: a few tens of milliseconds. A rule of 25 kB may
/// have more permissions than a node has bytes.
const MAX_COMPARISONS: u64 = 20_000_000;

/// Lets through a write that grants no more than the user may grant.
///
/// # Errors
/// 403 otherwise; 404 for a role that is to be bound and does not exist.
pub async fn check_escalation(
    authorizer: &Authorizer,
    user: &User,
    target: Target<'_>,
    grant: &Grant,
) -> Result<(), Error> {
    if user.is_in(GROUP_MASTERS) {
        return Ok(());
    }
    let namespace = target.namespace.unwrap_or_default();
    let check = EscalationCheck { authorizer, user, target, namespace };
    match grant {
        Grant::Rules { rules, aggregates, exists } => {
            let name = if *exists { target.name } else { "" };
            check
                .writes_role(
                    &target.resource.plural,
                    name,
                    rules.iter().map(Rule::read).collect(),
                    *aggregates,
                )
                .await
        }
        Grant::Role { in_namespace: true, name } => {
            check.binds_role("roles", namespace, name).await
        }
        Grant::Role { in_namespace: false, name } => {
            check.binds_role("clusterroles", "", name).await
        }
    }
}

/// A user who writes a role or a binding.
struct EscalationCheck<'a> {
    authorizer: &'a Authorizer,
    user: &'a User,
    target: Target<'a>,
    /// That of the target; empty for the cluster's.
    namespace: &'a str,
}

impl EscalationCheck<'_> {
    /// `name` is empty for a new role.
    async fn writes_role(
        &self,
        plural: &str,
        name: &str,
        rules: Vec<Rule>,
        aggregates: bool,
    ) -> Result<(), Error> {
        if self.may("escalate", plural, name).await {
            return Ok(());
        }
        self.must_hold(&rules).await?;
        if aggregates && self.must_hold(&Rule::everything()).await.is_err() {
            return Err(
                self.refused("must have cluster-admin privileges to use the aggregationRule")
            );
        }
        Ok(())
    }

    async fn binds_role(&self, plural: &str, namespace: &str, name: &str) -> Result<(), Error> {
        if self.may("bind", plural, name).await {
            return Ok(());
        }
        let Some(rules) = self.role(namespace, name).await? else {
            let kind = plural.trim_end_matches('s');
            return Err(Status::not_found(
                &GroupResource::new(self.authorizer.group.as_str(), kind),
                name,
            )
            .into());
        };
        self.must_hold(&rules).await
    }

    async fn may(&self, verb: &str, resource: &str, name: &str) -> bool {
        let on = ResourceAction {
            verb,
            group: &self.authorizer.group,
            version: "*",
            resource,
            namespace: self.namespace,
            name: name.into(),
            ..ResourceAction::default()
        };
        self.authorizer.decide(self.user, &Action::Resource(on)).await.is_allowed()
    }

    async fn role(&self, namespace: &str, name: &str) -> Result<Option<Arc<[Rule]>>, Error> {
        let Some(rules) = self.authorizer.rules() else {
            return Ok(None);
        };
        Ok(rules.current().await?.role(namespace, name).cloned())
    }

    async fn must_hold(&self, wanted: &[Rule]) -> Result<(), Error> {
        let user = self.user;
        let index = match self.authorizer.rules() {
            Some(rules) => rules.current().await?,
            None => Arc::default(),
        };
        let mut held: Vec<&Rule> = Vec::new();
        let errors = index.visit(&self.authorizer.group, user, self.namespace, |found| {
            held.extend(found.rules.iter());
            false
        });
        let Some(missing) = missing(&held, wanted.iter(), MAX_COMPARISONS) else {
            let why = format!(
                "user {:?} is attempting to grant more RBAC permissions than can be checked",
                user.name
            );
            return Err(self.refused(&why));
        };
        if missing.is_empty() {
            return Ok(());
        }
        let groups: Vec<String> = user.groups.iter().map(|group| format!("{group:?}")).collect();
        let mut lines: Vec<String> = missing.iter().flat_map(lines).collect();
        lines.sort_unstable();
        let mut why = format!(
            "user {:?} (groups=[{}]) is attempting to grant RBAC permissions not currently held:\n{}",
            user.name,
            groups.join(" "),
            lines.join("\n")
        );
        if !errors.is_empty() {
            why = format!("{why}; resolution errors: [{}]", errors.join(", "));
        }
        Err(self.refused(&why))
    }

    fn refused(&self, why: &str) -> Error {
        Status::forbidden(&self.target.resource.group_resource(), self.target.name, why).into()
    }
}

/// A missing rule as refusals show it: of paths, each verb on a line of its own.
fn lines(rule: &Rule) -> Vec<String> {
    if rule.urls.is_empty() {
        return vec![rule.to_string()];
    }
    let single = |verb: &str| Rule {
        urls: rule.urls.clone(),
        verbs: [verb].into_iter().collect(),
        ..Rule::default()
    };
    rule.verbs.iter().map(|verb| single(verb).to_string()).collect()
}
