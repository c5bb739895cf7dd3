//! The RBAC index: every role and binding, compiled and sorted by subject.
//!
//! Invariants: immutable once shared; a changed copy shares what has not changed, so one object
//! costs the logarithm of all. What a binding grants depends on the binding alone: its role is
//! looked up when a user asks, and a role that does not exist is reported then. Where a binding
//! names one subject many times, or one role is bound to it many times, the role is looked at once.

use std::borrow::Cow;
use std::ops::Bound;
use std::sync::Arc;

use imbl::{OrdMap, OrdSet};
use quorate_meta::Value;
use quorate_meta::well_known::USER_SERVICE_ACCOUNT_PREFIX;

use super::Rule;
use super::key::{self, RoleKind, SubjectGrant, SubjectKind};
use crate::authentication::User;
use quorate_registry::derived::{Derived, ObjectChange};

/// All roles and bindings at one revision.
#[derive(Debug, Clone, Default)]
pub(crate) struct Index {
    roles: OrdMap<Arc<[u8]>, Arc<[Rule]>>,
    grants: OrdSet<Arc<[u8]>>,
    /// Grants to users and groups in a way that is an error: they grant nothing.
    wrong: OrdSet<Arc<[u8]>>,
}

/// A role or binding; the namespace is empty for a ClusterRoleBinding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RbacObject<'a> {
    Role { namespace: &'a str, name: &'a str },
    ClusterRole { name: &'a str },
    Binding { namespace: &'a str, name: &'a str },
}

/// The rules of a role that are granted to a user, and by which binding.
#[derive(Debug)]
pub(crate) struct GrantedRules<'i> {
    pub(crate) rules: &'i Arc<[Rule]>,
    grant: SubjectGrant<'i>,
    subject: (SubjectKind, &'i str),
    namespace: &'i str,
}

impl Derived for Index {
    fn update(&mut self, change: ObjectChange<'_>) {
        let ObjectChange { plural, namespace, name, old, new, .. } = change;
        if let (Some(old), Some(new)) = (old, new)
            && grants_the_same(old, new)
        {
            return;
        }
        let object = match plural {
            "roles" => RbacObject::Role { namespace, name },
            "clusterroles" => RbacObject::ClusterRole { name },
            _ => RbacObject::Binding { namespace, name },
        };
        self.change(object, old, new);
    }
}

/// Whether nothing but metadata differs, which grants nothing.
fn grants_the_same(before: &Value, now: &Value) -> bool {
    ["rules", "subjects", "roleRef"].iter().all(|field| before.get(field) == now.get(field))
}

impl Index {
    /// Changes one role or binding: what it was, and what it is now.
    pub(super) fn change(
        &mut self,
        object: RbacObject<'_>,
        before: Option<&Value>,
        now: Option<&Value>,
    ) {
        match object {
            RbacObject::Role { namespace, name } => {
                self.set_role(key::role(namespace, RoleKind::Role, name), now)
            }
            RbacObject::ClusterRole { name } => {
                self.set_role(key::role("", RoleKind::ClusterRole, name), now)
            }
            RbacObject::Binding { namespace, name } => {
                for (wrong, grant) in
                    before.into_iter().flat_map(|binding| grants(namespace, name, binding))
                {
                    let set = if wrong { &mut self.wrong } else { &mut self.grants };
                    set.remove(&grant);
                }
                for (wrong, grant) in
                    now.into_iter().flat_map(|binding| grants(namespace, name, binding))
                {
                    let set = if wrong { &mut self.wrong } else { &mut self.grants };
                    set.insert(grant);
                }
            }
        }
    }

    /// Whether nothing is left.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.roles.is_empty() && self.grants.is_empty() && self.wrong.is_empty()
    }

    fn set_role(&mut self, key: Vec<u8>, now: Option<&Value>) {
        match now {
            Some(role) => self.roles.insert(key.into(), Rule::of_role(role).into()),
            None => self.roles.remove(key.as_slice()),
        };
    }

    /// The rules of one role; `namespace` is empty for a ClusterRole.
    pub(crate) fn role(&self, namespace: &str, name: &str) -> Option<&Arc<[Rule]>> {
        let kind = if namespace.is_empty() { RoleKind::ClusterRole } else { RoleKind::Role };
        self.roles.get(key::role(namespace, kind, name).as_slice())
    }

    /// Calls `visit` with the rules that are granted to a user, those of the cluster and, where a
    /// namespace is given, those in it, until it says `true`. Gives what is wrong with bindings
    /// that concern the user; `group` is the name of the group of roles.
    pub(crate) fn visit<'i>(
        &'i self,
        group: &str,
        user: &'i User,
        namespace: &'i str,
        mut visit: impl FnMut(GrantedRules<'i>) -> bool,
    ) -> Vec<String> {
        let mut errors = Vec::new();
        let mut prefix = Vec::new();
        let scopes = [Some(""), Some(namespace).filter(|namespace| !namespace.is_empty())];
        for namespace in scopes.into_iter().flatten() {
            let groups = user.groups.iter().map(|group| (SubjectKind::Group, group.as_str()));
            let subjects = (!user.name.is_empty())
                .then_some((SubjectKind::User, user.name.as_str()))
                .into_iter()
                .chain(groups);
            for subject in subjects {
                key::grants(&mut prefix, subject.0, subject.1, namespace);
                let mut last: &[u8] = &[];
                for key in below(&self.grants, &prefix) {
                    let Some(grant) =
                        SubjectGrant::read(key, &prefix).filter(|grant| grant.key != last)
                    else {
                        continue;
                    };
                    last = grant.key;
                    match self.roles.get(grant.key) {
                        Some(rules) if visit(GrantedRules { rules, grant, subject, namespace }) => {
                            return Vec::new();
                        }
                        Some(_) => {}
                        None => push_once(&mut errors, not_found(group, grant)),
                    }
                }
                if below(&self.wrong, &prefix).next().is_some() {
                    push_once(
                        &mut errors,
                        format!("a subject named {:?} must not have a namespace", subject.1),
                    );
                }
            }
        }
        errors
    }
}

