//! The reader of policy files: YAML or JSON, strict, with one line that says what is wrong.

use quorate_meta::{Map, Names, Value};
use thiserror::Error;

use super::policy::{Level, Policy, Resources, Rule, Stage, Stages};

/// Why a text is no policy.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct InvalidPolicy(String);

fn wrong<T>(why: impl Into<String>) -> Result<T, InvalidPolicy> {
    Err(InvalidPolicy(why.into()))
}

/// Reads a policy, as YAML or JSON. Group names may be those of either naming profile.
///
/// # Errors
/// What is wrong with it.
pub fn parse_policy(names: &Names, text: &[u8]) -> Result<Policy, InvalidPolicy> {
    let (document, duplicates) =
        quorate_wire::yaml::parse(text).map_err(|error| InvalidPolicy(error.to_string()))?;
    if !duplicates.is_empty() {
        return wrong("a field is given twice");
    }
    let known = ["apiVersion", "kind", "metadata", "rules", "omitStages", "omitManagedFields"];
    let fields = Fields::new("policy", &document, &known)?;
    let (version, kind) = (fields.text("apiVersion")?, fields.text("kind")?);
    let group = version.split('/').next().unwrap_or_default();
    let own =
        group == names.group_audit || names.edge_group(group).as_deref() == Some(names.group_audit);
    if !own || !version.ends_with("/v1") || kind != "Policy" {
        return wrong(format!(
            "expected a Policy of {}/v1, found a {kind} of {version}",
            names.group_audit
        ));
    }
    let rules = fields.list("rules")?;
    if rules.is_empty() {
        return wrong("the policy has no rules");
    }
    let rules = rules
        .iter()
        .enumerate()
        .map(|(index, rule)| read_rule(names, &format!("rules[{index}]"), rule));
    Ok(Policy {
        rules: rules.collect::<Result<_, _>>()?,
        omit_stages: fields.stages()?,
        omit_managed_fields: fields.flag("omitManagedFields")?.unwrap_or(false),
    })
}

fn read_rule(names: &Names, place: &str, rule: &Value) -> Result<Rule, InvalidPolicy> {
    let known = [
        "level",
        "users",
        "userGroups",
        "verbs",
        "resources",
        "namespaces",
        "nonResourceURLs",
        "omitStages",
        "omitManagedFields",
    ];
    let fields = Fields::new(place, rule, &known)?;
    let level = fields.text("level")?;
    let found = Level::NAMES.iter().find(|(name, _)| *name == level);
    let Some((_, level)) = found else {
        return wrong(format!(
            "{place}.level: '{level}' is none of None, Metadata, Request, RequestResponse"
        ));
    };
    let resources = fields.list("resources")?.iter().enumerate();
    let resources = resources
        .map(|(index, some)| read_resources(names, &format!("{place}.resources[{index}]"), some));
    let rule = Rule {
        level: *level,
        users: fields.texts("users")?,
        groups: fields.texts("userGroups")?,
        verbs: fields.texts("verbs")?,
        resources: resources.collect::<Result<_, _>>()?,
        namespaces: fields.texts("namespaces")?,
        paths: fields.texts("nonResourceURLs")?,
        omit_stages: fields.stages()?,
        omit_managed_fields: fields.flag("omitManagedFields")?,
    };
    let about_resources = !rule.resources.is_empty() || !rule.namespaces.is_empty();
    if about_resources && !rule.paths.is_empty() {
        return wrong(format!(
            "{place}: a rule is about resources or about nonResourceURLs, not both"
        ));
    }
    for path in &rule.paths {
        let inside = path.strip_suffix('*').unwrap_or(path);
        if inside.contains('*') || !(path == "*" || path.starts_with('/')) {
            return wrong(format!(
                "{place}.nonResourceURLs: '{path}' must begin with '/', and may have a '*' at its end only"
            ));
        }
    }
    Ok(rule)
}

fn read_resources(names: &Names, place: &str, value: &Value) -> Result<Resources, InvalidPolicy> {
    let fields = Fields::new(place, value, &["group", "resources", "resourceNames"])?;
    let group = fields.text("group")?;
    if group.contains('/') {
        return wrong(format!("{place}.group: '{group}' is a group without a version"));
    }
    let (resources, own) = (fields.texts("resources")?, fields.texts("resourceNames")?);
    if resources.is_empty() && !own.is_empty() {
        return wrong(format!("{place}: resourceNames need resources"));
    }
    if let Some(resource) =
        resources.iter().find(|resource| resource.matches('/').count() > 1 || resource.is_empty())
    {
        return wrong(format!(
            "{place}.resources: '{resource}' is not of the form resource or resource/subresource"
        ));
    }
    let group = names.edge_group(group).unwrap_or_else(|| group.to_owned());
    Ok(Resources { group, resources, names: own })
}

/// The fields of one object in the file.
struct Fields<'a> {
    place: &'a str,
    map: &'a Map,
}

