//! Job: pods that run to completion.
//!
//! Invariant: unless `manualSelector` is set, the server writes the job's UID into the labels of
//! the template and into the selector, so that they match no other job's pods.

use quorate_meta::{Cause, LabelSelector, Map, Names, Value, name};

use super::{job_spec, job_status, job_update};
use crate::core::pod::{template, warnings};
use crate::field::Field;
use crate::rules;
use quorate_registry::Propagation;
use quorate_registry::strategy::plain_field;
use quorate_registry::{GatedFields, Part, Strategy};

pub(super) const TEMPLATE: [&str; 2] = ["spec", "template"];
const TEMPLATE_LABELS: [&str; 4] = ["spec", "template", "metadata", "labels"];
/// The default of `backoffLimit`, without and with `backoffLimitPerIndex`.
const BACKOFF: [i64; 2] = [6, 2_147_483_647];
const GATED: &[GatedFields] = &[template::gated("spec.template.spec")];

/// The strategy of Job.
#[derive(Debug)]
pub(super) struct Job;

impl Strategy for Job {
    fn checks_structure(&self) -> bool {
        false
    }

    fn counts_generations(&self) -> bool {
        true
    }

    fn default(&self, _: &Names, object: &mut Value) {
        template::default(object, &TEMPLATE);
        default_labels(object);
        if let Some(spec) = object.as_map_mut().and_then(|map| map.map_mut("spec")) {
            default_spec(spec);
        }
    }

    fn has_status(&self) -> bool {
        true
    }

    fn gated_fields(&self) -> &'static [GatedFields] {
        GATED
    }

    fn prepare_create(&self, names: &Names, object: &mut Value) {
        object.set_at(&["status"], Map::new());
        if !has_manual_selector(object) {
            let own = own_labels(names, object);
            for (key, value) in &own {
                let path = [&TEMPLATE_LABELS[..], &[key]].concat();
                if object.at(&path).is_none() {
                    object.set_at(&path, value.as_str());
                }
            }
            let [(key, uid), ..] = &own;
            let path = ["spec", "selector", "matchLabels", key];
            if object.at(&path).is_none() {
                object.set_at(&path, uid.as_str());
            }
            default_labels(object);
        }
    }

    fn validate(&self, names: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let root = Field::root(object);
        if !has_manual_selector(object) {
            check_own_labels(names, &root, &mut causes);
        }
        let spec = root.get("spec");
        job_spec::check(names, &spec, &mut causes);
        let selector = spec.get("selector");
        if selector.is_set() {
            rules::selector(&selector, &mut causes);
        } else {
            causes.push(selector.required(""));
        }
        template::check_selector_matches(&selector, &spec.get("template"), &mut causes);
        check_host_names(&root, &mut causes);
        causes
    }

    fn validate_update(&self, _: &Names, part: Part, old: &Value, new: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        if part == Part::Status {
            job_status::check(&Field::root(old), &Field::root(new), &mut causes);
            return causes;
        }
        job_update::check(old, new, &mut causes);
        causes
    }

    /// Deleting a Job orphans its pods by default, as batch/v1 always did.
    fn propagation(&self) -> Propagation {
        Propagation::Orphan
    }

    fn warning_of_deletion(&self) -> Option<&'static str> {
        Some(
            "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them \
             or set propagationPolicy=Orphan to suppress this warning",
        )
    }

    fn warnings(&self, names: &Names, old: Option<&Value>, new: &Value) -> Vec<String> {
        let mut warnings = warnings::of_workload(names, old, new, "spec.template");
        warnings.extend(job_spec::warning(&Field::root(new).get("spec")));
        warnings
    }

    fn selectable(&self, object: &Value, field: &str) -> String {
        match field {
            "status.successful" => {
                let count =
                    object.at(&["status", "succeeded"]).and_then(Value::as_i64).unwrap_or_default();
                count.to_string()
            }
            _ => plain_field(object, field),
        }
    }
}

/// Whether the client sets the selector (`manualSelector`).
fn has_manual_selector(object: &Value) -> bool {
    object.at(&["spec", "manualSelector"]).and_then(Value::as_bool) == Some(true)
}

/// The labels of the job's pods: its UID, then its name, each with a domain and in the legacy form.
fn own_labels(names: &Names, object: &Value) -> [(String, String); 4] {
    let text = |field: &str| object.str_at(&["metadata", field]).unwrap_or_default().to_owned();
    let key = |name: &str| format!("batch.{}", names.domain_key(name));
    [
        (key("controller-uid"), text("uid")),
        (key("job-name"), text("name")),
        ("controller-uid".to_owned(), text("uid")),
        ("job-name".to_owned(), text("name")),
    ]
}

