//! Containers and init containers: the fields of each, and their unique names.
//!
//! Ephemeral containers are in `ephemeral`.

use std::collections::HashSet;

use quorate_meta::{Cause, name};

use super::context::PodContext;
use super::{env, handlers, mounts, ports, resources, security};
use crate::field::Field;
use crate::rules;

const PULL_POLICIES: [&str; 3] = ["Always", "IfNotPresent", "Never"];

/// Checks containers and init containers.
pub(super) fn check(context: &PodContext<'_>, spec: &Field<'_>, causes: &mut Vec<Cause>) {
    let (main, init) = (spec.get("containers"), spec.get("initContainers"));
    let grace = spec.get("terminationGracePeriodSeconds").int();
    let mut names = HashSet::new();
    if main.is_empty() {
        causes.push(main.required(""));
    }
    for container in main.items() {
        check_one(context, &container, causes);
        check_distinct_name(&container, &mut names, causes);
        handlers::check_hooks(&container.get("lifecycle"), grace, causes);
        handlers::check_probes(&container, causes);
        handlers::check_restart_rules(&container, causes);
    }
    ports::check_host_conflicts(&main, causes);
    for container in init.items() {
        check_one(context, &container, causes);
        check_distinct_name(&container, &mut names, causes);
        check_init_container(&container, grace, causes);
    }
    ports::check_host_conflicts(&init, causes);
}

/// Checks the fields that every type of container has.
pub(super) fn check_one(context: &PodContext<'_>, container: &Field<'_>, causes: &mut Vec<Cause>) {
    rules::name(&container.get("name"), name::dns_label, causes);
    let image = container.get("image");
    rules::required(&image, causes);
    if image.text().trim() != image.text() {
        causes.push(image.invalid("must not have leading or trailing whitespace"));
    }
    rules::one_of(
        &container.get("terminationMessagePolicy"),
        &["FallbackToLogsOnError", "File"],
        causes,
    );
    ports::check(&container.get("ports"), causes);
    env::check(&context.volumes, &container.get("env"), causes);
    env::check_env_from(&container.get("envFrom"), causes);
    mounts::check(container, &context.volumes, causes);
    rules::one_of(&container.get("imagePullPolicy"), &PULL_POLICIES, causes);
    resources::check(context.names, &container.get("resources"), &context.claims, causes);
    check_resize(context, &container.get("resizePolicy"), causes);
    security::check_container(&container.get("securityContext"), context.host_users, causes);
}

fn check_distinct_name<'v>(
    container: &Field<'v>,
    names: &mut HashSet<&'v str>,
    causes: &mut Vec<Cause>,
) {
    let name = container.get("name");
    if !name.is_empty() && !names.insert(name.text()) {
        causes.push(name.duplicate());
    }
}

/// Checks lifecycle and probes of an init container: only a sidecar (`restartPolicy: Always`,
/// KEP-753) has them.
fn check_init_container(container: &Field<'_>, grace: Option<i64>, causes: &mut Vec<Cause>) {
    handlers::check_restart_rules(container, causes);
    if container.get("restartPolicy").text() == "Always" {
        handlers::check_hooks(&container.get("lifecycle"), grace, causes);
        handlers::check_probes(container, causes);
        return;
    }
    for field in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
        let part = container.get(field);
        if part.is_set() {
            causes.push(
                part.forbidden("may not be set for init containers without restartPolicy=Always"),
            );
        }
    }
}

fn check_resize(context: &PodContext<'_>, policies: &Field<'_>, causes: &mut Vec<Cause>) {
    let mut seen = HashSet::new();
    for policy in policies.items() {
        let (resource, restart) = (policy.get("resourceName"), policy.get("restartPolicy"));
        if !seen.insert(resource.text()) {
            causes.push(Cause::duplicate(policy.path(), resource.text()));
        }
        // What is wrong with one policy is told of the whole list, as in Kubernetes.
        let of_list = |field: &Field<'_>, known: &[&str], causes: &mut Vec<Cause>| {
            rules::one_of(&Field::new(field.value(), policies.path().clone()), known, causes);
        };
        of_list(&resource, &["cpu", "memory"], causes);
        of_list(&restart, &["NotRequired", "RestartContainer"], causes);
        if context.never_restarts && restart.text() != "NotRequired" {
            let why = "must be 'NotRequired' when `restartPolicy` is 'Never'";
            causes.push(Cause::invalid(policies.path(), restart.text(), why));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use quorate_meta::{Naming, Value};
    use serde_json::json;

    #[test]
    fn containers() {
        let good = |name: &str| json!({"name": name, "image": "a", "terminationMessagePolicy": "File", "imagePullPolicy": "Always"});
        let run = |spec: serde_json::Value, expect: &[&str]| {
            let object = Value::from(spec);
            let root = Field::root(&object);
            let context = PodContext::of(Naming::Svc.names(), &root, Vec::new());
            let mut causes = Vec::new();
            check(&context, &root, &mut causes);
            assert_eq!(shown(&causes), expect, "{object:?}");
        };
        let with = |field: &str, value: serde_json::Value| {
            let mut container = good("c");
            container[field] = value;
            json!({"containers": [container]})
        };
        run(json!({}), &["Required containers"]);
        run(json!({"containers": [good("c")], "initContainers": [good("i")]}), &[]);
        run(
            json!({"containers": [good("c"), good("c")], "initContainers": [good("c")]}),
            &["Duplicate containers[1].name", "Duplicate initContainers[0].name"],
        );
        run(with("name", json!("A_b")), &["Invalid containers[0].name"]);
        run(with("image", json!("")), &["Required containers[0].image"]);
        run(with("image", json!(" app ")), &["Invalid containers[0].image"]);
        run(
            with("imagePullPolicy", json!("Sometimes")),
            &["NotSupported containers[0].imagePullPolicy"],
        );
        let twice = json!([{"resourceName": "cpu", "restartPolicy": "NotRequired"}, {"resourceName": "cpu", "restartPolicy": "Odd"}]);
        run(
            with("resizePolicy", twice),
            &["Duplicate containers[0].resizePolicy[1]", "NotSupported containers[0].resizePolicy"],
        );
        let restarting = json!([{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]);
        run(with("resizePolicy", restarting.clone()), &[]);
        let mut never = with("resizePolicy", restarting);
        never["restartPolicy"] = "Never".into();
        run(never, &["Invalid containers[0].resizePolicy"]);
        let unmasked = json!({"procMount": "Unmasked"});
        run(
            with("securityContext", unmasked.clone()),
            &["Invalid containers[0].securityContext.procMount"],
        );
        let mut own_users = with("securityContext", unmasked);
        own_users["hostUsers"] = false.into();
        run(own_users, &[]);
        let mut init = good("i");
        init["livenessProbe"] = json!({"tcpSocket": {"port": 1}});
        run(
            json!({"containers": [good("c")], "initContainers": [init]}),
            &["Forbidden initContainers[0].livenessProbe"],
        );
        init["restartPolicy"] = "Always".into();
        run(json!({"containers": [good("c")], "initContainers": [init]}), &[]);
    }
}
