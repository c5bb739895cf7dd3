//! Definitions for the tests of this module.

use std::sync::Arc;

use async_trait::async_trait;
use quorate_env::SystemEnv;
use quorate_meta::Naming;
use quorate_schema::Graph;
use quorate_webhook::{Clients, Outside, ServiceResolver};
use serde_json::json;

use super::compiled_schemas::{CompiledSchemas, MAX_COMPILED_SCHEMA_BYTES};
use super::conversion::{UncountedConversions, Webhooks};
use super::definition::{Definition, DefinitionVersion};
use super::version::CompiledVersion;

pub(super) fn base() -> Arc<Graph> {
    Arc::new(Graph::builtin(Naming::Svc.names()))
}

/// Widgets with the versions v1 (stored) and v1beta1 (deprecated); `schema` is that of v1.
pub(super) fn definition(schema: serde_json::Value) -> Definition {
    let object = json!({
        "metadata": {"name": "widgets.x.example", "uid": "u"},
        "spec": {
            "group": "x.example", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [
                {"name": "v1beta1", "served": true, "storage": false, "deprecated": true,
                 "schema": {"openAPIV3Schema": {"type": "object"}}},
                {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
                 "selectableFields": [{"jsonPath": ".spec.color"}], "subresources": {"status": {}}}
            ]
        },
        "status": {
            "acceptedNames": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "conditions": [{"type": "Established", "status": "True"}]
        }
    });
    read(object)
}

pub(super) fn version(schema: serde_json::Value) -> Arc<CompiledVersion> {
    compiled(&base(), definition(schema).version("v1").expect("v1"))
}

/// A version with room for its compiled schema.
pub(super) fn compiled(base: &Arc<Graph>, version: &DefinitionVersion) -> Arc<CompiledVersion> {
    Arc::new(CompiledVersion::new(base, &schemas(), version))
}

pub(super) fn schemas() -> Arc<CompiledSchemas> {
    CompiledSchemas::new(MAX_COMPILED_SCHEMA_BYTES)
}

pub(super) fn read(object: serde_json::Value) -> Definition {
    Definition::read(&object.to_string().into()).expect("it is whole")
}

/// Knows no Service.
#[derive(Debug)]
struct NoServices;

#[async_trait]
impl ServiceResolver for NoServices {
    async fn resolve(&self, _: &str, name: &str, _: u16) -> Result<String, String> {
        Err(format!("service {name:?} not found"))
    }
}

pub(super) fn webhooks() -> Webhooks {
    let env = SystemEnv::env();
    let services = Arc::new(NoServices);
    let outside = Outside { network: env.network, clock: env.clock, services, roots: Vec::new() };
    let (clients, metrics) = (Arc::new(Clients::new(outside)), Arc::new(UncountedConversions));
    Webhooks { clients, entropy: env.entropy, metrics }
}
