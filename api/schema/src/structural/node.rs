//! A compiled schema: one node for each place of a value and for each branch of `allOf`, `anyOf`, `oneOf` and `not`.
//!
//! Invariants: nodes lie in one list and refer to each other by number; a parent comes after its children; properties are sorted by
//! name. What the shared engine needs of them is also in the type graph; values are validated with the nodes.

use std::fmt;
use std::sync::Arc;

use quorate_meta::{SmolStr, Value};

use super::formats::Format;
use crate::graph::{ListKind, MapKind};

/// Number of a node in its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NodeId(pub(super) u32);

impl NodeId {
    /// The number as an index into a list of as many items as there are nodes.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The type that a schema demands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ValueType {
    /// Any: inside of logic, and where unknown fields are preserved without a type.
    #[default]
    Any,
    /// A JSON object.
    Object,
    /// A list.
    Array,
    /// Text.
    String,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A whole number or text.
    IntOrString,
    /// A word that is no type; such a schema never validates.
    Other(SmolStr),
}

impl ValueType {
    pub(super) fn named(name: &str) -> Self {
        match name {
            "" => Self::Any,
            "object" => Self::Object,
            "array" => Self::Array,
            "string" => Self::String,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            other => Self::Other(other.into()),
        }
    }

    /// The text in messages.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Any => "",
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::IntOrString => "integer,string",
            Self::Other(name) => name,
        }
    }
}

/// What is said of entries that are no property.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Additional {
    /// Nothing.
    #[default]
    Unsaid,
    /// They follow a schema: the object is a map.
    Schema(NodeId),
    /// They may be there, or not.
    Allowed(bool),
}

/// A rule in CEL, as it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// The expression.
    pub rule: String,
    /// What the client is told; empty when nothing is said.
    pub message: String,
    /// An expression for what the client is told; empty when nothing is said.
    pub message_expression: String,
    /// Reason in the answer; empty when nothing is said.
    pub reason: String,
    /// Path from the value on that the answer names; empty when nothing is said.
    pub field_path: String,
    /// Runs without an old value too.
    pub optional_old_self: Option<bool>,
}

/// One place of a value.
#[derive(Debug, Default)]
pub struct SchemaNode {
    /// Type that values have.
    pub ty: ValueType,
    /// Finer form of text or numbers; those that are not known are left out.
    pub format: Option<Format>,
    /// `null` is allowed.
    pub nullable: bool,
    /// Unknown fields are kept.
    pub preserves: bool,
    /// An object with `apiVersion`, `kind` and `metadata` of its own.
    pub embedded: bool,
    /// Fields by name.
    pub properties: Box<[(SmolStr, NodeId)]>,
    /// Other entries.
    pub additional: Additional,
    /// Elements.
    pub items: Option<NodeId>,
    /// Fields that must be there, in the order of the schema.
    pub required: Box<[SmolStr]>,
    /// How list elements are told apart.
    pub list: Option<ListKind>,
    /// How an object is owned.
    pub map: Option<MapKind>,
    /// Value when it is absent.
    pub default: Option<Box<Value>>,
    /// What else values must fulfil.
    pub constraints: Option<Box<Constraints>>,
    /// Rules in CEL.
    pub rules: Box<[Rule]>,
}

impl SchemaNode {
    /// The node of a property.
    pub fn property(&self, name: &str) -> Option<NodeId> {
        let at = self.properties.binary_search_by(|(other, _)| other.as_str().cmp(name)).ok()?;
        Some(self.properties[at].1)
    }

    /// The longest text, list or map that is allowed, as the schema says; negative ones count as zero.
    pub(super) fn bound(&self, of: impl Fn(&Constraints) -> Option<i64>) -> Option<u64> {
        let bound = of(self.constraints.as_deref()?)?;
        Some(u64::try_from(bound).unwrap_or_default())
    }
}

/// What values must fulfil besides having a type and a format.
#[derive(Debug, Default)]
pub struct Constraints {
    /// Least number of characters.
    pub min_length: Option<i64>,
    /// Greatest number of characters.
    pub max_length: Option<i64>,
    /// Regular expression that must be found.
    pub pattern: Option<Pattern>,
    /// Least number.
    pub minimum: Option<f64>,
    /// Greatest number.
    pub maximum: Option<f64>,
    /// The minimum itself is not allowed.
    pub exclusive_minimum: bool,
    /// The maximum itself is not allowed.
    pub exclusive_maximum: bool,
    /// Number of which the value is a multiple.
    pub multiple_of: Option<f64>,
    /// Least number of elements.
    pub min_items: Option<i64>,
    /// Greatest number of elements.
    pub max_items: Option<i64>,
    /// Least number of entries.
    pub min_properties: Option<i64>,
    /// Greatest number of entries.
    pub max_properties: Option<i64>,
    /// Allowed values.
    pub values: Option<Enumeration>,
    /// All of them hold.
    pub all_of: Box<[NodeId]>,
    /// At least one of them holds.
    pub any_of: Box<[NodeId]>,
    /// Exactly one of them holds.
    pub one_of: Box<[NodeId]>,
    /// It does not hold.
    pub not: Option<NodeId>,
}

/// The values of an `enum`.
#[derive(Debug)]
pub struct Enumeration {
    values: Box<[Value]>,
    /// Places of the texts among them, in order of the texts.
    texts: Box<[u32]>,
}

impl Enumeration {
    pub(super) fn new(values: &[Value]) -> Self {
        let values: Box<[Value]> = values.into();
        let places = (0u32..).zip(values.iter()).filter(|(_, value)| value.as_str().is_some());
        let mut texts: Box<[u32]> = places.map(|(at, _)| at).collect();
        texts.sort_unstable_by_key(|at| values[*at as usize].as_str());
        Self { values, texts }
    }

    /// Whether `value` is one of them. Numbers are the same however they are written; `null` never is one.
    pub fn contains(&self, value: &Value) -> bool {
        match value {
            Value::Null => false,
            Value::String(text) => self
                .texts
                .binary_search_by_key(&Some(text.as_str()), |at| self.values[*at as usize].as_str())
                .is_ok(),
            value => {
                let number = value.as_f64();
                self.values
                    .iter()
                    .any(|one| one == value || (number.is_some() && one.as_f64() == number))
            }
        }
    }

    /// In the order of the schema.
    pub fn values(&self) -> &[Value] {
        &self.values
    }
}

/// A compiled regular expression.
pub trait Matcher: fmt::Debug + Send + Sync {
    /// Whether the expression is found in `text`.
    fn is_match(&self, text: &str) -> bool;
}

/// Compiles regular expressions in RE2's syntax; the error is what a release-1.35 server says of a bad one.
pub type CompilePattern<'a> = &'a dyn Fn(&str) -> Result<Arc<dyn Matcher>, String>;

/// A `pattern`.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// As it is written.
    pub text: Arc<str>,
    /// Compiled.
    pub matcher: Arc<dyn Matcher>,
}
