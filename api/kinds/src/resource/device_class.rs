//! DeviceClass: selectors and configuration of devices under a name.

use quorate_meta::{Cause, Names, Value};

use super::device_requests;
use super::device_selector::DeviceSelectors;
use crate::field::Field;
use crate::resource_names;
use crate::rules;
use quorate_registry::Strategy;

/// The strategy of DeviceClass.
#[derive(Debug)]
pub(super) struct DeviceClass {
    selectors: DeviceSelectors,
}

impl DeviceClass {
    pub(super) const fn new() -> Self {
        Self { selectors: DeviceSelectors::new() }
    }
}

impl Strategy for DeviceClass {
    fn has_declared_rules(&self) -> bool {
        true
    }

    fn counts_generations(&self) -> bool {
        true
    }

    fn validate(&self, names: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let spec = Field::root(object).get("spec");
        device_requests::selectors(&spec.get("selectors"), &mut causes);
        self.selectors.check(names, &spec.get("selectors"), &mut causes);
        let configurations = spec.get("config");
        let max = device_requests::MAX_CONFIGURATIONS;
        if rules::at_most_items(&configurations, max, &mut causes) {
            configurations
                .items()
                .for_each(|config| device_requests::configuration(&config, &mut causes));
        }
        let resource = spec.get("extendedResourceName");
        if resource.is_set() && !resource_names::is_extended(names, resource.text()) {
            causes.push(resource.invalid("must be a valid extended resource name"));
        }
        causes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use quorate_meta::Naming;
    use serde_json::json;

    #[test]
    fn resources_of_a_class() {
        let check = |resource: serde_json::Value, expect: &[&str]| {
            let object = json!({"spec": {"extendedResourceName": resource}}).into();
            assert_eq!(shown(&DeviceClass::new().validate(Naming::Svc.names(), &object)), expect);
        };
        check(json!(null), &[]);
        check(json!("example.com/gpu"), &[]);
        for bad in ["", "gpu", "svc.io/gpu", "requests.example.com/gpu"] {
            check(json!(bad), &["Invalid spec.extendedResourceName"]);
        }
    }
}