impl<'i> GrantedRules<'i> {
    /// The rules that are in force: a RoleBinding grants no rules about other paths (PolicyRule).
    pub(crate) fn in_force(&self) -> impl Iterator<Item = &'i Rule> {
        let of_cluster = self.namespace.is_empty();
        self.rules.iter().filter(move |rule| of_cluster || rule.is_about_resources())
    }

    /// The binding and the role that grant the rules, for the reason of a decision.
    pub(crate) fn reason(&self) -> String {
        let kind = if self.grant.kind == RoleKind::Role { "Role" } else { "ClusterRole" };
        let binding = match self.namespace {
            "" => format!("ClusterRoleBinding {:?}", self.grant.binding()),
            namespace => {
                format!("RoleBinding {:?}", format!("{}/{namespace}", self.grant.binding()))
            }
        };
        let account = self
            .subject
            .1
            .strip_prefix(USER_SERVICE_ACCOUNT_PREFIX)
            .and_then(|rest| rest.split_once(':'));
        let subject = match (self.subject, account) {
            ((SubjectKind::User, _), Some((namespace, name))) => {
                format!("ServiceAccount {:?}", format!("{name}/{namespace}"))
            }
            ((SubjectKind::User, name), None) => format!("User {name:?}"),
            ((SubjectKind::Group, name), _) => format!("Group {name:?}"),
        };
        format!("allowed by {binding} of {kind} {:?} to {subject}", self.grant.role())
    }
}

fn below<'s, 'p>(
    set: &'s OrdSet<Arc<[u8]>>,
    prefix: &'p [u8],
) -> impl Iterator<Item = &'s [u8]> + use<'s, 'p> {
    let range = (Bound::Included(prefix), Bound::Unbounded);
    set.range::<_, [u8]>(range)
        .map(AsRef::as_ref)
        .take_while(move |key: &&[u8]| key.starts_with(prefix))
}

fn push_once(errors: &mut Vec<String>, error: String) {
    if !errors.contains(&error) {
        errors.push(error);
    }
}

fn not_found(group: &str, grant: SubjectGrant<'_>) -> String {
    let kind = if grant.kind == RoleKind::Role { "role" } else { "clusterrole" };
    format!("{kind}.{group} {:?} not found", grant.role())
}

/// The grants of a binding, and whether each is one in error.
fn grants<'b>(
    namespace: &'b str,
    name: &'b str,
    binding: &'b Value,
) -> impl Iterator<Item = (bool, Arc<[u8]>)> + 'b {
    let reference = |field: &str| binding.str_at(&["roleRef", field]).unwrap_or_default();
    let kind = match reference("kind") {
        "Role" => Some(RoleKind::Role),
        "ClusterRole" => Some(RoleKind::ClusterRole),
        _ => None,
    };
    let role = reference("name");
    let subjects = binding.get("subjects").and_then(Value::as_list).unwrap_or_default();
    subjects.iter().filter_map(move |subject| {
        let (wrong, kind_of_subject, subject) = named_subject(namespace, subject)?;
        let mut prefix = Vec::new();
        key::grants(&mut prefix, kind_of_subject, &subject, namespace);
        Some((wrong, key::grant(&prefix, kind?, role, name).into()))
    })
}

/// The user or group that a subject of a binding names, and whether it does so in error.
fn named_subject<'b>(
    namespace: &str,
    subject: &'b Value,
) -> Option<(bool, SubjectKind, Cow<'b, str>)> {
    let text = |field: &str| subject.str_at(&[field]).unwrap_or_default();
    let (name, own) = (text("name"), text("namespace"));
    match text("kind") {
        "User" => Some((!own.is_empty(), SubjectKind::User, name.into())),
        "Group" => Some((!own.is_empty(), SubjectKind::Group, name.into())),
        "ServiceAccount" => {
            let namespace = if own.is_empty() { namespace } else { own };
            let known = !namespace.is_empty();
            known.then(|| {
                (
                    false,
                    SubjectKind::User,
                    format!("{USER_SERVICE_ACCOUNT_PREFIX}{namespace}:{name}").into(),
                )
            })
        }
        _ => None,
    }
}
