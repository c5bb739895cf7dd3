//! Structural schemas: what a custom resource definition says of its objects, compiled once and used for every request.
//!
//! [`compile`] checks the `openAPIV3Schema` of one version against the rules of structural schemas and makes of it a [`Structural`]:
//!
//! - a layer over the built-in type graph, so that the one engine of this crate decodes, prunes, defaults, merges and tracks the fields
//!   of custom resources as it does those of built-in kinds;
//! - nodes with what types cannot say (bounds, patterns, enumerations, logic, rules), against which values are validated;
//! - for CEL, the declarations of [`cel_types`].
//!
//! Everything is bounded ([`limits`]): a hostile schema or value ends in an error. Invariant: a compiled schema is immutable and shares
//! the machinery's types with its base. Not here: regular expressions (the caller compiles them), rules in CEL, what the strategy of
//! custom resources checks of names and metadata.

mod below;
pub mod cel_types;
mod embedded;
pub mod field_path;
mod formats;
pub mod limits;
mod node;
mod parse;
mod patterns;
mod place;
mod rules;
pub mod sameness;
mod source;
mod types;
mod uniqueness;
mod validate;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use quorate_meta::{Cause, Path, Value};

pub use embedded::CheckMetadata;
pub use formats::Format;
pub use node::{
    Additional, CompilePattern, Constraints, Enumeration, Matcher, NodeId, Pattern, Rule,
    SchemaNode, ValueType,
};

use crate::graph::{Graph, TypeId};
use below::Below;
use patterns::Patterns;
pub use place::Place;
use source::{Source, Words};

/// What a schema is compiled with.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// The built-in graph; its naming profile counts.
    pub base: &'a Arc<Graph>,
    /// Compiles the patterns.
    pub patterns: CompilePattern<'a>,
    /// The version has the status subresource.
    pub has_status: bool,
}

/// One version's schema, ready for use.
#[derive(Debug)]
pub struct Structural {
    graph: Arc<Graph>,
    ty: TypeId,
    nodes: Vec<SchemaNode>,
    root: NodeId,
    below: Below,
}

/// Checks and compiles an `openAPIV3Schema` that stands at `path` (`spec.validation.openAPIV3Schema`).
///
/// # Errors
/// Everything that is wrong with it, in the order of release 1.35.
pub fn compile(
    schema: &Value,
    path: &Path,
    options: Options<'_>,
) -> Result<Structural, Vec<Cause>> {
    let words = Words::new(options.base.names());
    let Some(root) = Source::of(schema, &words) else {
        return Err(vec![Cause::required(path, "")]);
    };
    limits::check(root, path).map_err(|cause| vec![cause])?;
    let place = Place::root(path.as_str());
    let mut told = limits::Told::default();
    rules::words::check_root(root, &place, options.has_status, &mut told);
    rules::words::check(root, &place, &mut told);
    let mut causes = told.into_causes();
    let mut patterns = Patterns::new(options.patterns);
    if let Some(word) = rules::unsupported(root) {
        if causes.is_empty() {
            causes.push(Cause::invalid(
                path,
                "",
                &format!("OpenAPIV3Schema '{word}' is not supported"),
            ));
        }
        return Err(causes);
    }
    let not_structural = rules::structural(root, &place, &mut patterns);
    if !not_structural.is_empty() {
        causes.extend(not_structural);
        return Err(causes);
    }
    let compiled = Structural::new(root, options.base, &mut patterns);
    causes.extend(rules::defaults::check(&compiled, &place));
    if causes.is_empty() { Ok(compiled) } else { Err(causes) }
}

