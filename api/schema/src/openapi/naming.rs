//! Names in OpenAPI documents: definitions, extensions, operation IDs, tags.

use quorate_meta::{Map, Names, Naming, Value};

use crate::graph::TypeDef;

/// The definition name of a type: `io.k8s.api.core.v1.ConfigMap`.
pub(super) fn definition(names: &Names, ty: &TypeDef) -> String {
    let machinery = names.openapi_machinery_prefix;
    let package = ty.group.split('.').next().unwrap_or(ty.group);
    let root = names.openapi_api_prefix.strip_suffix(".api").unwrap_or(names.openapi_api_prefix);
    let prefix = match ty.group {
        "meta" => format!("{machinery}.pkg.apis.meta"),
        "apiextensions" => format!("{root}.apiextensions-apiserver.pkg.apis.apiextensions"),
        "apiregistration" => format!("{root}.kube-aggregator.pkg.apis.apiregistration"),
        _ => format!("{}.{package}", names.openapi_api_prefix),
    };
    format!("{prefix}.{}.{}", ty.version, ty.name)
}

/// Writes an extension under the profile's name and, where it differs, under the one that clients
/// hard-code.
pub(super) fn extend(names: &Names, into: &mut Map, extension: &str, value: &Value) {
    into.insert(names.extension(extension), value.clone());
    if names.naming != Naming::Kubernetes {
        into.insert(Naming::Kubernetes.names().extension(extension), value.clone());
    }
}

/// `{group, version, kind}`.
pub(super) fn group_version_kind(group: &str, version: &str, kind: &str) -> Value {
    Value::from([("group", group), ("kind", kind), ("version", version)])
}

/// The definition name of a custom kind: `com.example.stable.v1.CronTab`.
pub(super) fn custom_definition(group: &str, version: &str, kind: &str) -> String {
    let mut parts: Vec<&str> = group.rsplit('.').collect();
    parts.extend([version, kind]);
    parts.join(".")
}

/// `/api/v1`, `/apis/apps/v1`.
pub(super) fn root(group: &str, version: &str) -> String {
    if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") }
}

/// The group in camel case: `core`, `rbacAuthorization`, `certManagerIo`.
pub(super) fn camel_group(neutral: &str) -> String {
    let mut words = neutral.split(['.', '-']);
    let first = words.next().unwrap_or_default();
    let first = first.trim_start_matches(|c: char| c.is_ascii_digit()).to_owned();
    words.fold(first, |name, word| name + &capital(word))
}

/// The tag of a group version: `core_v1`.
pub(super) fn tag(camel_group: &str, version: &str) -> String {
    format!("{camel_group}_{version}")
}

/// A word with a capital first letter.
pub(super) fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().collect::<String>() + letters.as_str()
    })
}
