//! What an actor does with admission policies: one for each color, which lets no object become of
//! it, and one binding for each of them.
//!
//! An object that has the color already may be changed, so that finalizers can always be taken away.

use rand::Rng;
use serde_json::{Value, json};

use super::choice;
use crate::api::{ApiRequest, ResourceKind, STAMP, Verb};
use crate::workload::api::{Actor, COLORS};

/// What the name of a policy and its binding begins with, before the color.
const PREFIX: &str = "no-";
/// The resources that policies are about.
const GUARDED: [ResourceKind; 3] =
    [ResourceKind::ConfigMaps, ResourceKind::Secrets, ResourceKind::Services];
/// Actions of bindings: some refuse.
const ACTIONS: [&str; 3] = ["Deny", "Deny", "Warn"];

/// The next request of an actor.
pub(crate) fn choose(actor: &mut Actor) -> ApiRequest {
    if actor.rng.random_ratio(3, 5) {
        return choice::choose(actor);
    }
    let color = actor.color();
    let name = format!("{PREFIX}{color}");
    match actor.rng.random_range(0..12) {
        0..3 => actor.create_rule(ResourceKind::Policies, &name, |_| policy_spec(color)),
        3 => actor.delete_of((ResourceKind::Policies, String::new(), name)),
        4..8 => actor.create_rule(
            ResourceKind::PolicyBindings,
            &name,
            |actor| json!({"policyName": name, "validationActions": [actor.action()]}),
        ),
        8..10 => actor.rebind(&name),
        _ => actor.delete_of((ResourceKind::PolicyBindings, String::new(), name)),
    }
}

/// The color that the policy of a name keeps objects from.
pub(crate) fn color_of(policy: &str) -> Option<&'static str> {
    let color = policy.strip_prefix(PREFIX)?;
    COLORS.into_iter().find(|known| *known == color)
}

fn policy_spec(color: &str) -> Value {
    let resources: Vec<_> = GUARDED.iter().map(|kind| kind.plural()).collect();
    let rule = json!({
        "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"],
        "resources": resources,
    });
    let is = |object: &str| format!("{object}.metadata.?labels.?color.orValue('') == '{color}'");
    let expression = format!("!({}) || (oldObject != null && {})", is("object"), is("oldObject"));
    json!({
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": expression}],
    })
}

impl Actor {
    fn action(&mut self) -> &'static str {
        ACTIONS[self.rng.random_range(0..ACTIONS.len())]
    }

    /// A request that creates a policy or binding.
    fn create_rule(
        &mut self,
        kind: ResourceKind,
        name: &str,
        spec: impl FnOnce(&mut Self) -> Value,
    ) -> ApiRequest {
        let stamp = self.stamp();
        let spec = spec(self);
        ApiRequest {
            body: Some(json!({
                "apiVersion": format!("{}/v1", kind.group()),
                "kind": kind.name(),
                "metadata": {"name": name, "annotations": {STAMP: stamp}},
                "spec": spec,
            })),
            stamp: Some(stamp),
            ..ApiRequest::new(Verb::Create, kind, "", name)
        }
    }

    /// A request that changes what a binding does.
    fn rebind(&mut self, name: &str) -> ApiRequest {
        let stamp = self.stamp();
        let spec = json!({"validationActions": [self.action()]});
        ApiRequest {
            body: Some(json!({"metadata": {"annotations": {STAMP: stamp}}, "spec": spec})),
            stamp: Some(stamp),
            ..ApiRequest::new(Verb::MergePatch, ResourceKind::PolicyBindings, "", name)
        }
    }
}