/// Defaults the labels of a job to those of its template.
fn default_labels(object: &mut Value) {
    let labels = object.at(&TEMPLATE_LABELS).filter(|labels| !labels.is_empty()).cloned();
    if let Some(labels) = labels
        && object.at(&["metadata", "labels"]).is_none_or(Value::is_empty)
    {
        object.set_at(&["metadata", "labels"], labels);
    }
}

fn default_spec(spec: &mut Map) {
    let is_set = |spec: &Map, field: &str| spec.get(field).is_some_and(|value| !value.is_null());
    if !is_set(spec, "completions") && !is_set(spec, "parallelism") {
        spec.insert("completions", 1);
    }
    let limited = usize::from(is_set(spec, "backoffLimitPerIndex"));
    let replacement =
        if is_set(spec, "podFailurePolicy") { "Failed" } else { "TerminatingOrFailed" };
    for (field, value) in [
        ("parallelism", Value::from(1)),
        ("backoffLimit", BACKOFF[limited].into()),
        ("completionMode", "NonIndexed".into()),
        ("suspend", false.into()),
        ("manualSelector", false.into()),
        ("podReplacementPolicy", replacement.into()),
    ] {
        spec.get_or_insert_with(field, || value);
    }
}

fn check_own_labels(names: &Names, root: &Field<'_>, causes: &mut Vec<Cause>) {
    let selector = root.get("spec.selector");
    if !selector.is_set() {
        return;
    }
    let own = own_labels(names, root.value());
    let labels = root.get("spec.template.metadata.labels");
    let [prefixed_uid, prefixed_name, uid, name] = &own;
    for (key, expected) in [uid, name, prefixed_uid, prefixed_name] {
        let path = labels.path().key(key);
        match labels.value().get(key).and_then(Value::as_str) {
            None => causes.push(Cause::required(path, &format!("must be '{expected}'"))),
            Some(value) if value != expected => {
                causes.push(Cause::invalid(
                    path,
                    labels.value().clone(),
                    &format!("must be '{expected}'"),
                ));
            }
            Some(_) => {}
        }
    }
    let chosen = LabelSelector::from_object(selector.value()).is_none_or(|selector| {
        selector.matches(own.iter().map(|(key, value)| (key.as_str(), value.as_str())))
    });
    if !chosen {
        causes.push(selector.invalid("`selector` not auto-generated"));
    }
}

