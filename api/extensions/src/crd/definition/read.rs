//! Definitions from the JSON of their objects.
//!
//! Invariant: schemas are found and not read; what they take is the memory of the stored object.

use std::sync::Arc;

use bytes::Bytes;
use quorate_meta::Value;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::{
    ConversionStrategy, Definition, DefinitionColumn, DefinitionCondition, DefinitionNames,
    DefinitionScale, DefinitionVersion, StoredSchema, WebhookConversion,
};

/// What is read of an object. Fields may be absent or null; others are ignored.
#[derive(Deserialize)]
struct Object<'j> {
    metadata: Option<Metadata>,
    #[serde(borrow)]
    spec: Option<Spec<'j>>,
    status: Option<Status>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    name: Option<String>,
    uid: Option<String>,
    generation: Option<i64>,
    deletion_timestamp: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec<'j> {
    group: Option<String>,
    names: Option<Names>,
    scope: Option<String>,
    #[serde(borrow)]
    versions: Option<Vec<Version<'j>>>,
    conversion: Option<Conversion>,
    preserve_unknown_fields: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Names {
    plural: Option<String>,
    singular: Option<String>,
    short_names: Option<Vec<String>>,
    kind: Option<String>,
    list_kind: Option<String>,
    categories: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version<'j> {
    name: Option<String>,
    served: Option<bool>,
    storage: Option<bool>,
    deprecated: Option<bool>,
    deprecation_warning: Option<String>,
    subresources: Option<Subresources>,
    additional_printer_columns: Option<Vec<Column>>,
    selectable_fields: Option<Vec<SelectableField>>,
    #[serde(borrow)]
    schema: Option<Schema<'j>>,
}

#[derive(Deserialize)]
struct Schema<'j> {
    #[serde(borrow, rename = "openAPIV3Schema")]
    schema: Option<&'j RawValue>,
}

