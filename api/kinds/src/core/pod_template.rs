//! PodTemplate: a pod template as an object.

use quorate_meta::{Cause, Names, Value};

use super::pod::{template, warnings};
use crate::field::Field;
use quorate_registry::{Disabled, Strategy};

const DISABLED: &[Disabled] = &[template::disabled("template.spec")];

/// The strategy of PodTemplate.
#[derive(Debug)]
pub(super) struct PodTemplate;

impl Strategy for PodTemplate {
    fn checks_structure(&self) -> bool {
        false
    }

    fn counts_generations(&self) -> bool {
        true
    }

    fn default(&self, _: &Names, object: &mut Value) {
        template::default(object, &["template"]);
    }

    fn disabled(&self) -> &'static [Disabled] {
        DISABLED
    }

    fn validate(&self, names: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        template::check(names, &Field::root(object).get("template"), &mut causes);
        causes
    }

    fn warnings(&self, names: &Names, old: Option<&Value>, new: &Value) -> Vec<String> {
        warnings::of_template(names, old, new, "template")
    }
}
