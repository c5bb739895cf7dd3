//! Resources that quotas count: every object by `count/PLURAL.GROUP`, some core resources also by
//! their plural name, and for pods, services and claims what they use.
//!
//! Invariants: Events and virtual resources are counted by no quota. What an object uses follows
//! from the object alone, and for a pod also from the time: a pod that should have been gone uses
//! nothing ([`super::pods`]).

use quorate_meta::{Names, Quantity, Time, Value};
use quorate_store::Entry;

use super::{pods, usage};
use crate::plugins::amounts::Amounts;
use quorate_registry::{Attributes, Part, Resource, stored_codec};

/// Core resources that are also counted by their plural name.
const ALIASES: [&str; 4] = ["configmaps", "replicationcontrollers", "resourcequotas", "secrets"];

/// How the objects of a resource are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Pods,
    Services,
    /// A PersistentVolumeClaim.
    Claims,
    DeviceClaims,
    /// By the number of objects only.
    Others,
}

/// A resource whose objects are counted.
#[derive(Debug, Clone)]
pub struct Counted {
    names: &'static Names,
    kind: Kind,
    /// The resource name that each object counts as.
    count: String,
    alias: Option<&'static str>,
}

impl Counted {
    /// How a resource is counted; `None` when no quota counts it.
    pub fn of(names: &'static Names, resource: &Resource) -> Option<Self> {
        let (group, plural) = (names.neutral(&resource.group), resource.plural.as_str());
        if !resource.namespaced
            || !resource.stored
            || matches!((group, plural), ("" | "events", "events"))
        {
            return None;
        }
        let kind = match (group, plural) {
            ("", "pods") => Kind::Pods,
            ("", "services") => Kind::Services,
            ("", "persistentvolumeclaims") => Kind::Claims,
            ("resource", "resourceclaims") => Kind::DeviceClaims,
            _ => Kind::Others,
        };
        let alias = ALIASES.into_iter().find(|alias| group.is_empty() && *alias == plural);
        Some(Self { names, kind, count: format!("count/{}", resource.qualified()), alias })
    }

    /// Whether objects of the resource use this amount.
    pub(super) fn measures(&self, name: &str) -> bool {
        name == self.count
            || match self.kind {
                Kind::Pods => pods::measures(self.names, name),
                Kind::Services => {
                    matches!(name, "services" | "services.loadbalancers" | "services.nodeports")
                }
                Kind::Claims => [usage::CLAIMS, usage::STORAGE].into_iter().any(|own| {
                    let before = name.strip_suffix(own);
                    before.is_some_and(|class| {
                        class.is_empty() || class.ends_with(&usage::of_storage_class(self.names))
                    })
                }),
                Kind::DeviceClaims => name.ends_with(&usage::of_device_class(self.names)),
                Kind::Others => self.alias == Some(name),
            }
    }

    /// Whether an object can use more after an update than before.
    pub(super) fn may_grow(&self, attributes: &Attributes<'_>, new: &Value) -> bool {
        let Some(old) = attributes.old else {
            return true;
        };
        match (self.kind, attributes.part) {
            // The update may move the object into another scope.
            (Kind::Pods, Some(Part::Main)) => {
                pods::has_deadline(old) != pods::has_deadline(new)
                    || pods::reaches_out(old) != pods::reaches_out(new)
            }
            (Kind::Services | Kind::Claims | Kind::DeviceClaims, Some(Part::Main))
            | (Kind::Claims, Some(Part::Status))
            | (Kind::Pods, Some(Part::Resize)) => true,
            _ => false,
        }
    }

    /// What an object must set before a quota of these amounts can count it; `None` when all is
    /// set.
    pub(super) fn open_question(&self, counted: &Amounts, object: &Value) -> Option<String> {
        if self.kind == Kind::Pods { pods::open_question(counted, object) } else { None }
    }

    /// What an object uses at this time.
    pub(super) fn usage(&self, object: &Value, now: Time) -> Amounts {
        let mut used = match self.kind {
            Kind::Pods => pods::usage(self.names, object, now),
            Kind::Services => usage::service(object),
            Kind::Claims => usage::claim(self.names, object),
            Kind::DeviceClaims => usage::device_claim(self.names, object),
            Kind::Others => self
                .alias
                .map(|alias| (alias.to_owned(), Quantity::from_units(1)))
                .into_iter()
                .collect(),
        };
        used.insert(self.count.clone(), Quantity::from_units(1));
        used
    }

    /// The fields of a stored object that decide what it uses. An object that cannot be read still
    /// counts as one.
    pub fn read(&self, resource: &Resource, entry: &Entry) -> Value {
        if self.kind == Kind::Others {
            Value::Null
        } else {
            stored_codec::decode(resource, entry).unwrap_or_default()
        }
    }

    pub(super) fn kind(&self) -> Kind {
        self.kind
    }
}

#[cfg(test)]
pub(super) mod testing {
    use quorate_meta::Naming;

    use super::Counted;
    use quorate_kinds::builtin;

