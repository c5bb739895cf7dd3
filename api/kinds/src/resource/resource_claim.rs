//! ResourceClaim and ResourceClaimTemplate: requests for devices, and a template of such a claim.

use quorate_meta::{Cause, Names, Value};

use super::device_requests;
use super::device_selector::DeviceSelectors;
use crate::field::Field;
use crate::resource::resource_claim_status;
use crate::rules;
use quorate_registry::{GatedFields, Part, Strategy};

/// The strategy of ResourceClaim.
#[derive(Debug)]
pub(super) struct ResourceClaim {
    selectors: DeviceSelectors,
}

impl ResourceClaim {
    pub(super) const fn new() -> Self {
        Self { selectors: DeviceSelectors::new() }
    }
}

impl Strategy for ResourceClaim {
    fn has_declared_rules(&self) -> bool {
        true
    }

    fn has_status(&self) -> bool {
        true
    }

    fn status_keeps_metadata(&self) -> bool {
        true
    }

    fn gated_fields(&self) -> &'static [GatedFields] {
        const GATED: &[GatedFields] = &[device_requests::gated("spec.devices")];
        GATED
    }

    fn default(&self, _: &Names, object: &mut Value) {
        if let Some(spec) = object.get_mut("spec") {
            device_requests::default_counts(spec);
        }
    }

    /// The specification is immutable, so it is only checked here.
    fn validate_create(&self, names: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let devices = Field::root(object).get("spec.devices");
        device_requests::devices(&devices, &mut causes);
        self.selectors.check_requests(names, &devices.get("requests"), &mut causes);
        causes
    }

    fn validate_update(&self, _: &Names, part: Part, old: &Value, new: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        spec_stays(old, new, &mut causes);
        if part == Part::Status {
            resource_claim_status::check(&Field::root(old), &Field::root(new), &mut causes);
        }
        causes
    }
}

/// The strategy of ResourceClaimTemplate.
#[derive(Debug)]
pub(super) struct ResourceClaimTemplate {
    selectors: DeviceSelectors,
}

impl ResourceClaimTemplate {
    pub(super) const fn new() -> Self {
        Self { selectors: DeviceSelectors::new() }
    }
}

impl Strategy for ResourceClaimTemplate {
    fn gated_fields(&self) -> &'static [GatedFields] {
        const GATED: &[GatedFields] = &[device_requests::gated("spec.spec.devices")];
        GATED
    }

    fn default(&self, _: &Names, object: &mut Value) {
        if let Some(spec) = object.at_mut(&["spec", "spec"]) {
            device_requests::default_counts(spec);
        }
    }

    fn validate_create(&self, names: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let spec = Field::root(object).get("spec");
        rules::template_metadata(&spec.get("metadata"), &mut causes);
        let devices = spec.get("spec.devices");
        device_requests::devices(&devices, &mut causes);
        self.selectors.check_requests(names, &devices.get("requests"), &mut causes);
        causes
    }

    fn validate_update(&self, _: &Names, _: Part, old: &Value, new: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        spec_stays(old, new, &mut causes);
        causes
    }
}

fn spec_stays(old: &Value, new: &Value, causes: &mut Vec<Cause>) {
    rules::immutable(&Field::root(old).get("spec"), &Field::root(new).get("spec"), causes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use quorate_meta::Naming;
    use serde_json::{Value as Json, json};

    #[test]
    fn the_spec_stays() {
        let check = |old: Json, new: Json, expect: &[&str]| {
            let causes = ResourceClaim::new().validate_update(
                Naming::Svc.names(),
                Part::Main,
                &old.into(),
                &new.into(),
            );
            assert_eq!(shown(&causes), expect);
        };
        let spec = |name: &str| json!({"spec": {"devices": {"requests": [{"name": name}]}}});
        check(spec("a"), spec("a"), &[]);
        check(spec("a"), spec("b"), &["Invalid spec"]);
    }

    #[test]
    fn claims_have_labels_and_annotations_of_their_template() {
        let check = |metadata: Json, expect: &[&str]| {
            let object = json!({"spec": {"metadata": metadata, "spec": {}}}).into();
            assert_eq!(
                shown(&ResourceClaimTemplate::new().validate_create(Naming::Svc.names(), &object)),
                expect
            );
        };
        check(json!({"labels": {"a": "b"}}), &[]);
        check(
            json!({"name": "x", "labels": {"a b": "c"}}),
            &["Invalid spec.metadata.labels", "Forbidden spec.metadata.name"],
        );
    }
}