#[derive(Default, Deserialize)]
struct Subresources {
    status: Option<IgnoredAny>,
    scale: Option<Scale>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Scale {
    spec_replicas_path: Option<String>,
    status_replicas_path: Option<String>,
    label_selector_path: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Column {
    name: Option<String>,
    #[serde(rename = "type")]
    ty: Option<String>,
    format: Option<String>,
    description: Option<String>,
    priority: Option<i64>,
    json_path: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SelectableField {
    json_path: Option<String>,
}

#[derive(Deserialize)]
struct Conversion {
    strategy: Option<String>,
    webhook: Option<Webhook>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Webhook {
    client_config: Option<Value>,
    conversion_review_versions: Option<Vec<String>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    accepted_names: Option<Names>,
    stored_versions: Option<Vec<String>>,
    conditions: Option<Vec<Condition>>,
}

#[derive(Deserialize)]
struct Condition {
    #[serde(rename = "type")]
    ty: Option<String>,
    status: Option<String>,
    reason: Option<String>,
    message: Option<String>,
}

/// What an object says besides its specification.
#[derive(Deserialize)]
struct Rest {
    metadata: Value,
    #[serde(default)]
    status: Value,
}

/// The object of a definition without its `spec`, which nearly all of it is.
///
/// # Errors
/// What is wrong with the JSON.
pub fn without_spec(json: &[u8]) -> Result<Value, String> {
    let rest: Rest = serde_json::from_slice(json).map_err(|error| error.to_string())?;
    Ok(Value::from([("metadata", rest.metadata), ("status", rest.status)]))
}

impl Definition {
    /// Reads a definition that passed validation from its JSON.
    ///
    /// # Errors
    /// The field that it lacks, or that is not what it should be.
    pub fn read(json: &Bytes) -> Result<Self, String> {
        let object: Object<'_> = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        let metadata = object.metadata.unwrap_or_default();
        let spec = object.spec.ok_or("spec is missing")?;
        let names = DefinitionNames::from(spec.names.ok_or("spec.names is missing")?);
        let group = demanded(spec.group, "spec.group")?;
        if names.plural.is_empty() || names.kind.is_empty() {
            return Err("spec.names lacks plural or kind".to_owned());
        }
        let versions = spec.versions.unwrap_or_default().into_iter();
        let versions = versions.map(|version| version.read(json)).collect::<Result<_, _>>()?;
        let status = object.status.unwrap_or_default();
        let conditions = status.conditions.unwrap_or_default().into_iter();
        Ok(Self {
            name: metadata.name.unwrap_or_default(),
            uid: metadata.uid.unwrap_or_default(),
            generation: metadata.generation.unwrap_or_default(),
            group,
            names,
            accepted: status.accepted_names.map(Into::into).unwrap_or_default(),
            namespaced: spec.scope.as_deref() == Some("Namespaced"),
            versions,
            conversion: spec.conversion.map_or(ConversionStrategy::None, Conversion::read),
            preserves_unknown_fields: spec.preserve_unknown_fields.unwrap_or_default(),
            stored_versions: status.stored_versions.unwrap_or_default(),
            conditions: conditions.map(Into::into).collect(),
            is_terminating: metadata.deletion_timestamp.is_some_and(|time| !time.is_empty()),
        })
    }
}

impl Version<'_> {
    /// A version in this object.
    fn read(self, json: &Bytes) -> Result<DefinitionVersion, String> {
        let subresources = self.subresources.unwrap_or_default();
        let schema = self.schema.and_then(|schema| schema.schema);
        let columns = self.additional_printer_columns.unwrap_or_default();
        let selectable = self.selectable_fields.unwrap_or_default().into_iter();
        Ok(DefinitionVersion {
            name: demanded(self.name, "spec.versions[].name")?,
            served: self.served.unwrap_or_default(),
            storage: self.storage.unwrap_or_default(),
            deprecated: self.deprecated.unwrap_or_default(),
            deprecation_warning: self.deprecation_warning,
            status: subresources.status.is_some(),
            scale: subresources.scale.map(Into::into),
            columns: columns.into_iter().map(Into::into).collect(),
            selectable_fields: selectable
                .map(|field| field.json_path.unwrap_or_default())
                .collect(),
            schema: schema.map(|schema| StoredSchema::within(json, schema.get())),
        })
    }
}

impl Conversion {
    fn read(self) -> ConversionStrategy {
        if self.strategy.as_deref() != Some("Webhook") {
            return ConversionStrategy::None;
        }
        let webhook = self.webhook.unwrap_or_default();
        ConversionStrategy::Webhook(Arc::new(WebhookConversion {
            client_config: webhook.client_config.unwrap_or_default(),
            review_versions: webhook.conversion_review_versions.unwrap_or_default(),
        }))
    }
}

impl From<Names> for DefinitionNames {
    fn from(names: Names) -> Self {
        Self {
            plural: names.plural.unwrap_or_default(),
            singular: names.singular.unwrap_or_default(),
            short_names: names.short_names.unwrap_or_default(),
            kind: names.kind.unwrap_or_default(),
            list_kind: names.list_kind.unwrap_or_default(),
            categories: names.categories.unwrap_or_default(),
        }
    }
}

impl From<Scale> for DefinitionScale {
    fn from(scale: Scale) -> Self {
        Self {
            spec_replicas_path: scale.spec_replicas_path.unwrap_or_default(),
            status_replicas_path: scale.status_replicas_path.unwrap_or_default(),
            label_selector_path: scale.label_selector_path.filter(|path| !path.is_empty()),
        }
    }
}

impl From<Column> for DefinitionColumn {
    fn from(column: Column) -> Self {
        Self {
            name: column.name.unwrap_or_default(),
            ty: column.ty.unwrap_or_default(),
            format: column.format.unwrap_or_default(),
            description: column.description.unwrap_or_default(),
            priority: column.priority.unwrap_or_default(),
            json_path: column.json_path.unwrap_or_default(),
        }
    }
}

impl From<Condition> for DefinitionCondition {
    fn from(condition: Condition) -> Self {
        Self {
            ty: condition.ty.unwrap_or_default(),
            status: condition.status.unwrap_or_default(),
            reason: condition.reason.unwrap_or_default(),
            message: condition.message.unwrap_or_default(),
        }
    }
}

fn demanded(text: Option<String>, path: &str) -> Result<String, String> {
    text.filter(|text| !text.is_empty()).ok_or_else(|| format!("{path} is missing"))
}
