//! ServiceCIDR: ranges of cluster IPs for Services (KEP-1880).

use quorate_meta::{Cause, Names, Value};

use crate::field::Field;
use crate::rules;
use quorate_meta::net::{NOT_A_RANGE, Range};
use quorate_registry::{Part, Strategy};

/// Ranges of an object, at most: one of each IP family.
const MAX_RANGES: usize = 2;

/// The strategy of ServiceCIDR.
#[derive(Debug)]
pub(super) struct ServiceCidr;

impl Strategy for ServiceCidr {
    fn checks_structure(&self) -> bool {
        false
    }

    fn has_status(&self) -> bool {
        true
    }

    fn status_keeps_metadata(&self) -> bool {
        true
    }

    fn validate(&self, _: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let cidrs = Field::root(object).get("spec.cidrs");
        if cidrs.is_empty() {
            causes.push(cidrs.required("at least one CIDR required"));
            return causes;
        }
        if cidrs.items().len() > MAX_RANGES {
            causes.push(cidrs.invalid("may only hold up to 2 values"));
            return causes;
        }
        let mut versions = Vec::new();
        for cidr in cidrs.items() {
            match Range::parse(cidr.text()) {
                Some(range) if range.to_string() != cidr.text() => {
                    causes.push(
                        cidr.invalid(&format!(
                            "must be in canonical form ({:?})",
                            range.to_string()
                        )),
                    );
                }
                Some(range) => versions.push(range.is_v4()),
                None => causes.push(cidr.invalid(NOT_A_RANGE)),
            }
        }
        if versions.len() == 2 && versions[0] == versions[1] {
            causes.push(cidrs.invalid("may specify no more than one IP for each IP family"));
        }
        causes
    }

    fn validate_update(&self, _: &Names, part: Part, old: &Value, new: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        if part != Part::Main {
            return causes;
        }
        let cidrs = |object| Field::root(object).get("spec.cidrs");
        let (old, new) = (cidrs(old), cidrs(new));
        let list = |field: &Field<'_>| field.value().as_list().unwrap_or_default().to_vec();
        let (before, after) = (list(&old), list(&new));
        // A range of the other IP family may be added.
        let grows = before.len() == 1 && after.len() == 2 && before[0] == after[0];
        if !grows {
            rules::immutable(&old, &new, &mut causes);
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
    fn ranges() {
        let check = |cidrs: &[&str], expect: &[&str]| {
            let causes = ServiceCidr
                .validate(Naming::Svc.names(), &json!({"spec": {"cidrs": cidrs}}).into());
            assert_eq!(shown(&causes), expect, "{cidrs:?}");
        };
        check(&["10.0.0.0/24"], &[]);
        check(&["10.0.0.0/24", "fd00::/112"], &[]);
        check(&[], &["Required spec.cidrs"]);
        check(&["10.0.0.0/24", "10.0.1.0/24"], &["Invalid spec.cidrs"]);
        check(&["a", "b", "c"], &["Invalid spec.cidrs"]);
        check(&["10.0.0.1/24"], &["Invalid spec.cidrs[0]"]);
        check(&["x"], &["Invalid spec.cidrs[0]"]);
    }

    #[test]
    fn ranges_stay_but_for_one_that_is_added() {
        let check = |old: &[&str], new: &[&str], expect: usize| {
            let object = |cidrs: &[&str]| Value::from(json!({"spec": {"cidrs": cidrs}}));
            let causes = ServiceCidr.validate_update(
                Naming::Svc.names(),
                Part::Main,
                &object(old),
                &object(new),
            );
            assert_eq!(causes.len(), expect);
        };
        check(&["10.0.0.0/24"], &["10.0.0.0/24"], 0);
        check(&["10.0.0.0/24"], &["10.0.0.0/24", "fd00::/112"], 0);
        check(&["10.0.0.0/24"], &["fd00::/112", "10.0.0.0/24"], 1);
        check(&["10.0.0.0/24"], &["10.0.0.0/16"], 1);
    }
}
