//! Rules of built-in admission plugins: the writes that each phase of a plugin handles.
//!
//! Invariants: a rule names operations, a resource by its neutral group and plural name, and its
//! subresources, as the rules of webhooks do; a write of the server itself is handled by no
//! built-in plugin.

use quorate_meta::Names;
use quorate_registry::{AdmissionOperation, Attributes};

pub(crate) use AdmissionOperation::{Create, Update};

/// Every resource, or every subresource and the object itself.
pub(crate) const ALL: &str = "*";

/// The writes that one phase of a plugin handles.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rule {
    operations: &'static [AdmissionOperation],
    /// The neutral group; empty for the core group.
    group: &'static str,
    /// The plural name, or [`ALL`] of every group.
    resource: &'static str,
    /// The subresource; empty for the object itself, or [`ALL`].
    subresource: &'static str,
}

impl Rule {
    /// The rule for objects of a resource.
    pub(crate) const fn of(
        operations: &'static [AdmissionOperation],
        group: &'static str,
        resource: &'static str,
    ) -> Self {
        Self { operations, group, resource, subresource: "" }
    }

    /// The same rule for a subresource.
    pub(crate) const fn at(self, subresource: &'static str) -> Self {
        Self { subresource, ..self }
    }

    /// Whether the rule matches a write of a resource of this neutral group.
    pub(crate) fn handles(&self, group: &str, attributes: &Attributes<'_>) -> bool {
        let resource = attributes.target.resource;
        let is_of =
            self.resource == ALL || (self.resource == resource.plural && self.group == group);
        is_of
            && self.operations.contains(&attributes.operation)
            && (self.subresource == ALL || self.subresource == attributes.subresource)
    }
}

/// Whether one of the rules matches a write.
pub(crate) fn handle(rules: &[Rule], names: &Names, attributes: &Attributes<'_>) -> bool {
    let group = names.neutral(&attributes.target.resource.group);
    rules.iter().any(|rule| rule.handles(group, attributes))
}

#[cfg(test)]
mod tests {
    use quorate_kinds::builtin;
    use quorate_meta::Naming;
    use quorate_registry::write::Target;

    use super::*;
    use crate::tests::attributes;

    #[test]
    fn rules_name_writes() {
        let names = Naming::Svc.names();
        let catalogue = builtin::catalogue_of(names);
        let ingress = Rule::of(&[Create], "networking", "ingresses");
        let check =
            |rule: Rule, group: &str, plural: &str, operation, subresource: &str, expect: bool| {
                let resource = catalogue.find(&names.group(group), "v1", plural).unwrap();
                let target = Target { resource, namespace: None, name: "a" };
                let attributes = Attributes { operation, subresource, ..attributes(target) };
                assert_eq!(
                    handle(&[rule], names, &attributes),
                    expect,
                    "{rule:?} {plural} {operation:?} {subresource:?}"
                );
            };
        check(ingress, "networking", "ingresses", Create, "", true);
        check(ingress, "networking", "ingresses", Update, "", false);
        check(ingress, "networking", "ingresses", AdmissionOperation::Delete, "", false);
        check(ingress, "networking", "ingressclasses", Create, "", false);
        check(ingress, "networking", "ingresses", Create, "status", false);
        check(ingress.at("status"), "networking", "ingresses", Create, "status", true);
        check(ingress.at(ALL), "networking", "ingresses", Create, "status", true);
        check(Rule::of(&[Update], "", ALL), "networking", "ingresses", Update, "", true);
        check(Rule::of(&[Create], "", "events"), "events", "events", Create, "", false);
    }
}
