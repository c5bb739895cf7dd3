//! HorizontalPodAutoscaler v1: its defaults and checks are those of the v2 form.

use quorate_meta::{Cause, Names, Value};

use super::conversion::HorizontalPodAutoscalerConversion;
use super::horizontal_pod_autoscaler::HorizontalPodAutoscaler as Stored;
use quorate_registry::{Conversion, Part, Strategy};

/// The strategy of HorizontalPodAutoscaler v1.
#[derive(Debug)]
pub(super) struct HorizontalPodAutoscalerV1;

impl Strategy for HorizontalPodAutoscalerV1 {
    fn checks_structure(&self) -> bool {
        false
    }

    fn ignored(&self, part: Part) -> &'static [&'static str] {
        Stored.ignored(part)
    }

    fn default(&self, names: &Names, object: &mut Value) {
        let convert = HorizontalPodAutoscalerConversion::new(names);
        convert.to_stored(object);
        convert.to_served(object);
    }

    fn prepare_create(&self, names: &Names, object: &mut Value) {
        let convert = HorizontalPodAutoscalerConversion::new(names);
        convert.to_stored(object);
        Stored.prepare_create(names, object);
        convert.to_served(object);
    }

    fn prepare_update(&self, names: &Names, part: Part, old: &Value, new: &mut Value) {
        let convert = HorizontalPodAutoscalerConversion::new(names);
        let mut old = old.clone();
        convert.to_stored(&mut old);
        convert.to_stored(new);
        Stored.prepare_update(names, part, &old, new);
        convert.to_served(new);
    }

    fn validate(&self, names: &Names, object: &Value) -> Vec<Cause> {
        let mut stored = object.clone();
        HorizontalPodAutoscalerConversion::new(names).to_stored(&mut stored);
        Stored.validate(names, &stored)
    }
}
