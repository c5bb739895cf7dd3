//! Warnings about files of a volume that hide each other: one path is another one, or lies below
//! it.

use std::collections::BTreeSet;

use quorate_meta::quoted;

use crate::field::Field;

/// Warnings about the files of all volumes.
pub(super) fn of_volumes(volumes: &Field<'_>, warnings: &mut Vec<String>) {
    for volume in volumes.items() {
        let name = quoted(volume.get("name").text());
        for (field, kind, of) in
            [("configMap", "ConfigMap", "name"), ("secret", "Secret", "secretName")]
        {
            let source = volume.get(field);
            let what = format!("volume {name} ({kind} {})", quoted(source.get(of).text()));
            of_list(&paths(&source), &what, warnings);
        }
        let what = format!("volume {name} (DownwardAPI)");
        of_list(&paths(&volume.get("downwardAPI")), &what, warnings);
        of_projected(&volume.get("projected"), &name, warnings);
    }
}

/// Warnings about the files of each source, and about those of each together with the earlier ones.
fn of_projected(projected: &Field<'_>, volume: &str, warnings: &mut Vec<String>) {
    let mut earlier: BTreeSet<&str> = BTreeSet::new();
    for source in projected.get("sources").items() {
        let Some((kind, own)) = source_of(&source) else {
            warnings.push(format!("volume {volume} (Projected) has no sources provided"));
            continue;
        };
        if own.is_empty() {
            continue;
        }
        let what = format!("volume {volume} (Projected {kind})");
        of_list(&own, &what, warnings);
        let unique: BTreeSet<&str> = own.into_iter().collect();
        let mut together: Vec<&str> = unique.iter().chain(&earlier).copied().collect();
        together.sort_unstable();
        of_list(&together, &what, warnings);
        earlier.extend(unique);
    }
}

/// What a projected source is, and its paths; `None` for a source without any.
fn source_of<'v>(source: &Field<'v>) -> Option<(String, Vec<&'v str>)> {
    for (field, kind) in [("configMap", "ConfigMap"), ("secret", "Secret")] {
        let part = source.get(field);
        if part.is_set() {
            return Some((format!("{kind} {}", quoted(part.get("name").text())), paths(&part)));
        }
    }
    let downward = source.get("downwardAPI");
    if downward.is_set() {
        return Some(("DownwardAPI".to_owned(), paths(&downward)));
    }
    let one = |part: &Field<'v>| vec![part.get("path").text()];
    let token = source.get("serviceAccountToken");
    if token.is_set() {
        return Some(("ServiceAccountToken".to_owned(), one(&token)));
    }
    let bundle = source.get("clusterTrustBundle");
    if bundle.is_set() {
        let (name, signer) = (bundle.get("name"), bundle.get("signerName"));
        let name = if name.is_set() { name } else { signer };
        return Some((format!("ClusterTrustBundle {}", quoted(name.text())), one(&bundle)));
    }
    source.get("podCertificate").is_set().then(|| (String::new(), Vec::new()))
}

fn paths<'v>(source: &Field<'v>) -> Vec<&'v str> {
    source.get("items").items().map(|item| item.get("path").text()).collect()
}

/// Warnings about the paths of a list that hide earlier ones.
fn of_list(paths: &[&str], what: &str, warnings: &mut Vec<String>) {
    let mut seen: Vec<&str> = Vec::new();
    for path in paths {
        let path = path.trim_end_matches('/');
        if let Some(other) = seen.iter().find(|other| overlap(other, path)) {
            let (path, other) = (quoted(path), quoted(other));
            warnings.push(format!("{what}: overlapping paths: {path} with {other}"));
        }
        if !seen.contains(&path) {
            seen.push(path);
        }
    }
}

/// Whether one path begins with the other. As in Kubernetes a path begins with each of its
/// beginnings, whole steps or not.
fn overlap(one: &str, other: &str) -> bool {
    let begins =
        |long: &str, short: &str| long.starts_with(short) || short.strip_suffix('/') == Some(long);
    !one.is_empty() && !other.is_empty() && (begins(one, other) || begins(other, one))
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Value;
    use serde_json::{Value as Json, json};

    #[track_caller]
    fn check(source: Json, expect: &[&str]) {
        let mut volume = source;
        volume["name"] = "v".into();
        let (object, mut warnings) = (Value::from(json!({ "v": [volume] })), Vec::new());
        of_volumes(&Field::root(&object).get("v"), &mut warnings);
        assert_eq!(warnings, expect);
    }

    fn items(paths: &[&str]) -> Json {
        paths.iter().map(|path| json!({"key": "k", "path": path})).collect()
    }

    #[test]
    fn files_of_one_source() {
        let of = |paths: &[&str]| json!({"configMap": {"name": "c", "items": items(paths)}});
        check(of(&["a", "b/c", "b/d"]), &[]);
        let what = "volume \"v\" (ConfigMap \"c\"): overlapping paths:";
        check(of(&["a", "a/b"]), &[&format!("{what} \"a/b\" with \"a\"")]);
        check(of(&["a/b", "a/"]), &[&format!("{what} \"a\" with \"a/b\"")]);
        check(of(&["a", "a"]), &[&format!("{what} \"a\" with \"a\"")]);
        let what = "volume \"v\" (Secret \"s\"): overlapping paths:";
        let secret = json!({"secret": {"secretName": "s", "items": items(&["x", "x/y"])}});
        check(secret, &[&format!("{what} \"x/y\" with \"x\"")]);
        let what = "volume \"v\" (DownwardAPI): overlapping paths:";
        check(
            json!({"downwardAPI": {"items": items(&["x", "x/y"])}}),
            &[&format!("{what} \"x/y\" with \"x\"")],
        );
    }

    #[test]
    fn files_of_several_sources() {
        let of = |sources: Json| json!({"projected": {"sources": sources}});
        let map = |paths: &[&str]| json!({"configMap": {"name": "c", "items": items(paths)}});
        let token = json!({"serviceAccountToken": {"path": "t"}});
        check(of(json!([map(&["a"]), token, {"secret": {"name": "s"}}])), &[]);
        check(of(json!([{}])), &["volume \"v\" (Projected) has no sources provided"]);
        check(
            of(json!([map(&["t/a"]), token])),
            &[
                "volume \"v\" (Projected ServiceAccountToken): overlapping paths: \"t/a\" with \"t\"",
            ],
        );
        let bundle = json!({"clusterTrustBundle": {"signerName": "x/y", "path": "t"}});
        check(
            of(json!([map(&["t/a"]), bundle])),
            &[
                "volume \"v\" (Projected ClusterTrustBundle \"x/y\"): overlapping paths: \"t/a\" with \"t\"",
            ],
        );
    }
}
