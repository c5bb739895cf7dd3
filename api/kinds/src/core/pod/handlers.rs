//! Probes, lifecycle hooks and restart rules of a container.

use quorate_meta::Cause;

use crate::field::Field;
use crate::rules;

/// The handler types, in the order in which a second one is reported.
const HANDLERS: [&str; 5] = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"];

/// Checks the three probes of a container.
pub(super) fn check_probes(container: &Field<'_>, causes: &mut Vec<Cause>) {
    for field in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let probe = container.get(field);
        if !probe.is_set() {
            continue;
        }
        check_probe(&probe, causes);
        let threshold = probe.get("successThreshold");
        if field != "readinessProbe" && threshold.int().is_some_and(|threshold| threshold != 1) {
            causes.push(threshold.invalid("must be 1"));
        }
        let grace = probe.get("terminationGracePeriodSeconds");
        if field == "readinessProbe" && grace.is_set() {
            causes.push(grace.invalid("must not be set for readinessProbes"));
        } else if grace.int().is_some_and(|seconds| seconds <= 0) {
            causes.push(grace.invalid("must be greater than 0"));
        }
    }
}

fn check_probe(probe: &Field<'_>, causes: &mut Vec<Cause>) {
    check_handler(probe, &HANDLERS[..4], None, causes);
    for field in [
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    ] {
        rules::not_negative(&probe.get(field), causes);
    }
}

/// Checks the lifecycle hooks of a container; `grace` is the termination grace period in seconds.
pub(super) fn check_hooks(lifecycle: &Field<'_>, grace: Option<i64>, causes: &mut Vec<Cause>) {
    for field in ["postStart", "preStop"] {
        let hook = lifecycle.get(field);
        if hook.is_set() {
            check_handler(&hook, &["exec", "httpGet", "tcpSocket", "sleep"], grace, causes);
        }
    }
}

fn check_handler(handler: &Field<'_>, known: &[&str], grace: Option<i64>, causes: &mut Vec<Cause>) {
    let given: Vec<&&str> = known.iter().filter(|field| handler.get(field).is_set()).collect();
    for (turn, field) in given.iter().enumerate() {
        let part = handler.get(field);
        if turn > 0 {
            causes.push(part.forbidden("may not specify more than 1 handler type"));
            continue;
        }
        match **field {
            "exec" => rules::required(&part.get("command"), causes),
            "httpGet" => check_request(&part, causes),
            "tcpSocket" => rules::port_or_name(&part.get("port"), causes),
            "grpc" => rules::port(&part.get("port"), causes),
            _ => check_sleep(&part, grace, causes),
        }
    }
    if given.is_empty() {
        causes.push(handler.required("must specify a handler type"));
    }
}

/// Checks a `sleep` handler, which must end within the termination grace period.
fn check_sleep(sleep: &Field<'_>, grace: Option<i64>, causes: &mut Vec<Cause>) {
    let seconds = sleep.get("seconds").int().unwrap_or_default();
    if let Some(grace) = grace.filter(|grace| !(0..=*grace).contains(&seconds)) {
        let why =
            format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
        causes.push(Cause::invalid(sleep.path(), seconds, &why));
    }
}

fn check_request(request: &Field<'_>, causes: &mut Vec<Cause>) {
    rules::required(&request.get("path"), causes);
    rules::port_or_name(&request.get("port"), causes);
    rules::optional_one_of(&request.get("scheme"), &["HTTP", "HTTPS"], causes);
    for header in request.get("httpHeaders").items() {
        let name = header.get("name");
        let token = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if name.is_empty() || !name.text().bytes().all(token) {
            let why = "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used \
                       for validation is '[-A-Za-z0-9]+')";
            causes.push(Cause::invalid(name.path(), name.text(), why));
        }
    }
}

/// Checks the restart rules of a container (KEP-5307).
pub(super) fn check_restart_rules(container: &Field<'_>, causes: &mut Vec<Cause>) {
    let (policy, list) = (container.get("restartPolicy"), container.get("restartPolicyRules"));
    rules::optional_one_of(&policy, &["Always", "Never", "OnFailure"], causes);
    if !list.is_empty() && !policy.is_set() {
        causes.push(policy.required("must specify restartPolicy when restart rules are used"));
    }
    for rule in list.items() {
        rules::one_of(&rule.get("action"), &["Restart", "RestartAllContainers"], causes);
        let codes = rule.get("exitCodes");
        if !codes.is_set() {
            causes.push(codes.required("must be specified"));
            continue;
        }
        rules::one_of(&codes.get("operator"), &["In", "NotIn"], causes);
        rules::required(&codes.get("values"), causes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use quorate_meta::Value;
    use serde_json::json;

    #[test]
    fn sleeps() {
        let check = |seconds: i64, grace: Option<i64>, expect: &[&str]| {
            let object = Value::from(json!({"preStop": {"sleep": {"seconds": seconds}}}));
            let mut causes = Vec::new();
            check_hooks(&Field::root(&object), grace, &mut causes);
            assert_eq!(shown(&causes), expect, "{seconds} of {grace:?}");
        };
        for seconds in [0, 1, 30] {
            check(seconds, Some(30), &[]);
        }
        for seconds in [-1, 31] {
            check(seconds, Some(30), &["Invalid preStop.sleep"]);
        }
        check(5, None, &[]);
    }

    #[test]
    fn probes() {
        let check = |field: &str, probe: serde_json::Value, expect: &[&str]| {
            let object = Value::from(json!({"c": {field: probe}}));
            let mut causes = Vec::new();
            check_probes(&Field::root(&object).get("c"), &mut causes);
            assert_eq!(shown(&causes), expect);
        };
        let live = "livenessProbe";
        check(live, json!({"tcpSocket": {"port": 1}, "successThreshold": 1}), &[]);
        check(live, json!({}), &["Required c.livenessProbe"]);
        check(
            live,
            json!({"exec": {"command": ["x"]}, "tcpSocket": {"port": 1}}),
            &["Forbidden c.livenessProbe.tcpSocket"],
        );
        check(live, json!({"grpc": {"port": 0}}), &["Invalid c.livenessProbe.grpc.port"]);
        check(live, json!({"exec": {}}), &["Required c.livenessProbe.exec.command"]);
        check(
            live,
            json!({"tcpSocket": {"port": 1}, "successThreshold": 2}),
            &["Invalid c.livenessProbe.successThreshold"],
        );
        check("readinessProbe", json!({"tcpSocket": {"port": 1}, "successThreshold": 2}), &[]);
        check(
            "readinessProbe",
            json!({"tcpSocket": {"port": 1}, "periodSeconds": -2}),
            &["Invalid c.readinessProbe.periodSeconds"],
        );
        let http =
            json!({"httpGet": {"port": "a_b", "scheme": "FTP", "httpHeaders": [{"name": "a b"}]}});
        check(
            "startupProbe",
            http,
            &[
                "Required c.startupProbe.httpGet.path",
                "Invalid c.startupProbe.httpGet.port",
                "NotSupported c.startupProbe.httpGet.scheme",
                "Invalid c.startupProbe.httpGet.httpHeaders[0].name",
            ],
        );
    }
}
