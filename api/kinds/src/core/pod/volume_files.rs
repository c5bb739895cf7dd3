//! Files in volumes: paths and modes of ConfigMap, Secret, downward API and projected volumes.

use std::collections::HashSet;

use quorate_meta::{Cause, name};

use super::env;
use crate::certificates::signer;
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

/// The types of keys of a pod's certificate.
const KEY_TYPES: [&str; 6] =
    ["ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519", "RSA3072", "RSA4096"];
/// The longest lifetime of a pod's certificate in seconds: between an hour and 91 days.
const MIN_LIFETIME_SECONDS: i64 = 3600;
const MAX_LIFETIME_SECONDS: i64 = 91 * 24 * 3600;
/// The files that a key and certificate are written to.
const CERTIFICATE_FILES: [&str; 3] = ["credentialBundlePath", "keyPath", "certificateChainPath"];

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
            if signer.is_set() {
                causes.extend(signer::check(signer.path().as_str(), signer.text()));
            }
            let selector = part.get("labelSelector");
            if bundle.is_set() && selector.is_set() {
                causes.push(selector.invalid("labelSelector must be unset if name is specified"));
            }
            rules::selector(&selector, causes);
            check_path(&part.get("path"), causes);
        }
        _ => check_certificate(part, causes),
    }
}

/// Checks a key and certificate of the pod (KEP-4317), which are written to one file or to two.
fn check_certificate(part: &Field<'_>, causes: &mut Vec<Cause>) {
    let signer = part.get("signerName");
    causes.extend(signer::check(signer.path().as_str(), signer.text()));
    rules::one_of(&part.get("keyType"), &KEY_TYPES, causes);
    let lifetime = part.get("maxExpirationSeconds");
    match lifetime.int() {
        Some(..MIN_LIFETIME_SECONDS) => causes.push(lifetime.invalid(&format!(
            "if provided, maxExpirationSeconds must be >= {MIN_LIFETIME_SECONDS}"
        ))),
        Some(seconds) if seconds > MAX_LIFETIME_SECONDS => causes.push(lifetime.invalid(&format!(
            "if provided, maxExpirationSeconds must be <= {MAX_LIFETIME_SECONDS}"
        ))),
        _ => {}
    }
    let files = CERTIFICATE_FILES.map(|field| part.get(field));
    if files.iter().all(Field::is_empty) {
        let why = "specify at least one of credentialBundlePath, keyPath, and certificateChainPath";
        causes.push(part.required(why));
    }
    for file in files.iter().filter(|file| !file.is_empty()) {
        check_path(file, causes);
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

    #[test]
    fn certificates_and_bundles() {
        let check = |kind: &str, source: serde_json::Value, expect: &[&str]| {
            let object = Value::from(json!({"sources": [{kind: source}]}));
            let mut causes = Vec::new();
            check_projected(&Field::root(&object), &mut causes);
            let at = format!("sources[0].{kind}");
            let found: Vec<String> =
                shown(&causes).iter().map(|cause| cause.replace(&at, "s")).collect();
            assert_eq!(found, expect, "{object:?}");
        };
        let of = |more: serde_json::Value| {
            let mut source = json!({"signerName": "example.com/s", "keyType": "ED25519"});
            source.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            source
        };
        let kind = "podCertificate";
        check(kind, of(json!({"credentialBundlePath": "a", "maxExpirationSeconds": 3600})), &[]);
        check(kind, of(json!({"keyPath": "a", "certificateChainPath": "b"})), &[]);
        check(kind, of(json!({})), &["Required s"]);
        check(kind, of(json!({"keyPath": "../a"})), &["Invalid s.keyPath"]);
        for seconds in [3599, 91 * 86_400 + 1] {
            let lifetime = json!({"keyPath": "a", "maxExpirationSeconds": seconds});
            check(kind, of(lifetime), &["Invalid s.maxExpirationSeconds"]);
        }
        let odd = json!({"signerName": "s", "keyType": "DSA", "keyPath": "a"});
        check(kind, odd, &["Invalid s.signerName", "NotSupported s.keyType"]);
        let kind = "clusterTrustBundle";
        let selector = json!({"matchLabels": {"a": "b"}});
        let signer =
            |name: &str| json!({"signerName": name, "path": "a", "labelSelector": selector});
        check(kind, signer("example.com/s"), &[]);
        check(kind, signer("s"), &["Invalid s.signerName"]);
        let named = json!({"name": "b", "path": "a", "labelSelector": selector});
        check(kind, named, &["Invalid s.labelSelector"]);
    }
}
