//! DeviceClass: devices that administrators offer under a name.

use quorate_meta::{Cause, Names, Value};

use super::requests;
use crate::registry::Strategy;
use crate::registry::kinds::field::Field;

/// The semantics of classes.
#[derive(Debug)]
pub(super) struct DeviceClass;

impl Strategy for DeviceClass {
    fn counts_generations(&self) -> bool {
        true
    }

    fn validate(&self, _: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let spec = Field::root(object).get("spec");
        requests::selectors(&spec.get("selectors"), &mut causes);
        spec.get("config").items().for_each(|config| requests::configuration(&config, &mut causes));
        causes
    }
}
