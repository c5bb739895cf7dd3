//! Definitions from the working tree of their objects.

use std::sync::Arc;

use quorate_meta::Value;

use super::{
    ConversionStrategy, Definition, DefinitionColumn, DefinitionCondition, DefinitionNames,
    DefinitionScale, DefinitionVersion, WebhookConversion,
};

impl Definition {
    /// Reads a definition that passed validation.
    ///
    /// # Errors
    /// The field that it lacks.
    pub fn read(object: &Value) -> Result<Self, String> {
        let spec = object.get("spec").ok_or("spec is missing")?;
        let names = names(spec.get("names").ok_or("spec.names is missing")?);
        let group = demanded(spec, "group", "spec.group")?;
        if names.plural.is_empty() || names.kind.is_empty() {
            return Err("spec.names lacks plural or kind".to_owned());
        }
        let versions: Vec<DefinitionVersion> =
            list(spec, "versions").iter().map(version).collect::<Result<_, _>>()?;
        let status = object.get("status");
        let accepted = status.and_then(|status| status.get("acceptedNames")).map(self::names);
        let meta = |field: &str| object.at(&["metadata", field]);
        let meta_text = |field: &str| text(object.get("metadata"), field);
        Ok(Self {
            name: meta_text("name"),
            uid: meta_text("uid"),
            generation: meta("generation").and_then(Value::as_i64).unwrap_or_default(),
            group,
            names,
            accepted: accepted.unwrap_or_default(),
            namespaced: spec.get("scope").and_then(Value::as_str) == Some("Namespaced"),
            versions,
            conversion: conversion(spec),
            preserves_unknown_fields: flag(spec, "preserveUnknownFields"),
            stored_versions: status
                .map(|status| texts(status, "storedVersions"))
                .unwrap_or_default(),
            conditions: status
                .map_or(&[][..], |status| list(status, "conditions"))
                .iter()
                .map(condition)
                .collect(),
            is_terminating: meta("deletionTimestamp").is_some_and(|time| !time.is_empty()),
        })
    }
}

fn names(value: &Value) -> DefinitionNames {
    DefinitionNames {
        plural: text(Some(value), "plural"),
        singular: text(Some(value), "singular"),
        short_names: texts(value, "shortNames"),
        kind: text(Some(value), "kind"),
        list_kind: text(Some(value), "listKind"),
        categories: texts(value, "categories"),
    }
}

fn version(value: &Value) -> Result<DefinitionVersion, String> {
    let sub = |name: &str| value.at(&["subresources", name]);
    Ok(DefinitionVersion {
        name: demanded(value, "name", "spec.versions[].name")?,
        served: flag(value, "served"),
        storage: flag(value, "storage"),
        deprecated: flag(value, "deprecated"),
        deprecation_warning: value
            .get("deprecationWarning")
            .and_then(Value::as_str)
            .map(Into::into),
        status: sub("status").is_some_and(|status| status.as_map().is_some()),
        scale: sub("scale").filter(|scale| scale.as_map().is_some()).map(scale),
        columns: list(value, "additionalPrinterColumns").iter().map(column).collect(),
        selectable_fields: list(value, "selectableFields")
            .iter()
            .map(|field| text(Some(field), "jsonPath"))
            .collect(),
        schema: value
            .at(&["schema", "openAPIV3Schema"])
            .filter(|schema| schema.as_map().is_some())
            .cloned()
            .map(Arc::new),
    })
}

fn scale(value: &Value) -> DefinitionScale {
    DefinitionScale {
        spec_replicas_path: text(Some(value), "specReplicasPath"),
        status_replicas_path: text(Some(value), "statusReplicasPath"),
        label_selector_path: Some(text(Some(value), "labelSelectorPath"))
            .filter(|path| !path.is_empty()),
    }
}

fn column(value: &Value) -> DefinitionColumn {
    DefinitionColumn {
        name: text(Some(value), "name"),
        ty: text(Some(value), "type"),
        format: text(Some(value), "format"),
        description: text(Some(value), "description"),
        priority: value.get("priority").and_then(Value::as_i64).unwrap_or_default(),
        json_path: text(Some(value), "jsonPath"),
    }
}

fn conversion(spec: &Value) -> ConversionStrategy {
    if spec.str_at(&["conversion", "strategy"]) != Some("Webhook") {
        return ConversionStrategy::None;
    }
    let webhook = spec.at(&["conversion", "webhook"]);
    ConversionStrategy::Webhook(Arc::new(WebhookConversion {
        client_config: webhook
            .and_then(|webhook| webhook.get("clientConfig"))
            .cloned()
            .unwrap_or_default(),
        review_versions: webhook
            .map(|webhook| texts(webhook, "conversionReviewVersions"))
            .unwrap_or_default(),
    }))
}

fn condition(value: &Value) -> DefinitionCondition {
    DefinitionCondition {
        ty: text(Some(value), "type"),
        status: text(Some(value), "status"),
        reason: text(Some(value), "reason"),
        message: text(Some(value), "message"),
    }
}

fn demanded(value: &Value, field: &str, path: &str) -> Result<String, String> {
    match value.get(field).and_then(Value::as_str) {
        Some(text) if !text.is_empty() => Ok(text.to_owned()),
        _ => Err(format!("{path} is missing")),
    }
}

fn text(value: Option<&Value>, field: &str) -> String {
    value.and_then(|value| value.get(field)).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn flag(value: &Value, field: &str) -> bool {
    value.get(field).and_then(Value::as_bool).unwrap_or_default()
}

fn list<'v>(value: &'v Value, field: &str) -> &'v [Value] {
    value.get(field).and_then(Value::as_list).unwrap_or_default()
}

fn texts(value: &Value, field: &str) -> Vec<String> {
    list(value, field).iter().filter_map(Value::as_str).map(Into::into).collect()
}