    /// How a resource of version `v1` is counted, by its neutral names.
    pub(in crate::plugins::quota) fn counted(group: &str, plural: &str) -> Option<Counted> {
        let names = Naming::Svc.names();
        let catalogue = builtin::catalogue_of(names);
        Counted::of(names, catalogue.find(group, "v1", plural).expect("a resource that is served"))
    }
}

#[cfg(test)]
mod tests {
    use super::testing::counted;
    use super::*;
    use quorate_meta::Naming;
    use serde_json::json;

    #[test]
    fn what_is_counted() {
        let check = |group: &str, plural: &str, expect: Option<&str>| {
            assert_eq!(
                counted(group, plural).map(|counted| counted.count).as_deref(),
                expect,
                "{plural}"
            );
        };
        check("", "pods", Some("count/pods"));
        check("apps", "deployments", Some("count/deployments.apps"));
        check("networking.svc.io", "ingresses", Some("count/ingresses.networking.svc.io"));
        check(
            "autoscaling",
            "horizontalpodautoscalers",
            Some("count/horizontalpodautoscalers.autoscaling"),
        );
        check("", "events", None);
        check("events.svc.io", "events", None);
        check("", "nodes", None);
        check("authorization.svc.io", "localsubjectaccessreviews", None);
    }

    #[test]
    fn amounts_by_resource() {
        let check = |group: &str, plural: &str, names: &[&str], others: &[&str]| {
            let counted = counted(group, plural).unwrap();
            assert!(names.iter().all(|name| counted.measures(name)), "{names:?}");
            assert!(!others.iter().any(|name| counted.measures(name)), "{others:?}");
        };
        check(
            "",
            "secrets",
            &["secrets", "count/secrets"],
            &["pods", "configmaps", "count/configmaps"],
        );
        check(
            "apps",
            "deployments",
            &["count/deployments.apps"],
            &["deployments", "count/deployments"],
        );
        check(
            "",
            "pods",
            &["pods", "count/pods", "requests.cpu"],
            &["requests.storage", "secrets"],
        );
        check(
            "",
            "services",
            &["services", "count/services", "services.nodeports"],
            &["services.other"],
        );
        let claims = ["persistentvolumeclaims", "requests.storage", "count/persistentvolumeclaims"];
        let of_class = "gold.storageclass.storage.svc.io/requests.storage";
        check(
            "",
            "persistentvolumeclaims",
            &[&claims[..], &[of_class]].concat(),
            &["x/requests.storage", "storage"],
        );
        let devices =
            ["count/resourceclaims.resource.svc.io", "gpu.deviceclass.resource.svc.io/devices"];
        check("resource.svc.io", "resourceclaims", &devices, &["resourceclaims"]);
    }

    #[test]
    fn objects_count_as_one() {
        let check = |plural: &str, expect: &[&str]| {
            let used = counted("", plural).unwrap().usage(&json!({}).into(), Time::from_ms(0));
            let units: Vec<_> = used.iter().filter(|(_, amount)| !amount.is_zero()).collect();
            assert!(units.iter().all(|(_, amount)| **amount == Quantity::from_units(1)));
            assert_eq!(units.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), expect);
        };
        check("secrets", &["count/secrets", "secrets"]);
        check("endpoints", &["count/endpoints"]);
        check("pods", &["count/pods", "pods"]);
        check("services", &["count/services", "services"]);
        check(
            "persistentvolumeclaims",
            &["count/persistentvolumeclaims", "persistentvolumeclaims"],
        );
    }

    #[test]
    fn writes_that_may_use_more() {
        use crate::tests::attributes;

        let catalogue = quorate_kinds::builtin::catalogue_of(Naming::Svc.names());
        let check = |plural: &str,
                     part: Part,
                     old: Option<serde_json::Value>,
                     new: serde_json::Value,
                     expect: bool| {
            let resource = catalogue.find("", "v1", plural).unwrap();
            let target =
                quorate_registry::write::Target { resource, namespace: Some("a"), name: "b" };
            let (old, new) = (old.map(Value::from), Value::from(new));
            let attributes =
                Attributes { part: Some(part), old: old.as_ref(), ..attributes(target) };
            let counted = Counted::of(Naming::Svc.names(), resource).unwrap();
            assert_eq!(counted.may_grow(&attributes, &new), expect, "{plural} {part:?}");
        };
        let deadline = || json!({"spec": {"activeDeadlineSeconds": 1}});
        check("secrets", Part::Main, None, json!({}), true);
        check("secrets", Part::Main, Some(json!({})), json!({}), false);
        check("pods", Part::Main, Some(json!({})), json!({}), false);
        check("pods", Part::Main, Some(json!({})), deadline(), true);
        let term = json!({"topologyKey": "k", "namespaces": ["b"]});
        let near =
            json!({"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}});
        let reaching = json!({"spec": {"affinity": near}});
        check("pods", Part::Main, Some(json!({})), reaching.clone(), true);
        check("pods", Part::Main, Some(reaching.clone()), reaching, false);
        check("pods", Part::Binding, Some(json!({})), json!({}), false);
        check("services", Part::Main, Some(json!({})), json!({}), true);
        check("services", Part::Status, Some(json!({})), json!({}), false);
        check("persistentvolumeclaims", Part::Status, Some(json!({})), json!({}), true);
    }
}
