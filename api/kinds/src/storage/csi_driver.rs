//! CSIDriver: the capabilities of a CSI volume driver.

use std::collections::HashSet;

use quorate_meta::{Cause, Names, Value};

use crate::field::Field;
use crate::rules;
use quorate_registry::{Part, Strategy};

/// The lower limit of the expiration of a service account token, in seconds.
const MIN_TOKEN_SECONDS: i64 = 600;
/// The upper limit of the expiration of a service account token, in seconds.
const MAX_TOKEN_SECONDS: i64 = 1 << 32;
/// The lower limit of `nodeAllocatableUpdatePeriodSeconds`.
const MIN_PERIOD_SECONDS: i64 = 10;
/// The fields whose change increases the generation.
const COUNTED: [&str; 3] = ["requiresRepublish", "seLinuxMount", "tokenRequests"];

/// The strategy of CSIDriver.
#[derive(Debug)]
pub(super) struct CsiDriver;

impl Strategy for CsiDriver {
    fn checks_structure(&self) -> bool {
        false
    }

    fn unconditional_update(&self) -> bool {
        false
    }

    fn changes_intent(&self, old: &Value, new: &Value) -> bool {
        COUNTED.iter().any(|field| old.at(&["spec", field]) != new.at(&["spec", field]))
    }

    fn validate(&self, _: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let object = Field::root(object);
        rules::csi_driver_name(&object.get("metadata.name"), &mut causes);
        let spec = object.get("spec");
        for mode in spec.get("volumeLifecycleModes").items() {
            if !["Persistent", "Ephemeral"].contains(&mode.text()) {
                let modes = spec.get("volumeLifecycleModes");
                causes.push(Cause::not_supported(
                    modes.path(),
                    mode.text(),
                    &["Persistent", "Ephemeral"],
                ));
            }
        }
        let group_policies = ["File", "None", "ReadWriteOnceWithFSType"];
        rules::optional_one_of(&spec.get("fsGroupPolicy"), &group_policies, &mut causes);
        let mut audiences = HashSet::new();
        for request in spec.get("tokenRequests").items() {
            let (audience, seconds) = (request.get("audience"), request.get("expirationSeconds"));
            if !audiences.insert(audience.text()) {
                causes.push(Cause::duplicate(audience.path(), audience.text()));
            }
            match seconds.int() {
                Some(number) if number < MIN_TOKEN_SECONDS => {
                    causes.push(seconds.invalid("may not specify a duration less than 10 minutes"));
                }
                Some(number) if number > MAX_TOKEN_SECONDS => {
                    causes.push(
                        seconds.invalid("may not specify a duration larger than 2^32 seconds"),
                    );
                }
                _ => {}
            }
        }
        let period = spec.get("nodeAllocatableUpdatePeriodSeconds");
        if period.int().is_some_and(|seconds| seconds < MIN_PERIOD_SECONDS) {
            causes.push(period.invalid("must be greater than or equal to 10 seconds"));
        }
        causes
    }

    fn validate_update(&self, _: &Names, _: Part, old: &Value, new: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let spec = |object, field| Field::root(object).get("spec").get(field);
        let (had, has) = (spec(old, "attachRequired"), spec(new, "attachRequired"));
        if had.value() != has.value() {
            // Kubernetes calls the field so.
            let path = "spec.attachedRequired";
            causes.push(Cause::invalid(path, has.value().clone(), rules::IMMUTABLE));
        }
        let modes = "volumeLifecycleModes";
        rules::immutable(&spec(old, modes), &spec(new, modes), &mut causes);
        causes
    }

    fn warnings(&self, _: &Names, _: Option<&Value>, new: &Value) -> Vec<String> {
        let spec = |field| new.at(&["spec", field]).is_some_and(|value| !value.is_empty());
        if !spec("tokenRequests") || spec("serviceAccountTokenInSecrets") {
            return Vec::new();
        }
        let text = "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible \
                    logging of tokens in volume attributes";
        vec![text.to_owned()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use quorate_meta::Naming;
    use serde_json::{Value as Json, json};

    #[test]
    fn drivers() {
        let check = |name: &str, spec: Json, expect: &[&str]| {
            let object = json!({"metadata": {"name": name}, "spec": spec}).into();
            assert_eq!(shown(&CsiDriver.validate(Naming::Svc.names(), &object)), expect);
        };
        check("x.example.com", json!({}), &[]);
        check("A_b", json!({}), &["Invalid metadata.name"]);
        check(&"x".repeat(64), json!({}), &["TooLong metadata.name"]);
        check(
            "x",
            json!({"volumeLifecycleModes": ["Sometimes"]}),
            &["NotSupported spec.volumeLifecycleModes"],
        );
        check("x", json!({"fsGroupPolicy": "Maybe"}), &["NotSupported spec.fsGroupPolicy"]);
        let twice = json!({"tokenRequests": [{"audience": "a"}, {"audience": "a"}]});
        check("x", twice, &["Duplicate spec.tokenRequests[1].audience"]);
        for seconds in [599, (1i64 << 32) + 1] {
            let request =
                json!({"tokenRequests": [{"audience": "a", "expirationSeconds": seconds}]});
            check("x", request, &["Invalid spec.tokenRequests[0].expirationSeconds"]);
        }
        check(
            "x",
            json!({"nodeAllocatableUpdatePeriodSeconds": 9}),
            &["Invalid spec.nodeAllocatableUpdatePeriodSeconds"],
        );
    }

    #[test]
    fn changes() {
        let check = |old: Json, new: Json, expect: &[&str], counted: bool| {
            let (old, new) = (json!({"spec": old}).into(), json!({"spec": new}).into());
            let causes = CsiDriver.validate_update(Naming::Svc.names(), Part::Main, &old, &new);
            assert_eq!(shown(&causes), expect);
            assert_eq!(CsiDriver.changes_intent(&old, &new), counted);
        };
        check(
            json!({"attachRequired": true}),
            json!({"attachRequired": false}),
            &["Invalid spec.attachedRequired"],
            false,
        );
        check(
            json!({"volumeLifecycleModes": ["Persistent"]}),
            json!({}),
            &["Invalid spec.volumeLifecycleModes"],
            false,
        );
        check(json!({}), json!({"storageCapacity": true}), &[], false);
        check(json!({}), json!({"requiresRepublish": true}), &[], true);
    }

    #[test]
    fn tokens_in_attributes_have_a_warning() {
        let check = |spec: Json, expect: usize| {
            let object = json!({"spec": spec}).into();
            assert_eq!(CsiDriver.warnings(Naming::Svc.names(), None, &object).len(), expect);
        };
        check(json!({}), 0);
        check(json!({"tokenRequests": [{"audience": ""}]}), 1);
        check(
            json!({"tokenRequests": [{"audience": ""}], "serviceAccountTokenInSecrets": false}),
            0,
        );
    }
}
