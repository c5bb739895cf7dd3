//! The served resources of a definition.
//!
//! Invariants: only an established definition has any, under the names that it got; while it is
//! terminating they stay, and its marker refuses new objects. Exactly one resource of a definition
//! is in the stored form; controllers have it even where no request can use it.
//!
//! Not here: when they are published.

use std::collections::BTreeMap;
use std::sync::Arc;

use quorate_meta::version_order;
use quorate_registry::keys::Key;
use quorate_registry::{
    Catalogue, Deprecation, LiveMarker, ObjectTypes, RemoteConversion, Removal, Resource,
    StoredForm, Strategy, Subresource, TypeSource,
};
use quorate_schema::Graph;

use super::compiled_schemas::{CompiledSchemas, MAX_COMPILED_SCHEMA_BYTES};
use super::conversion::{Converter, VersionForm, WebhookVersion, Webhooks};
use super::custom_strategy::CustomStrategy;
use super::definition::{ConversionStrategy, Definition, DefinitionVersion};
use super::reader::{ReadVersion, Reader};
use super::version::{CompiledVersion, VersionTypes};

/// Verbs of custom resources, in the order of discovery.
const VERBS: [&str; 8] =
    ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
/// Verbs of their subresources.
const SUBRESOURCE_VERBS: [&str; 3] = ["get", "patch", "update"];
/// Fields that every resource can be selected by.
const SELECTABLE: [&str; 2] = ["metadata.name", "metadata.namespace"];

/// What custom resources take from the built-in ones.
#[derive(Debug, Clone)]
pub struct ResourceBase {
    /// The schema of the built-in types.
    pub graph: Arc<Graph>,
    /// The resource of the bodies of `scale`.
    pub scale: Option<Arc<Resource>>,
    /// What conversion webhooks are reached with.
    pub webhooks: Webhooks,
    /// The room for compiled schemas.
    pub schemas: Arc<CompiledSchemas>,
}

impl ResourceBase {
    /// The base that a catalogue has.
    #[must_use]
    pub fn of(catalogue: &Catalogue, webhooks: Webhooks) -> Self {
        let scale =
            catalogue.iter().find_map(|resource| resource.subresource("scale")?.body.clone());
        let schemas = CompiledSchemas::new(MAX_COMPILED_SCHEMA_BYTES);
        Self { graph: catalogue.graph().clone(), scale, webhooks, schemas }
    }
}

/// The signals of the ends of a definition's served versions, by version.
pub type Removals = BTreeMap<String, Removal>;

/// The versions that requests can use.
pub fn served_versions(definition: &Definition) -> impl Iterator<Item = &DefinitionVersion> {
    let versions = definition.versions.iter().filter(|_| definition.is_established());
    versions.filter(|version| version.served)
}

/// The versions of a definition as its objects are read by them.
#[must_use]
pub fn read_versions(base: &ResourceBase, definition: &Definition) -> Arc<[ReadVersion]> {
    let read = |version| {
        let types = CompiledVersion::new(&base.graph, &base.schemas, version);
        ReadVersion::new(Arc::new(types), version)
    };
    definition.versions.iter().map(read).collect()
}

