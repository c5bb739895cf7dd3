//! CSIStorageCapacity: the available storage of a storage class in a topology segment.

use quorate_meta::{Cause, Names, Value, name};

use crate::core::pod::node_labels;
use crate::field::Field;
use crate::rules;
use quorate_registry::{Part, Strategy};

/// The strategy of CSIStorageCapacity.
#[derive(Debug)]
pub(super) struct CsiStorageCapacity;

impl Strategy for CsiStorageCapacity {
    fn checks_structure(&self) -> bool {
        false
    }

    fn unconditional_update(&self) -> bool {
        false
    }

    fn validate(&self, _: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let object = Field::root(object);
        rules::selector(&object.get("nodeTopology"), &mut causes);
        let class = object.get("storageClassName");
        let wrong = name::dns_subdomain(class.text());
        causes.extend(wrong.iter().map(|why| Cause::invalid(class.path(), class.text(), why)));
        let sizes = [object.get("capacity"), object.get("maximumVolumeSize")];
        if let Some(size) = sizes.iter().find(|size| rules::quantity(size).is_negative()) {
            causes.push(size.invalid("must be greater than or equal to 0"));
        }
        causes
    }

    fn warnings(&self, names: &Names, _: Option<&Value>, new: &Value) -> Vec<String> {
        let topology = Field::root(new).get("nodeTopology");
        let mut warnings = Vec::new();
        node_labels::of_term(names, &topology, &mut warnings);
        let path = topology.path();
        for (key, _) in topology.get("matchLabels").entries() {
            let why = node_labels::deprecation(names, key);
            warnings.extend(why.map(|why| format!("{path}.matchLabels.{key}: {why}")));
        }
        warnings
    }

    fn validate_update(&self, _: &Names, _: Part, old: &Value, new: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        for field in ["nodeTopology", "storageClassName"] {
            rules::immutable(
                &Field::root(old).get(field),
                &Field::root(new).get(field),
                &mut causes,
            );
        }
        causes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use quorate_meta::Naming;
    use serde_json::{Value as Json, json};

    #[test]
    fn capacities() {
        let check = |object: Json, expect: &[&str]| {
            assert_eq!(
                shown(&CsiStorageCapacity.validate(Naming::Svc.names(), &object.into())),
                expect
            );
        };
        check(
            json!({"storageClassName": "slow", "capacity": "0", "maximumVolumeSize": "1Gi"}),
            &[],
        );
        check(json!({}), &["Invalid storageClassName"]);
        check(json!({"storageClassName": "A b"}), &["Invalid storageClassName"]);
        check(
            json!({"storageClassName": "a", "capacity": "-1", "maximumVolumeSize": "-1"}),
            &["Invalid capacity"],
        );
        check(
            json!({"storageClassName": "a", "maximumVolumeSize": "-1"}),
            &["Invalid maximumVolumeSize"],
        );
        let topology = json!({"matchLabels": {"a b": "c"}});
        check(
            json!({"storageClassName": "a", "nodeTopology": topology}),
            &["Invalid nodeTopology.matchLabels"],
        );
    }

    #[test]
    fn class_and_place_stay() {
        let check = |old: Json, new: Json, expect: &[&str]| {
            let causes = CsiStorageCapacity.validate_update(
                Naming::Svc.names(),
                Part::Main,
                &old.into(),
                &new.into(),
            );
            assert_eq!(shown(&causes), expect);
        };
        check(
            json!({"storageClassName": "a"}),
            json!({"storageClassName": "a", "capacity": "1"}),
            &[],
        );
        check(
            json!({"storageClassName": "a"}),
            json!({"storageClassName": "b"}),
            &["Invalid storageClassName"],
        );
        let topology = json!({"matchLabels": {"zone": "b"}});
        check(json!({}), json!({"nodeTopology": topology}), &["Invalid nodeTopology"]);
    }
}
