//! Schemas to nodes. Only schemas that keep the rules come here; what the rules forbid is left out.

use quorate_meta::{SmolStr, Value};

use super::formats::Format;
use super::node::{Additional, Constraints, Enumeration, NodeId, Rule, SchemaNode, ValueType};
use super::patterns::Patterns;
use super::source::{AdditionalSource, Source};
use crate::graph::{ListKind, MapKind, Text};

/// The nodes so far.
pub(super) struct Parser<'p, 'a> {
    patterns: &'p mut Patterns<'a>,
    nodes: Vec<SchemaNode>,
}

impl<'p, 'a> Parser<'p, 'a> {
    pub(super) fn new(patterns: &'p mut Patterns<'a>) -> Self {
        Self { patterns, nodes: Vec::new() }
    }

    /// All nodes; the last one is that of the schema that was parsed last.
    pub(super) fn finish(self) -> Vec<SchemaNode> {
        self.nodes
    }

    /// Adds the nodes of a schema.
    pub(super) fn schema(&mut self, source: Source<'_>) -> NodeId {
        let ty = if source.is_int_or_string() {
            ValueType::IntOrString
        } else {
            ValueType::named(source.ty())
        };
        let properties: Box<[(SmolStr, NodeId)]> =
            source.properties().map(|(name, schema)| (name.into(), self.schema(schema))).collect();
        let additional = match source.additional() {
            None => Additional::Unsaid,
            Some(AdditionalSource::Allowed(allowed)) => Additional::Allowed(allowed),
            Some(AdditionalSource::Schema(schema)) => Additional::Schema(self.schema(schema)),
        };
        let node = SchemaNode {
            format: Format::of(&ty, source.text("format")),
            nullable: source.flag("nullable"),
            preserves: source.preserves(),
            embedded: source.is_embedded(),
            properties,
            additional,
            items: source.items().map(|items| self.schema(items)),
            required: source.texts("required").map(SmolStr::from).collect(),
            list: list_kind(source),
            map: match source.map_type() {
                Some("atomic") => Some(MapKind::Atomic),
                Some("granular") => Some(MapKind::Granular),
                _ => None,
            },
            default: source.get("default").map(|value| Box::new(value.clone())),
            constraints: self.constraints(source),
            rules: source.list(&source.words.validations).iter().map(rule).collect(),
            ty,
        };
        let id = NodeId(
            u32::try_from(self.nodes.len()).expect("a definition has fewer than 2^32 schemas"),
        );
        self.nodes.push(node);
        id
    }

    fn constraints(&mut self, source: Source<'_>) -> Option<Box<Constraints>> {
        const WORDS: [&str; 15] = [
            "minLength",
            "maxLength",
            "pattern",
            "minimum",
            "maximum",
            "multipleOf",
            "minItems",
            "maxItems",
            "minProperties",
            "maxProperties",
            "enum",
            "allOf",
            "anyOf",
            "oneOf",
            "not",
        ];
        if !WORDS.iter().any(|word| source.get(word).is_some()) {
            return None;
        }
        let pattern = Some(source.text("pattern")).filter(|text| !text.is_empty());
        let values = source.list("enum");
        Some(Box::new(Constraints {
            min_length: source.count("minLength"),
            max_length: source.count("maxLength"),
            pattern: pattern.and_then(|text| self.patterns.get(text).clone().ok()),
            minimum: source.number("minimum"),
            maximum: source.number("maximum"),
            exclusive_minimum: source.flag("exclusiveMinimum"),
            exclusive_maximum: source.flag("exclusiveMaximum"),
            multiple_of: source.number("multipleOf"),
            min_items: source.count("minItems"),
            max_items: source.count("maxItems"),
            min_properties: source.count("minProperties"),
            max_properties: source.count("maxProperties"),
            values: if values.is_empty() { None } else { Some(Enumeration::new(values)) },
            all_of: self.branches(source, "allOf"),
            any_of: self.branches(source, "anyOf"),
            one_of: self.branches(source, "oneOf"),
            not: source.schema("not").map(|schema| self.schema(schema)),
        }))
    }

    fn branches(&mut self, source: Source<'_>, word: &str) -> Box<[NodeId]> {
        source.each(word).map(|(_, schema)| self.schema(schema)).collect()
    }
}

fn list_kind(source: Source<'_>) -> Option<ListKind> {
    Some(match source.list_type()? {
        "atomic" => ListKind::Atomic,
        "set" => ListKind::Set,
        "map" => {
            ListKind::Map(source.list_map_keys().map(|key| Text::Owned(key.to_owned())).collect())
        }
        _ => return None,
    })
}

fn rule(value: &Value) -> Rule {
    let text = |word: &str| value.get(word).and_then(Value::as_str).unwrap_or_default().to_owned();
    Rule {
        rule: text("rule"),
        message: text("message"),
        message_expression: text("messageExpression"),
        reason: text("reason"),
        field_path: text("fieldPath"),
        optional_old_self: value.get("optionalOldSelf").and_then(Value::as_bool),
    }
}
