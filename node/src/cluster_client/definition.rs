//! What definitions of custom resources say of their resources: for types that are not served any more, and for the version
//! that objects are stored in. Read and written back in another one, objects lose what that does not have.

use quorate_meta::Value;

use super::{ApiResource, ClusterClient, QueryParameters, Resources};

/// The kind of definitions of custom resources.
pub(crate) const DEFINITION_KIND: &str = "CustomResourceDefinition";

/// A resource in the version that its objects are stored in, where a definition says which and that is served.
pub(crate) async fn as_stored(
    client: &mut ClusterClient,
    resources: &Resources,
    resource: ApiResource,
) -> ApiResource {
    if resources.versions_of(&resource).count() < 2 {
        return resource;
    }
    let mut all = resources.preferred();
    let Some(definitions) = all.find(|other| other.kind == DEFINITION_KIND) else {
        return resource;
    };
    let path = definitions.object(None, &resource.full_name());
    // A built-in type, or a user who may not read definitions: the version at hand is as good as any.
    let definition = client.find(&path).await.ok().flatten();
    let stored = definition.as_ref().and_then(storage_version);
    let stored = stored.and_then(|version| resources.in_version(&resource, version));
    stored.cloned().unwrap_or(resource)
}

/// The version that a definition has its objects stored in.
fn storage_version(definition: &Value) -> Option<&str> {
    let versions = definition.at(&["spec", "versions"]).and_then(Value::as_list)?;
    let is_stored =
        |version: &&Value| version.get("storage").and_then(Value::as_bool) == Some(true);
    versions.iter().find(is_stored)?.str_at(&["name"])
}

/// The resource PLURAL.GROUP of a definition that is gone, as the last one described it.
pub(crate) async fn of_gone_definition(
    client: &mut ClusterClient,
    resources: &Resources,
    name: &str,
) -> Option<ApiResource> {
    let mut all = resources.preferred();
    let path = all.find(|other| other.kind == DEFINITION_KIND)?.object(None, name);
    // The deletion, and the version before it.
    let query = QueryParameters::default().with("history", "true").with("limit", "2");
    let history = client.find(&query.path(&path)).await.ok().flatten()?;
    let changes = history.get("items").and_then(Value::as_list)?;
    changes.iter().find_map(|change| described(change.get("object")?))
}

/// The resource that a definition describes, in its storage version if that is served, else in another one.
pub(crate) fn described(definition: &Value) -> Option<ApiResource> {
    let text = |path: &[&str]| definition.str_at(path).unwrap_or_default().to_owned();
    let versions = definition.at(&["spec", "versions"]).and_then(Value::as_list)?;
    let is_served = |version: &&Value| version.get("served").and_then(Value::as_bool) == Some(true);
    let mut served = versions.iter().filter(is_served).filter_map(|one| one.str_at(&["name"]));
    let stored = storage_version(definition);
    let version = served.clone().find(|name| Some(*name) == stored).or_else(|| served.next())?;
    Some(ApiResource {
        group: text(&["spec", "group"]),
        version: version.to_owned(),
        plural: text(&["spec", "names", "plural"]),
        singular: text(&["spec", "names", "singular"]),
        kind: text(&["spec", "names", "kind"]),
        namespaced: text(&["spec", "scope"]) == "Namespaced",
        ..ApiResource::default()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_are_read_as_they_were_stored() {
        let check = |versions: serde_json::Value, expect: Option<&str>| {
            let names = json!({"plural": "widgets", "kind": "Widget"});
            let spec = json!({"group": "x.example", "scope": "Cluster", "names": names, "versions": versions});
            let described = described(&json!({ "spec": spec }).into());
            let path = described.map(|found| found.object(Some("n"), "a"));
            assert_eq!(path.as_deref(), expect, "{spec}");
        };
        let version = |name: &str, served: bool, storage: bool| json!({"name": name, "served": served, "storage": storage});
        let path = |version: &str| format!("/apis/x.example/{version}/widgets/a");
        let (v1, v2) = (path("v1"), path("v2"));
        check(json!([version("v1", true, false), version("v2", true, true)]), Some(&v2));
        check(json!([version("v1", true, false), version("v2", false, true)]), Some(&v1));
        check(json!([version("v1", false, true)]), None);
    }
}