/// What keeps an `openAPIV3Schema` that stands at `path` from being structural, sorted by text; what else is wrong with it is
/// left to [`compile`].
#[must_use]
pub fn violations(schema: &Value, path: &Path, options: Options<'_>) -> Vec<Cause> {
    let words = Words::new(options.base.names());
    let Some(root) = Source::of(schema, &words) else {
        return vec![Cause::required(path, "")];
    };
    if let Err(cause) = limits::check(root, path) {
        return vec![cause];
    }
    if let Some(word) = rules::unsupported(root) {
        return vec![Cause::invalid(
            path,
            "",
            &format!("OpenAPIV3Schema '{word}' is not supported"),
        )];
    }
    rules::structural(root, &Place::root(path.as_str()), &mut Patterns::new(options.patterns))
}

impl Structural {
    /// The schema that allows everything and keeps every field.
    #[must_use]
    pub fn open(base: &Arc<Graph>) -> Self {
        let root = NodeId(0);
        let nodes =
            vec![SchemaNode { ty: ValueType::Object, preserves: true, ..SchemaNode::default() }];
        let (graph, ty) = types::layer(base, &nodes, root);
        Self { graph: Arc::new(graph), ty, below: Below::of(&nodes), nodes, root }
    }

    fn new(root: Source<'_>, base: &Arc<Graph>, patterns: &mut Patterns<'_>) -> Self {
        let mut parser = parse::Parser::new(patterns);
        let root = parser.schema(root);
        let nodes = parser.finish();
        let (graph, ty) = types::layer(base, &nodes, root);
        Self { graph: Arc::new(graph), ty, below: Below::of(&nodes), nodes, root }
    }

    /// The version's graph.
    pub fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    /// The type of its objects.
    pub fn ty(&self) -> TypeId {
        self.ty
    }

    /// The node of whole objects.
    pub fn root(&self) -> NodeId {
        self.root
    }

    /// Every node, children before their parents.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &SchemaNode)> {
        (0..).map(NodeId).zip(&self.nodes)
    }

    /// A node.
    pub fn node(&self, id: NodeId) -> &SchemaNode {
        &self.nodes[id.0 as usize]
    }

    /// Whether anything has a default.
    pub fn has_defaults(&self) -> bool {
        self.nodes.iter().any(|node| node.default.is_some())
    }

    /// Whether the status, or something in it, has a default.
    pub fn has_status_defaults(&self) -> bool {
        self.graph
            .property(self.ty, "status")
            .is_some_and(|field| field.fills_by(|id| Some(self.graph.ty(id))))
    }

    /// What is wrong with an object. Its metadata is left to the rules that all kinds share.
    pub fn validate(&self, object: &Value) -> Vec<Cause> {
        validate::validate(self, self.root, "", object, None)
    }

    /// What is wrong with an object that replaces `old`. What stays as it was may be wrong; elements of lists are the same when their
    /// keys are, others when the whole list is.
    pub fn validate_update(&self, object: &Value, old: &Value) -> Vec<Cause> {
        validate::validate(self, self.root, "", object, Some(old))
    }

    /// What is wrong with the status of an object: all that an update of the subresource is asked about.
    pub fn validate_status(&self, object: &Value, old: Option<&Value>) -> Vec<Cause> {
        match (self.node(self.root).property("status"), object.get("status")) {
            (Some(id), Some(status)) => validate::validate(
                self,
                id,
                "status",
                status,
                old.and_then(|old| old.get("status")),
            ),
            _ => Vec::new(),
        }
    }

    /// What is wrong with the value at a node, which stands at `prefix`.
    pub fn validate_at(&self, id: NodeId, prefix: &str, value: &Value) -> Vec<Cause> {
        validate::validate(self, id, prefix, value, None)
    }

    /// What is wrong with `apiVersion` and `kind` of embedded objects, and with their metadata, about which `metadata` is asked.
    pub fn validate_embedded(&self, object: &Value, metadata: CheckMetadata<'_>) -> Vec<Cause> {
        embedded::validate(self, object, metadata)
    }

    /// Elements that come more than once in lists of type set or map.
    pub fn duplicates(&self, object: &Value) -> Vec<Cause> {
        uniqueness::duplicates(self, object)
    }
}
