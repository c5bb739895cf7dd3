//! Definitions of custom resources (`apiextensions/v1`), read from their stored objects.
//!
//! Invariant: nothing is judged here. What a valid definition must have is demanded, with an error
//! that names the field; all other absent fields have the value that the API gives them. Schemas
//! stay as they are stored until they are needed.
//!
//! Not here: validation of definitions, and the resources that are made of them.

mod read;
mod stored_schema;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use quorate_meta::Value;

use super::validation::bundle_problem;
pub use read::without_spec;
pub use stored_schema::StoredSchema;

/// A definition: the resource of one kind, in all its versions.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// `PLURAL.GROUP`.
    pub name: String,
    /// Identity of the object that it was read from; empty before it is stored.
    pub uid: String,
    /// `metadata.generation`.
    pub generation: i64,
    /// The group of the resource, never empty.
    pub group: String,
    /// The names that the definition asks for.
    pub names: DefinitionNames,
    /// The names that it got: `status.acceptedNames`. A served resource has these.
    pub accepted: DefinitionNames,
    /// Whether the objects live in namespaces.
    pub namespaced: bool,
    /// The versions, in the order of the definition.
    pub versions: Vec<DefinitionVersion>,
    /// How objects get from one version to another.
    pub conversion: ConversionStrategy,
    /// `spec.preserveUnknownFields`: fields that are not in a schema are kept.
    pub preserves_unknown_fields: bool,
    /// `status.storedVersions`: versions that objects may be stored in.
    pub stored_versions: Vec<String>,
    /// The findings about the definition.
    pub conditions: Vec<DefinitionCondition>,
    /// Whether its deletion has begun.
    pub is_terminating: bool,
}

/// The names of a custom resource.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DefinitionNames {
    /// Plural, lower case: the segment in URIs.
    pub plural: String,
    /// Singular, lower case.
    pub singular: String,
    /// Short names for clients.
    pub short_names: Vec<String>,
    /// The kind of the objects.
    pub kind: String,
    /// The kind of lists of them.
    pub list_kind: String,
    /// Groups of resources that it belongs to, such as `all`.
    pub categories: Vec<String>,
}

/// One version of a definition.
#[derive(Debug, Clone, PartialEq)]
pub struct DefinitionVersion {
    /// For example `v1beta1`.
    pub name: String,
    /// Whether requests can use it.
    pub served: bool,
    /// Whether new objects are stored in it.
    pub storage: bool,
    /// Whether its users are warned.
    pub deprecated: bool,
    /// The text of that warning; `None` for the server's own.
    pub deprecation_warning: Option<String>,
    /// Whether `status` is a subresource.
    pub status: bool,
    /// The `scale` subresource.
    pub scale: Option<DefinitionScale>,
    /// The columns of tables besides the name; empty means the age.
    pub columns: Vec<DefinitionColumn>,
    /// Paths of the fields that field selectors may name, each with the leading `.`.
    pub selectable_fields: Vec<String>,
    /// The `openAPIV3Schema`; `None` where the definition has none.
    pub schema: Option<StoredSchema>,
}

/// Where the `scale` subresource finds its values: simple JSONPaths such as `.spec.replicas`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinitionScale {
    /// The desired number, below `.spec`.
    pub spec_replicas_path: String,
    /// The observed number, below `.status`.
    pub status_replicas_path: String,
    /// The label selector as text, below `.status` or `.spec`.
    pub label_selector_path: Option<String>,
}

/// A printer column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinitionColumn {
    /// The heading.
    pub name: String,
    /// `integer`, `number`, `string`, `boolean` or `date`.
    pub ty: String,
    /// The OpenAPI format; empty for none.
    pub format: String,
    /// What it shows; may be empty.
    pub description: String,
    /// 0 for columns that are always shown.
    pub priority: i64,
    /// The JSONPath of the value.
    pub json_path: String,
}

/// `spec.conversion`.
#[derive(Debug, Clone, PartialEq)]
pub enum ConversionStrategy {
    /// Only `apiVersion` changes.
    None,
    /// A webhook converts.
    Webhook(Arc<WebhookConversion>),
}

/// The webhook of a definition that converts its objects.
#[derive(Debug, Clone, PartialEq)]
pub struct WebhookConversion {
    /// `clientConfig` as it is written: `url` or `service`, and `caBundle`.
    pub client_config: Value,
    /// Versions of ConversionReview that the webhook takes, in its order of preference.
    pub review_versions: Vec<String>,
}

/// A condition of a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinitionCondition {
    /// For example `Established`.
    pub ty: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Why, for programs.
    pub reason: String,
    /// Why, for people.
    pub message: String,
}

impl Definition {
    /// Whether a condition is `True`.
    #[must_use]
    pub fn has_condition(&self, ty: &str) -> bool {
        self.conditions.iter().any(|condition| condition.ty == ty && condition.status == "True")
    }

    /// Whether its served versions take requests.
    #[must_use]
    pub fn is_established(&self) -> bool {
        self.has_condition("Established")
    }

    /// Whether the certificates for the webhook that converts its objects, if any are given, can be
    /// read.
    #[must_use]
    pub fn has_usable_bundle(&self) -> bool {
        let ConversionStrategy::Webhook(webhook) = &self.conversion else {
            return true;
        };
        let bundle = webhook.client_config.str_at(&["caBundle"]).unwrap_or_default();
        bundle.is_empty() || bundle_problem(bundle).is_none()
    }

    /// The version with this name.
    #[must_use]
    pub fn version(&self, name: &str) -> Option<&DefinitionVersion> {
        self.versions.iter().find(|version| version.name == name)
    }

    /// The version that new objects are stored in.
    #[must_use]
    pub fn storage_version(&self) -> Option<&DefinitionVersion> {
        self.versions.iter().find(|version| version.storage)
    }
}