impl<'a> Fields<'a> {
    fn new(place: &'a str, value: &'a Value, known: &[&str]) -> Result<Self, InvalidPolicy> {
        let Some(map) = value.as_map() else {
            return wrong(format!("{place} is not an object"));
        };
        match map.keys().find(|key| !known.contains(key)) {
            Some(key) => wrong(format!("{place} has an unknown field '{key}'")),
            None => Ok(Self { place, map }),
        }
    }

    fn text(&self, field: &str) -> Result<&'a str, InvalidPolicy> {
        match self.map.get(field) {
            None | Some(Value::Null) => Ok(""),
            Some(Value::String(text)) => Ok(text),
            Some(_) => wrong(format!("{}.{field} is not a text", self.place)),
        }
    }

    fn flag(&self, field: &str) -> Result<Option<bool>, InvalidPolicy> {
        match self.map.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(_) => wrong(format!("{}.{field} is neither true nor false", self.place)),
        }
    }

    fn list(&self, field: &str) -> Result<&'a [Value], InvalidPolicy> {
        match self.map.get(field) {
            None | Some(Value::Null) => Ok(&[]),
            Some(Value::List(list)) => Ok(list),
            Some(_) => wrong(format!("{}.{field} is not a list", self.place)),
        }
    }

    fn texts(&self, field: &str) -> Result<Vec<String>, InvalidPolicy> {
        let text = |value: &Value| match value.as_str() {
            Some(text) => Ok(text.to_owned()),
            None => wrong(format!("{}.{field} has something that is not a text", self.place)),
        };
        self.list(field)?.iter().map(text).collect()
    }

    fn stages(&self) -> Result<Stages, InvalidPolicy> {
        let stage = |name: String| match Stage::NAMES.iter().find(|(own, _)| *own == name) {
            Some((_, stage)) => Ok(*stage),
            None => wrong(format!(
                "{}.omitStages: '{name}' is none of RequestReceived, ResponseStarted, ResponseComplete, Panic",
                self.place
            )),
        };
        self.texts("omitStages")?.into_iter().map(stage).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Naming;

    #[track_caller]
    fn check(naming: Naming, text: &str, expect: Result<usize, &str>) {
        let got = parse_policy(naming.names(), text.as_bytes()).map(|policy| policy.rules.len());
        assert_eq!(got.map_err(|error| error.to_string()), expect.map_err(str::to_owned), "{text}");
    }

    #[test]
    fn a_policy_is_read() {
        let text = "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules:\n- level: None\n  \
            nonResourceURLs: ['/healthz*']\n- level: Request\n  resources: [{group: apps.k8s.io, resources: ['*']}]\n";
        check(Naming::Kubernetes, text, Ok(2));
        check(Naming::Svc, text, Ok(2));
        check(
            Naming::Svc,
            r#"{"apiVersion": "audit.svc.io/v1", "kind": "Policy", "rules": [{"level": "Metadata"}]}"#,
            Ok(1),
        );
    }

    #[test]
    fn what_is_wrong_is_said_in_one_line() {
        let check = |rest: &str, expect: &str| {
            check(
                Naming::Svc,
                &format!("apiVersion: audit.svc.io/v1\nkind: Policy\n{rest}"),
                Err(expect),
            );
        };
        check("", "the policy has no rules");
        check("rule: []", "policy has an unknown field 'rule'");
        check(
            "rules: [{}]",
            "rules[0].level: '' is none of None, Metadata, Request, RequestResponse",
        );
        check(
            "rules: [{level: All}]",
            "rules[0].level: 'All' is none of None, Metadata, Request, RequestResponse",
        );
        check("rules: [{level: None, user: [a]}]", "rules[0] has an unknown field 'user'");
        check("rules: [{level: None, users: a}]", "rules[0].users is not a list");
        check(
            "rules: [{level: None, users: [1]}]",
            "rules[0].users has something that is not a text",
        );
        check(
            "rules: [{level: None, omitManagedFields: 1}]",
            "rules[0].omitManagedFields is neither true nor false",
        );
        let stages = "'X' is none of RequestReceived, ResponseStarted, ResponseComplete, Panic";
        check("rules: [{level: None, omitStages: [X]}]", &format!("rules[0].omitStages: {stages}"));
        let both = "rules[0]: a rule is about resources or about nonResourceURLs, not both";
        check("rules: [{level: None, namespaces: [a], nonResourceURLs: [/a]}]", both);
        let path = "must begin with '/', and may have a '*' at its end only";
        check(
            "rules: [{level: None, nonResourceURLs: [a]}]",
            &format!("rules[0].nonResourceURLs: 'a' {path}"),
        );
        let names = "rules[0].resources[0]: resourceNames need resources";
        check("rules: [{level: None, resources: [{group: '', resourceNames: [a]}]}]", names);
        let group = "rules[0].resources[0].group: 'apps/v1' is a group without a version";
        check("rules: [{level: None, resources: [{group: apps/v1}]}]", group);
    }

    #[test]
    fn other_documents_are_refused() {
        let expect = "expected a Policy of audit.svc.io/v1, found a Pod of v1";
        check(Naming::Svc, "apiVersion: v1\nkind: Pod", Err(expect));
    }
}