/// Checks that job name and index make a valid host name in an Indexed job.
fn check_host_names(job: &Field<'_>, causes: &mut Vec<Cause>) {
    let (own, completions) =
        (job.get("metadata.name"), job.get("spec.completions").int().unwrap_or_default());
    if job.get("spec.completionMode").text() == "Indexed" && completions > 0 {
        let last = format!("{}-{}", own.text(), completions - 1);
        if !name::dns_label(&last).is_empty() {
            causes.push(
                own.invalid(&format!("will not able to create pod with invalid DNS label: {last}")),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use quorate_meta::Naming;
    use serde_json::json;

    fn job(change: serde_json::Value) -> Value {
        let container = json!({"name": "c", "image": "a", "terminationMessagePolicy": "File", "imagePullPolicy": "Always"});
        let mut object = Value::from(json!({"metadata": {"name": "a", "uid": "u"},
            "spec": {"template": {"spec": {"containers": [container], "restartPolicy": "Never", "dnsPolicy": "Default"}}}}));
        quorate_registry::patch::merge(&mut object, change.into());
        Job.default(Naming::Svc.names(), &mut object);
        Job.prepare_create(Naming::Svc.names(), &mut object);
        object
    }

    #[test]
    fn the_selector_is_made_of_the_identity() {
        let object = job(json!({}));
        let labels = json!({"batch.svc.io/controller-uid": "u", "batch.svc.io/job-name": "a", "controller-uid": "u", "job-name": "a"});
        assert_eq!(object.at(&TEMPLATE_LABELS), Some(&labels.clone().into()));
        assert_eq!(object.at(&["metadata", "labels"]), Some(&labels.into()));
        assert_eq!(
            object.at(&["spec", "selector"]),
            Some(&json!({"matchLabels": {"batch.svc.io/controller-uid": "u"}}).into())
        );
        assert_eq!(shown(&Job.validate(Naming::Svc.names(), &object)), Vec::<String>::new());
    }

    #[test]
    fn selectors_by_hand() {
        let check = |spec: serde_json::Value, expect: &[&str]| {
            let object = job(json!({ "spec": spec }));
            assert_eq!(shown(&Job.validate(Naming::Svc.names(), &object)), expect);
        };
        check(
            json!({"selector": {"matchLabels": {"a": "b"}}}),
            &["Invalid spec.selector", "Invalid spec.template.metadata.labels"],
        );
        check(
            json!({"manualSelector": true}),
            &["Required spec.selector", "Invalid spec.template.metadata.labels"],
        );
        let labels = json!({"job-name": "b", "batch.svc.io/controller-uid": "v"});
        const AT: &str = "spec.template.metadata.labels";
        check(
            json!({"template": {"metadata": {"labels": labels}}}),
            &[
                &format!("Invalid {AT}[job-name]"),
                &format!("Invalid {AT}[batch.svc.io/controller-uid]"),
                &format!("Invalid {AT}"),
            ],
        );
    }

    #[test]
    fn pods_of_indexed_jobs_have_names_of_hosts() {
        let check = |name: &str, completions: i64, expect: &[&str]| {
            let spec = json!({"completionMode": "Indexed", "completions": completions});
            let object = json!({"metadata": {"name": name}, "spec": spec}).into();
            let mut causes = Vec::new();
            check_host_names(&Field::root(&object), &mut causes);
            assert_eq!(shown(&causes), expect, "{name}");
        };
        check("a", 3, &[]);
        check("a.b", 0, &[]);
        check("a.b", 3, &["Invalid metadata.name"]);
        check(&"a".repeat(61), 10, &[]);
        check(&"a".repeat(61), 11, &["Invalid metadata.name"]);
    }

    #[test]
    fn defaults() {
        let check = |given: serde_json::Value, expect: &[(&str, serde_json::Value)]| {
            let mut spec = Value::from(given).as_map().cloned().unwrap();
            default_spec(&mut spec);
            for (field, value) in expect {
                assert_eq!(
                    spec.get(field).cloned().unwrap_or_default(),
                    value.clone().into(),
                    "{field}"
                );
            }
        };
        check(
            json!({}),
            &[("completions", json!(1)), ("parallelism", json!(1)), ("backoffLimit", json!(6))],
        );
        check(
            json!({"parallelism": 3}),
            &[("completions", json!(null)), ("suspend", json!(false))],
        );
        check(json!({"backoffLimitPerIndex": 1}), &[("backoffLimit", json!(2_147_483_647))]);
        check(json!({"podFailurePolicy": {}}), &[("podReplacementPolicy", json!("Failed"))]);
    }

    #[test]
    fn changes() {
        let check = |old: serde_json::Value, change: serde_json::Value, expect: &[&str]| {
            let old = job(json!({ "spec": old }));
            let mut new = old.clone();
            quorate_registry::patch::merge(&mut new, json!({ "spec": change }).into());
            assert_eq!(
                shown(&Job.validate_update(Naming::Svc.names(), Part::Main, &old, &new)),
                expect,
                "{change}"
            );
        };
        check(
            json!({}),
            json!({"parallelism": 2, "suspend": true, "ttlSecondsAfterFinished": 9}),
            &[],
        );
        check(json!({}), json!({"completions": 3}), &["Invalid spec.completions"]);
        for parallelism in [1, 2] {
            let indexed =
                json!({"completionMode": "Indexed", "completions": 2, "parallelism": parallelism});
            check(indexed.clone(), json!({"completions": 3, "parallelism": 3}), &[]);
            check(indexed.clone(), json!({"parallelism": 3}), &[]);
            check(indexed, json!({"completions": 4}), &["Invalid spec.completions"]);
        }
        let elsewhere = json!({"template": {"spec": {"nodeSelector": {"no": "where"}}}});
        check(json!({}), elsewhere.clone(), &["Invalid spec.template"]);
        check(json!({"suspend": true}), elsewhere, &[]);
        let affinity = |kind: &str| json!({"template": {"spec": {"affinity": {kind: {"a": "b"}}}}});
        check(json!({"suspend": true}), affinity("nodeAffinity"), &[]);
        check(json!({"suspend": true}), affinity("podAffinity"), &["Invalid spec.template"]);
        check(json!({}), json!({"completionMode": "Indexed"}), &["Invalid spec.completionMode"]);
    }
}
