//! Quota scopes: the objects that a ResourceQuota applies to, which are those in all of its scopes.
//!
//! Invariants: a scope that is not defined for a kind contains none of its objects, so a quota with
//! scopes only counts pods and claims; a quota without scopes applies to every object.

use quorate_meta::Value;

use super::counted::Kind;
use super::pods;

/// One scope, or one requirement of a scope selector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scope {
    name: String,
    operator: String,
    values: Vec<String>,
}

impl Scope {
    /// The scopes of a quota's spec.
    pub(super) fn of(spec: &Value) -> Vec<Self> {
        let plain = spec.get("scopes").and_then(Value::as_list).unwrap_or_default();
        let plain = plain.iter().filter_map(Value::as_str).map(|name| Self {
            name: name.to_owned(),
            operator: "Exists".to_owned(),
            values: Vec::new(),
        });
        let terms = spec
            .at(&["scopeSelector", "matchExpressions"])
            .and_then(Value::as_list)
            .unwrap_or_default();
        let terms = terms.iter().map(|term| {
            let text = |field: &str| term.str_at(&[field]).unwrap_or_default().to_owned();
            let values = term.get("values").and_then(Value::as_list).unwrap_or_default();
            let values = values.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            Self { name: text("scopeName"), operator: text("operator"), values }
        });
        plain.chain(terms).collect()
    }

    /// Whether an object is in the scope.
    pub(super) fn chooses(&self, kind: Kind, object: &Value) -> bool {
        match (kind, self.name.as_str()) {
            (Kind::Pods, "Terminating") => pods::has_deadline(object),
            (Kind::Pods, "NotTerminating") => !pods::has_deadline(object),
            (Kind::Pods, "BestEffort") => pods::is_best_effort(object),
            (Kind::Pods, "NotBestEffort") => !pods::is_best_effort(object),
            (Kind::Pods, "CrossNamespacePodAffinity") => pods::reaches_out(object),
            (Kind::Pods, "PriorityClass") => self.has(text(object, &["spec", "priorityClassName"])),
            (Kind::Claims, "VolumeAttributesClass") => {
                let mut classes = volume_classes(object).peekable();
                if classes.peek().is_none() {
                    self.has(None)
                } else {
                    classes.any(|class| self.has(Some(class)))
                }
            }
            _ => false,
        }
    }

    /// Whether the requirement selects objects of this class.
    fn has(&self, class: Option<&str>) -> bool {
        let listed = class.map(|class| self.values.iter().any(|value| value == class));
        match self.operator.as_str() {
            "In" => listed == Some(true),
            "NotIn" => listed != Some(true),
            "Exists" => class.is_some(),
            "DoesNotExist" => class.is_none(),
            _ => false,
        }
    }
}

/// The VolumeAttributesClasses that a claim has, requests, or is being changed to.
fn volume_classes(claim: &Value) -> impl Iterator<Item = &str> {
    const PLACES: [&[&str]; 3] = [
        &["spec", "volumeAttributesClassName"],
        &["status", "currentVolumeAttributesClassName"],
        &["status", "modifyVolumeStatus", "targetVolumeAttributesClassName"],
    ];
    PLACES.into_iter().filter_map(move |place| text(claim, place))
}

/// A text that is not empty.
fn text<'v>(object: &'v Value, place: &[&str]) -> Option<&'v str> {
    object.str_at(place).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(spec: serde_json::Value, kind: Kind, object: serde_json::Value, expect: bool) {
        let (scopes, object) = (Scope::of(&spec.clone().into()), Value::from(object));
        let chosen = scopes.iter().all(|scope| scope.chooses(kind, &object));
        assert_eq!(chosen, expect, "{spec} of {object:?}");
    }

    fn term(scope: &str, operator: &str, values: &[&str]) -> serde_json::Value {
        let term = json!({"scopeName": scope, "operator": operator, "values": values});
        json!({"scopeSelector": {"matchExpressions": [term]}})
    }

    #[test]
    fn scopes_of_pods() {
        let scopes = |names: &[&str]| json!({ "scopes": names });
        let (plain, deadline) = (json!({}), json!({"spec": {"activeDeadlineSeconds": 0}}));
        check(json!({}), Kind::Pods, plain.clone(), true);
        check(scopes(&["Terminating"]), Kind::Pods, deadline.clone(), true);
        check(scopes(&["Terminating"]), Kind::Pods, plain.clone(), false);
        check(scopes(&["NotTerminating"]), Kind::Pods, plain.clone(), true);
        check(scopes(&["NotTerminating"]), Kind::Pods, deadline.clone(), false);
        let best =
            json!({"spec": {"activeDeadlineSeconds": 5}, "status": {"qosClass": "BestEffort"}});
        check(scopes(&["BestEffort"]), Kind::Pods, best.clone(), true);
        check(scopes(&["BestEffort", "Terminating"]), Kind::Pods, best.clone(), true);
        check(scopes(&["BestEffort", "NotTerminating"]), Kind::Pods, best.clone(), false);
        check(scopes(&["NotBestEffort"]), Kind::Pods, best, false);
        check(
            scopes(&["NotBestEffort"]),
            Kind::Pods,
            json!({"status": {"qosClass": "Burstable"}}),
            true,
        );
        check(scopes(&["VolumeAttributesClass"]), Kind::Pods, plain, false);
    }

    #[test]
    fn classes_of_pods() {
        let (high, none) = (json!({"spec": {"priorityClassName": "high"}}), json!({"spec": {}}));
        let check = |operator: &str, values: &[&str], expect: [bool; 2]| {
            let objects = [&high, &none];
            for (object, expect) in objects.into_iter().zip(expect) {
                check(term("PriorityClass", operator, values), Kind::Pods, object.clone(), expect);
            }
        };
        check("In", &["low", "high"], [true, false]);
        check("In", &["low"], [false, false]);
        check("NotIn", &["high"], [false, true]);
        check("NotIn", &["low"], [true, true]);
        check("Exists", &[], [true, false]);
        check("DoesNotExist", &[], [false, true]);
        check("Near", &["high"], [false, false]);
    }

    #[test]
    fn classes_of_claims() {
        let claim = json!({"spec": {"volumeAttributesClassName": "gold"},
            "status": {"modifyVolumeStatus": {"targetVolumeAttributesClassName": "silver"}}});
        let check = |operator: &str, values: &[&str], claim: &serde_json::Value, expect: bool| {
            check(
                term("VolumeAttributesClass", operator, values),
                Kind::Claims,
                claim.clone(),
                expect,
            );
        };
        for class in ["gold", "silver"] {
            check("In", &[class], &claim, true);
        }
        check("In", &["bronze"], &claim, false);
        check("NotIn", &["gold"], &claim, true);
        check("NotIn", &["gold", "silver"], &claim, false);
        check("Exists", &[], &claim, true);
        check("DoesNotExist", &[], &json!({}), true);
        check("NotIn", &["gold"], &json!({}), true);
        check("Exists", &[], &json!({"spec": {"volumeAttributesClassName": ""}}), false);
    }

    #[test]
    fn everything_else_has_no_scope() {
        for kind in [Kind::Services, Kind::DeviceClaims, Kind::Others] {
            check(json!({}), kind, json!({}), true);
            check(json!({"scopes": ["NotTerminating"]}), kind, json!({}), false);
            check(term("PriorityClass", "DoesNotExist", &[]), kind, json!({}), false);
        }
        check(json!({"scopes": ["NotBestEffort"]}), Kind::Claims, json!({}), false);
    }
}
