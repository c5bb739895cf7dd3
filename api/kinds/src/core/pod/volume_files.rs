//! Files in volumes: paths and modes of ConfigMap, Secret, downward API and projected volumes.

use std::collections::HashSet;

use quorate_meta::{Cause, name};

use super::env;
use crate::field::Field;
use crate::rules;

/// The highest file mode.
const MAX_MODE: i64 = 0o777;
/// The pod fields that a file can have (downward API).
const FILE_FIELDS: [&str; 5] = [
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
];

/// Why a text is no relative path without `..`.
pub(super) fn local_path_problems(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if text.starts_with('/') {
        wrong.push("must be a relative path".to_owned());
    }
    if text.split('/').any(|part| part == "..") {
        wrong.push("must not contain '..'".to_owned());
    }
    wrong
}

/// Why a text is no path of a file that the kubelet writes.
pub(super) fn file_path_problems(text: &str) -> Vec<String> {
    let mut wrong = local_path_problems(text);
    if wrong.is_empty() && text.starts_with("..") {
        wrong.push("must not start with '..'".to_owned());
    }
    wrong
}

/// Checks a file mode.
pub(super) fn check_mode(mode: &Field<'_>, causes: &mut Vec<Cause>) {
    if mode.int().is_some_and(|mode| !(0..=MAX_MODE).contains(&mode)) {
        causes.push(mode.invalid("must be a number between 0 and 0777 (octal), both inclusive"));
    }
}

/// Checks KeyToPath items.
pub(super) fn check_items(items: &Field<'_>, causes: &mut Vec<Cause>) {
    for item in items.items() {
        rules::required(&item.get("key"), causes);
        check_path(&item.get("path"), causes);
        check_mode(&item.get("mode"), causes);
    }
}

/// Checks a required path.
pub(super) fn check_path(path: &Field<'_>, causes: &mut Vec<Cause>) {
    rules::required(path, causes);
    causes.extend(path.invalid_for(&file_path_problems(path.text())));
}

/// Checks downward API items.
pub(super) fn check_downward(items: &Field<'_>, causes: &mut Vec<Cause>) {
    for item in items.items() {
        check_path(&item.get("path"), causes);
        let (field, resource) = (item.get("fieldRef"), item.get("resourceFieldRef"));
        if field.is_set() {
            env::check_field(&field, &FILE_FIELDS, true, causes);
            if resource.is_set() {
                causes.push(
                    item.invalid(
                        "fieldRef and resourceFieldRef can not be specified simultaneously",
                    ),
                );
            }
        } else if resource.is_set() {
            env::check_resource_field(&resource, true, causes);
        } else {
            causes.push(item.required("one of fieldRef and resourceFieldRef is required"));
        }
        check_mode(&item.get("mode"), causes);
    }
}

/// Checks the sources of a projected volume.
pub(super) fn check_projected(projected: &Field<'_>, causes: &mut Vec<Cause>) {
    check_mode(&projected.get("defaultMode"), causes);
    let mut paths = HashSet::new();
    for source in projected.get("sources").items() {
        let known = [
            "secret",
            "configMap",
            "downwardAPI",
            "serviceAccountToken",
            "clusterTrustBundle",
            "podCertificate",
        ];
        let given: Vec<Field<'_>> =
            known.iter().map(|field| source.get(field)).filter(Field::is_set).collect();
        for part in given.iter().skip(1) {
            causes.push(part.forbidden("may not specify more than 1 volume type per source"));
        }
        if let Some(part) = given.first() {
            check_source(part, causes);
            check_distinct_paths(projected, part, &mut paths, causes);
        }
    }
}

/// Checks that no two sources have the same path; those of tokens are not compared.
fn check_distinct_paths<'v>(
    projected: &Field<'v>,
    part: &Field<'v>,
    paths: &mut HashSet<&'v str>,
    causes: &mut Vec<Cause>,
) {
    const OWN: [&str; 4] = ["path", "credentialBundlePath", "keyPath", "certificateChainPath"];
    let items: Vec<&str> = part.get("items").items().map(|item| item.get("path").text()).collect();
    let is_token = part.path().as_str().ends_with(".serviceAccountToken");
    let own = OWN.map(|field| if is_token { "" } else { part.get(field).text() });
    for path in items.into_iter().chain(own).filter(|path| !path.is_empty()) {
        if !paths.insert(path) {
            let name = part.get("name").text();
            let shown = if part.get("items").is_empty() || name.is_empty() { path } else { name };
            causes.push(Cause::invalid(projected.path(), shown, "conflicting duplicate paths"));
        }
    }
}

