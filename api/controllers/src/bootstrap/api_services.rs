//! The APIService of each group version that this server serves, as aggregated discovery expects
//! it.

use quorate_meta::{Map, Names, Value};
use quorate_registry::Catalogue;

use super::object::{BootstrapObject, spec};

/// Priority of groups, by their neutral names; groups that are not listed here come last.
const GROUPS: [(&str, i64); 19] = [
    ("", 18_000),
    ("apps", 17_800),
    ("events", 17_750),
    ("authentication", 17_700),
    ("authorization", 17_600),
    ("autoscaling", 17_500),
    ("batch", 17_400),
    ("certificates", 17_300),
    ("networking", 17_200),
    ("policy", 17_100),
    ("rbac.authorization", 17_000),
    ("storage", 16_800),
    ("admissionregistration", 16_700),
    ("apiextensions", 16_700),
    ("scheduling", 16_600),
    ("coordination", 16_500),
    ("node", 16_300),
    ("discovery", 16_200),
    ("resource", 16_200),
];
const LAST_GROUP: i64 = 16_100;

/// One object for each version that is built in.
pub(super) fn objects(names: &Names, catalogue: &Catalogue) -> Vec<BootstrapObject> {
    let versions = catalogue.group_versions().into_iter();
    let own = names.group("apiregistration");
    let is_built_in = |group: &str, version: &str| {
        catalogue.version(group, version).any(|resource| !resource.is_custom())
    };
    versions
        .filter(|(group, version)| *group != own && is_built_in(group, version))
        .map(|(group, version)| wanted(names, group, version))
        .collect()
}

fn wanted(names: &Names, group: &str, version: &str) -> BootstrapObject {
    let neutral = names.neutral(group);
    let group_priority = GROUPS
        .iter()
        .find(|(known, _)| *known == neutral)
        .map_or(LAST_GROUP, |(_, priority)| *priority);
    let mut own = Map::from([
        ("version", Value::from(version)),
        ("groupPriorityMinimum", group_priority.into()),
        ("versionPriority", version_priority(neutral, version).into()),
    ]);
    if !group.is_empty() {
        own.insert("group", group);
    }
    let label = format!("kube-aggregator.{}", names.domain_key("automanaged"));
    let mut labels = Map::new();
    labels.insert(label, "onstart");
    BootstrapObject {
        group: "apiregistration",
        plural: "apiservices",
        name: format!("{version}.{group}"),
        metadata: spec("labels", labels),
        fields: spec("spec", own),
        autoupdate_annotation: None,
        creates_only: false,
    }
}

fn version_priority(group: &str, version: &str) -> i64 {
    match (group, version) {
        ("", _) => 1,
        ("autoscaling", "v2") => 30,
        ("resource" | "flowcontrol.apiserver", _) => 21,
        (_, version) if version.contains("alpha") => 1,
        (_, version) if version.contains("beta") => 9,
        _ => 15,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Naming;

    #[test]
    fn names_and_priorities() {
        let check =
            |group: &str, version: &str, name: &str, group_priority: i64, version_priority: i64| {
                let wanted = wanted(Naming::Svc.names(), group, version);
                let own = wanted.fields.get("spec").unwrap();
                let number = |field: &str| own.get(field).and_then(Value::as_i64).unwrap();
                assert_eq!(wanted.name, name);
                assert_eq!(
                    (number("groupPriorityMinimum"), number("versionPriority")),
                    (group_priority, version_priority)
                );
            };
        check("", "v1", "v1.", 18_000, 1);
        check("autoscaling", "v2", "v2.autoscaling", 17_500, 30);
        check("certificates.svc.io", "v1beta1", "v1beta1.certificates.svc.io", 17_300, 9);
        check("flowcontrol.apiserver.svc.io", "v1", "v1.flowcontrol.apiserver.svc.io", 16_100, 21);
    }
}