/// The resources of a definition in the order of discovery; none while it is not established. The
/// storage version has one even when it is not served. `stored` are its versions as they are read,
/// and `removals` has those of the served ones.
#[must_use]
pub fn resources(
    base: &ResourceBase,
    definition: &Definition,
    stored: &Arc<[ReadVersion]>,
    removals: &Removals,
) -> Vec<Arc<Resource>> {
    let storage = definition.versions.iter().position(|version| version.storage);
    let Some(storage) = storage.filter(|_| definition.is_established()) else {
        return Vec::new();
    };
    let strategy = |own: usize| {
        Arc::new(CustomStrategy::new(stored[own].types.clone(), &definition.versions[own]))
    };
    let storage_strategy = strategy(storage);
    let converter = converter(base, definition);
    let is_served = |own: &usize| {
        served_versions(definition).any(|one| one.name == definition.versions[*own].name)
    };
    let mut served: Vec<usize> =
        (0..definition.versions.len()).filter(|own| is_served(own) || *own == storage).collect();
    served.sort_by(|left, right| {
        let name = |own: usize| definition.versions[own].name.as_str();
        version_order::compare(name(*left), name(*right))
    });
    let types = served.iter().filter(|own| is_served(own)).map(|own| {
        let types: Arc<dyn TypeSource> = Arc::new(VersionTypes(stored[*own].types.clone()));
        (definition.versions[*own].name.clone(), types)
    });
    let versions: Arc<[_]> = types.collect();
    let resource = |own: usize| {
        let version = &definition.versions[own];
        let reader = Reader::new(stored, own, storage);
        let reader = Arc::new(if converter.is_some() { reader.asking_a_webhook() } else { reader });
        let stored_form = (!version.storage).then(|| StoredForm {
            conversion: reader.clone(),
            selectable_fields: selectable(&definition.versions[storage]),
            strategy: storage_strategy.clone(),
        });
        let strategy = if own == storage { storage_strategy.clone() } else { strategy(own) };
        let types = stored[own].types.clone();
        let remote = converter.clone().map(|converter| {
            let form = VersionForm { strategy: strategy.clone(), selectable: selectable(version) };
            let remote = WebhookVersion::new(converter, definition, reader.clone(), form);
            Arc::new(remote) as Arc<dyn RemoteConversion>
        });
        Arc::new(Resource {
            served: is_served(&own),
            stored_form,
            reader: Some(reader),
            remote,
            storage_version: definition.versions[storage].name.clone(),
            versions: versions.clone(),
            removal: Some(removals.get(&version.name).cloned().unwrap_or_default()),
            ..one(base, definition, version, types, strategy)
        })
    };
    served.into_iter().map(resource).collect()
}

/// What converts the objects of a definition, if a webhook does.
fn converter(base: &ResourceBase, definition: &Definition) -> Option<Arc<Converter>> {
    let ConversionStrategy::Webhook(webhook) = &definition.conversion else {
        return None;
    };
    let names = base.graph.names();
    Some(Arc::new(base.webhooks.converter(names, &definition.name, webhook)))
}

/// The resource of one version, as if it were the storage version.
fn one(
    base: &ResourceBase,
    definition: &Definition,
    version: &DefinitionVersion,
    types: Arc<CompiledVersion>,
    strategy: Arc<dyn Strategy>,
) -> Resource {
    let (group, names) = (&definition.group, &definition.accepted);
    let api_version = format!("{group}/{}", version.name);
    let deprecation = version.deprecated.then(|| {
        let told = version.deprecation_warning.clone();
        let warning = told.unwrap_or_else(|| deprecation(definition, version, &api_version));
        Deprecation { warning, removed_release: None }
    });
    Resource {
        group: group.clone(),
        version: version.name.clone(),
        api_version,
        kind: names.kind.clone(),
        list_kind: names.list_kind.clone(),
        plural: names.plural.clone(),
        singular: names.singular.clone(),
        short_names: names.short_names.clone(),
        categories: names.categories.clone(),
        namespaced: definition.namespaced,
        stored: true,
        served: true,
        verbs: VERBS.map(str::to_owned).to_vec(),
        subresources: subresources(base, definition, version),
        selectable_fields: selectable(version),
        types: ObjectTypes::OnDemand(Arc::new(VersionTypes(types))),
        columns: Vec::new(),
        delete_returns_object: false,
        storage_group: group.clone(),
        deprecation,
        storage_version: version.name.clone(),
        stored_form: None,
        reader: None,
        remote: None,
        conversions: Vec::new(),
        versions: Arc::default(),
        strategy,
        prefix: Resource::storage_prefix(group, &names.plural),
        live: Some(LiveMarker {
            key: Key::LiveDefinition { name: &definition.name }.encode(),
            uid: definition.uid.clone().into(),
        }),
        removal: None,
    }
}

/// The warning of a version whose definition has no words of its own: it names the first version
/// that comes before it in discovery and is not deprecated.
fn deprecation(
    definition: &Definition,
    deprecated: &DefinitionVersion,
    api_version: &str,
) -> String {
    let kind = &definition.accepted.kind;
    let newer = definition.versions.iter().filter(|version| {
        version.served
            && !version.deprecated
            && version_order::compare(&version.name, &deprecated.name).is_lt()
    });
    let instead = version_order::preferred(newer.map(|version| version.name.as_str()));
    let instead = instead.map(|version| format!("; use {}/{version} {kind}", definition.group));
    format!("{api_version} {kind} is deprecated{}", instead.unwrap_or_default())
}