fn check_source(part: &Field<'_>, causes: &mut Vec<Cause>) {
    let kind = part.path().as_str().rsplit('.').next().unwrap_or_default().to_owned();
    match kind.as_str() {
        "secret" | "configMap" => {
            rules::required(&part.get("name"), causes);
            check_items(&part.get("items"), causes);
        }
        "downwardAPI" => check_downward(&part.get("items"), causes),
        "serviceAccountToken" => {
            let seconds = part.get("expirationSeconds");
            match seconds.int() {
                Some(..600) => {
                    causes.push(seconds.invalid("may not specify a duration less than 10 minutes"))
                }
                Some(4_294_967_297..) => causes
                    .push(seconds.invalid("may not specify a duration larger than 2^32 seconds")),
                _ => {}
            }
            check_path(&part.get("path"), causes);
        }
        "clusterTrustBundle" => {
            let (bundle, signer) = (part.get("name"), part.get("signerName"));
            if bundle.is_set() == signer.is_set() {
                causes.push(part.required("exactly one of name and signerName must be specified"));
            }
            rules::optional_name(&bundle, name::dns_subdomain, causes);
            check_path(&part.get("path"), causes);
        }
        _ => {
            rules::required(&part.get("signerName"), causes);
            rules::required(&part.get("keyType"), causes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use quorate_meta::Value;
    use serde_json::json;

    #[test]
    fn paths() {
        let check = |text: &str, expect: usize| {
            assert_eq!(file_path_problems(text).len(), expect, "{text}")
        };
        check("a/b", 0);
        check("...", 1);
        check("../x", 1);
        check("/a/../b", 2);
    }

    #[test]
    fn every_file_has_one_source() {
        let check = |sources: serde_json::Value, expect: &[&str]| {
            let object = Value::from(json!({"p": {"sources": sources}}));
            let mut causes = Vec::new();
            check_projected(&Field::root(&object).get("p"), &mut causes);
            let texts: Vec<String> = causes.iter().map(Cause::text).collect();
            assert_eq!(texts, expect, "{object:?}");
        };
        let of = |kind: &str, paths: &[&str]| {
            let items: Vec<_> =
                paths.iter().map(|path| json!({"key": "k", "path": path})).collect();
            json!({kind: {"name": "n", "items": items}})
        };
        let downward = json!({"downwardAPI": {"items": [{"path": "a", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}]}});
        let token = json!({"serviceAccountToken": {"path": "a", "expirationSeconds": 3600}});
        let bundle = json!({"clusterTrustBundle": {"name": "b", "path": "a"}});
        check(json!([of("secret", &["a", "b"]), of("configMap", &["c"]), token]), &[]);
        let named = "p: Invalid value: \"n\": conflicting duplicate paths";
        check(json!([of("secret", &["a"]), of("configMap", &["b", "a"])]), &[named]);
        check(json!([of("secret", &["a", "a"])]), &[named]);
        let unnamed = "p: Invalid value: \"a\": conflicting duplicate paths";
        check(json!([of("secret", &["a"]), downward]), &[unnamed]);
        check(json!([of("secret", &["a"]), bundle]), &[unnamed]);
        check(json!([token, token]), &[]);
    }

    #[test]
    fn several_sources() {
        let check = |sources: serde_json::Value, expect: &[&str]| {
            let object = Value::from(json!({"sources": sources}));
            let mut causes = Vec::new();
            check_projected(&Field::root(&object), &mut causes);
            assert_eq!(shown(&causes), expect);
        };
        check(
            json!([{"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}}, {"configMap": {"name": "c"}}]),
            &[],
        );
        check(json!([{}, {"secret": {}}]), &["Required sources[1].secret.name"]);
        check(
            json!([{"secret": {"name": "a"}, "configMap": {"name": "a"}}]),
            &["Forbidden sources[0].configMap"],
        );
        check(
            json!([{"serviceAccountToken": {"path": "", "expirationSeconds": 599}}]),
            &[
                "Invalid sources[0].serviceAccountToken.expirationSeconds",
                "Required sources[0].serviceAccountToken.path",
            ],
        );
        let items = json!([{"path": "l", "fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}, {"path": "../x"}]);
        check(
            json!([{"downwardAPI": {"items": items}}]),
            &[
                "NotSupported sources[0].downwardAPI.items[0].fieldRef.fieldPath",
                "Invalid sources[0].downwardAPI.items[1].path",
                "Required sources[0].downwardAPI.items[1]",
            ],
        );
    }
}
