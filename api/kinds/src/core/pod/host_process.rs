//! HostProcess containers of Windows (KEP-1981): a pod has only such containers or none, and has
//! the network of its host with them.

use quorate_meta::Cause;

use super::defaults::CONTAINERS;
use crate::field::Field;

const HOST_PROCESS: &str = "securityContext.windowsOptions.hostProcess";

/// Checks the containers of a pod or a template.
pub(super) fn check(spec: &Field<'_>, causes: &mut Vec<Cause>) {
    let of = |owner: &Field<'_>| owner.get(HOST_PROCESS).value().as_bool();
    let whole = of(spec);
    let (mut containers, mut of_host) = (0, 0);
    for list in CONTAINERS {
        for container in spec.get(list).items() {
            containers += 1;
            let own = of(&container);
            of_host += usize::from(own.or(whole) == Some(true));
            if let (Some(whole), Some(own)) = (whole, own)
                && whole != own
            {
                let why = format!(
                    "pod hostProcess value must be identical if both are specified, was {whole}"
                );
                causes.push(Cause::invalid(container.get(HOST_PROCESS).path(), own, &why));
            }
        }
    }
    if of_host == 0 {
        return;
    }
    if of_host != containers {
        let why = "If pod contains any hostProcess containers then all containers must be HostProcess containers";
        causes.push(Cause::invalid(spec.path(), "", why));
    }
    let network = spec.get("hostNetwork");
    if !network.is_true() {
        let why = "hostNetwork must be true if pod contains any hostProcess containers";
        causes.push(Cause::invalid(network.path(), false, why));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use quorate_meta::Value;
    use serde_json::{Value as Json, json};

    #[test]
    fn all_containers_or_none() {
        let run = |pod: Json, own: [Json; 2], network: bool, expect: &[&str]| {
            let with = |value: Json| json!({"securityContext": {"windowsOptions": {"hostProcess": value}}});
            let mut spec = with(pod);
            spec["containers"] = own.into_iter().map(with).collect();
            spec["hostNetwork"] = network.into();
            let (object, mut causes) = (Value::from(json!({ "spec": spec })), Vec::new());
            check(&Field::root(&object).get("spec"), &mut causes);
            assert_eq!(shown(&causes), expect, "{object:?}");
        };
        let none = || json!(null);
        run(none(), [none(), none()], false, &[]);
        run(json!(false), [json!(false), none()], false, &[]);
        run(json!(true), [none(), json!(true)], true, &[]);
        run(none(), [json!(true), json!(true)], true, &[]);
        run(json!(true), [none(), none()], false, &["Invalid spec.hostNetwork"]);
        run(none(), [json!(true), none()], true, &["Invalid spec"]);
        let second = "Invalid spec.containers[1].securityContext.windowsOptions.hostProcess";
        run(json!(true), [none(), json!(false)], true, &[second, "Invalid spec"]);
    }
}
