//! Nobody gives away more than they hold: what somebody must hold, or be allowed, who writes a role or a binding.
//!
//! Invariants: a role's rules must all be held by whoever writes them, unless they may `escalate` the role; a bound role's rules
//! likewise, unless they may `bind` it. To take over other roles' rules, whatever they become, everything must be held.
//! What is held is what the rules of roles and bindings give; other ways of deciding can only allow the two verbs.

use std::sync::Arc;

use quorate_meta::well_known::GROUP_MASTERS;
use quorate_meta::{GroupResource, Status};

use super::rbac::{Rule, missing};
use super::{Action, Authorizer, ResourceAction};
use crate::authentication::User;
use quorate_registry::Grant;
use quorate_registry::error::Error;
use quorate_registry::write::Target;

/// Comparisons of texts that one check may take: a few tens of milliseconds. A rule of 25 kB may have more grants than a node has bytes.
const MAX_COMPARISONS: u64 = 20_000_000;

impl Authorizer {
    /// Lets through a write that gives away what the user may give.
    ///
    /// # Errors
    /// 403 otherwise; 404 for a role that is to be bound and cannot be found.
    pub async fn check_grant(&self, user: &User, target: Target<'_>, grant: &Grant) -> Result<(), Error> {
        if user.is_in(GROUP_MASTERS) {
            return Ok(());
        }
        let namespace = target.namespace.unwrap_or_default();
        match grant {
            Grant::Rules { rules, aggregates, exists } => {
                let name = if *exists { target.name } else { "" };
                if self.may(user, "escalate", &target.resource.plural, namespace, name).await {
                    return Ok(());
                }
                let rules: Vec<Rule> = rules.iter().map(Rule::read).collect();
                self.must_hold(user, target, namespace, &rules).await?;
                if *aggregates && self.must_hold(user, target, namespace, &Rule::everything()).await.is_err() {
                    return Err(refused(target, "must have cluster-admin privileges to use the aggregationRule"));
                }
                Ok(())
            }
            Grant::Role { in_namespace, name } => {
                let plural = if *in_namespace { "roles" } else { "clusterroles" };
                if self.may(user, "bind", plural, namespace, name).await {
                    return Ok(());
                }
                let Some(rules) = self.role(if *in_namespace { namespace } else { "" }, name).await? else {
                    let kind = plural.trim_end_matches('s');
                    return Err(Status::not_found(&GroupResource::new(self.group.as_str(), kind), name).into());
                };
                self.must_hold(user, target, namespace, &rules).await
            }
        }
    }

    async fn may(&self, user: &User, verb: &str, resource: &str, namespace: &str, name: &str) -> bool {
        let on = ResourceAction {
            verb,
            group: &self.group,
            version: "*",
            resource,
            namespace,
            name: name.into(),
            ..ResourceAction::default()
        };
        self.decide(user, &Action::Resource(on)).await.is_allowed()
    }

    async fn role(&self, namespace: &str, name: &str) -> Result<Option<Arc<[Rule]>>, Error> {
        let Some(rules) = self.rules() else { return Ok(None) };
        Ok(rules.current().await?.role(namespace, name).cloned())
    }

    async fn must_hold(&self, user: &User, target: Target<'_>, namespace: &str, wanted: &[Rule]) -> Result<(), Error> {
        let index = match self.rules() {
            Some(rules) => rules.current().await?,
            None => Arc::default(),
        };
        let mut held: Vec<&Rule> = Vec::new();
        let errors = index.visit(&self.group, user, namespace, |found| {
            held.extend(found.rules.iter());
            false
        });
        let Some(missing) = missing(&held, wanted.iter(), MAX_COMPARISONS) else {
            let why = format!("user {:?} is attempting to grant more RBAC permissions than can be checked", user.name);
            return Err(refused(target, &why));
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
        Err(refused(target, &why))
    }
}

/// What is missing, as refusals tell it: of paths, each verb for itself.
fn lines(rule: &Rule) -> Vec<String> {
    if rule.urls.is_empty() {
        return vec![rule.to_string()];
    }
    let single = |verb: &str| Rule { urls: rule.urls.clone(), verbs: [verb].into_iter().collect(), ..Rule::default() };
    rule.verbs.iter().map(|verb| single(verb).to_string()).collect()
}

fn refused(target: Target<'_>, why: &str) -> Error {
    Status::forbidden(&target.resource.group_resource(), target.name, why).into()
}