fn selectable(version: &DefinitionVersion) -> Vec<String> {
    let declared = version.selectable_fields.iter().map(|path| path.trim_start_matches('.'));
    SELECTABLE.into_iter().chain(declared).map(str::to_owned).collect()
}

fn subresources(
    base: &ResourceBase,
    definition: &Definition,
    version: &DefinitionVersion,
) -> Vec<Subresource> {
    let verbs = SUBRESOURCE_VERBS.map(str::to_owned).to_vec();
    let status = version.status.then(|| Subresource {
        name: "status".to_owned(),
        group: definition.group.clone(),
        version: version.name.clone(),
        kind: definition.accepted.kind.clone(),
        verbs: verbs.clone(),
        body: None,
    });
    let scale = base.scale.as_ref().filter(|_| version.scale.is_some()).map(|body| Subresource {
        name: "scale".to_owned(),
        group: body.group.clone(),
        version: body.version.clone(),
        kind: body.kind.clone(),
        verbs,
        body: Some(body.clone()),
    });
    status.into_iter().chain(scale).collect()
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use quorate_registry::stored_codec;
    use serde_json::json;

    use super::*;
    use crate::crd::testing;

    fn base() -> ResourceBase {
        let (graph, webhooks) = (testing::base(), testing::webhooks());
        ResourceBase { graph, scale: None, webhooks, schemas: testing::schemas() }
    }

    fn made(base: &ResourceBase, definition: &Definition) -> Vec<Arc<Resource>> {
        resources(base, definition, &read_versions(base, definition), &Removals::new())
    }

    #[test]
    fn an_established_definition_is_served() {
        let base = base();
        let mut definition = testing::definition(json!({"type": "object"}));
        let served = made(&base, &definition);
        let [v1, beta] = &served[..] else { panic!("two versions") };
        assert_eq!((v1.api_version.as_str(), beta.version.as_str()), ("x.example/v1", "v1beta1"));
        assert!(v1.is_stored_form() && !beta.is_stored_form());
        assert_eq!(v1.selectable_fields, ["metadata.name", "metadata.namespace", "spec.color"]);
        assert!(v1.subresource("status").is_some() && beta.subresource("status").is_none());
        assert_eq!(
            beta.deprecation.as_ref().map(|told| &*told.warning),
            Some("x.example/v1beta1 Widget is deprecated; use x.example/v1 Widget")
        );
        let live = v1.live.as_ref().expect("custom");
        assert_eq!((&live.key[..], &live.uid[..]), (&b"d/widgets.x.example"[..], &b"u"[..]));
        assert_eq!(v1.strategy.printer_columns()[0].name, "Age");
        definition.versions[1].served = false;
        let served = made(&base, &definition);
        let told: Vec<_> = served.iter().map(|one| (one.version.as_str(), one.served)).collect();
        assert_eq!(told, [("v1", false), ("v1beta1", true)]);
        assert!(served[0].is_stored_form() && served[0].is_custom());
        definition.conditions.clear();
        assert!(made(&base, &definition).is_empty());
    }

    #[test]
    fn what_is_in_form_is_copied() {
        let base = base();
        let of = |schema: serde_json::Value| made(&base, &testing::definition(schema));
        let (before, now) =
            (of(json!({"type": "object"})), of(json!({"type": "object", "nullable": true})));
        let object = json!({"metadata": {"name": "a", "uid": "u"}, "spec": {"color": "red"}});
        let value = stored_codec::encode(&before[0], &object.into()).expect("it is whole");
        let check = |resource: &Resource, expect: bool| {
            let served = stored_codec::served(resource, &value).expect("it reads back");
            assert_eq!(matches!(served, Cow::Borrowed(_)), expect);
            assert_eq!(stored_codec::is_stored_as_now(resource, &value), expect);
        };
        check(&before[0], true);
        // The other version has no selectable fields.
        check(&before[1], false);
        check(&now[0], false);
    }
}
