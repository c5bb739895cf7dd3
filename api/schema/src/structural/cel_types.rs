//! What CEL sees of a schema: the type of each place, the names of its fields, and the sizes that costs are estimated from.
//!
//! | Schema | Type |
//! |---|---|
//! | object with properties | object; unknown fields, and fields whose name cannot be escaped, are not there |
//! | object with a schema for its entries | map |
//! | embedded object, and the root | object, with `apiVersion`, `kind`, `metadata.name` and `metadata.generateName` in any case |
//! | integer or string | dyn |
//! | array | list; of type set or map, equal in any order |
//! | boolean, number, integer | bool, double, int |
//! | string | string; `byte`: bytes; `date`, `date-time`, `datetime`: timestamp; `duration`: duration |
//!
//! A place without a type is not declared, nor is a list or map of such places. Sizes are bytes of JSON for the least, and characters,
//! bytes or elements for the greatest. The checker and the estimator themselves are quorate-cel's.

use std::borrow::Cow;

use quorate_meta::Value;

use super::Structural;
use super::node::{Additional, NodeId, SchemaNode, ValueType};
use crate::graph::ListKind;

/// Greatest size of a request, and so of what is in it, in bytes.
pub const MAX_REQUEST_BYTES: u64 = 3 << 20;
/// Greatest size of a time or a duration in JSON, in bytes.
const MAX_TIME_BYTES: u64 = 32;
/// Size of a date in JSON, in bytes.
const DATE_BYTES: u64 = 12;
/// Least sizes in JSON, in bytes.
const MIN_TIME_BYTES: u64 = 21;
const MIN_DURATION_BYTES: u64 = 3;
const MIN_BOOL_BYTES: u64 = 4;
const MIN_NUMBER_BYTES: u64 = 1;
const MIN_INT_OR_STRING_BYTES: u64 = 1;
/// An empty text, list, map or object.
const MIN_EMPTY_BYTES: u64 = 2;
/// Bytes of one character at most.
const MAX_CHARACTER_BYTES: u64 = 4;
/// Words that are no names in CEL.
const RESERVED: [&str; 21] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "namespace",
    "null",
    "package",
    "return",
    "true",
    "var",
    "void",
    "while",
];

/// The type of one place; what is in it has types of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CelType {
    /// A message with these fields, in the order of their names.
    Object(Vec<CelField>),
    /// A map from text.
    Map {
        /// Its values.
        value: NodeId,
        /// Greatest number of entries.
        max_entries: u64,
    },
    /// A list.
    List {
        /// Its elements.
        element: NodeId,
        /// How equality and concatenation work.
        kind: CelList,
        /// Greatest number of elements.
        max_elements: u64,
    },
    /// `bool`
    Bool,
    /// `int`
    Int,
    /// `double`
    Double,
    /// `string`, of at most so many bytes.
    String(u64),
    /// `bytes`, of at most so many bytes.
    Bytes(u64),
    /// `google.protobuf.Timestamp` of a day, whose text has at most so many bytes.
    Date(u64),
    /// `google.protobuf.Timestamp`, whose text has at most so many bytes.
    Timestamp(u64),
    /// `google.protobuf.Duration`, whose text has at most so many bytes.
    Duration(u64),
    /// `dyn`: an integer, or text of at most so many bytes.
    IntOrString(u64),
}

/// How lists of a list type are compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CelList {
    /// In order.
    Plain,
    /// In any order.
    Set,
    /// In any order, told apart by these properties.
    Map(Vec<String>),
}

/// A field of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CelField {
    /// As expressions write it.
    pub escaped: String,
    /// As JSON has it.
    pub name: String,
    /// What it holds.
    pub of: CelFieldType,
    /// It must be there.
    pub required: bool,
}

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CelFieldType {
    /// A place of the schema.
    Node(NodeId),
    /// The text of `apiVersion` or `kind`, or in the metadata of `name` or `generateName`.
    Text,
    /// The metadata: an object with the texts `generateName` and `name`.
    Metadata,
}

/// The declarations of one schema.
#[derive(Debug)]
pub struct Declarations<'s> {
    schema: &'s Structural,
    /// Least size of each place in JSON, in bytes; `None` for those that are not declared.
    sizes: Vec<Option<u64>>,
}

impl<'s> Declarations<'s> {
    /// Measures every place once.
    pub fn new(schema: &'s Structural) -> Self {
        let mut sizes: Vec<Option<u64>> = Vec::with_capacity(schema.nodes.len());
        for node in &schema.nodes {
            // What is in a node was measured before it.
            let size = |id: NodeId| sizes.get(id.0 as usize).copied().flatten();
            let size = min_bytes(node, size, |id| schema.node(id).default.is_none());
            sizes.push(size);
        }
        Self { schema, sizes }
    }

    /// The least size of a value in JSON, in bytes; `None` when the place is not declared.
    pub fn min_bytes(&self, id: NodeId) -> Option<u64> {
        self.sizes.get(id.0 as usize).copied().flatten()
    }

    /// The type of a place; `None` when it is not declared.
    pub fn of(&self, id: NodeId) -> Option<CelType> {
        self.min_bytes(id)?;
        let node = self.schema.node(id);
        Some(match &node.ty {
            ValueType::IntOrString => CelType::IntOrString(MAX_REQUEST_BYTES - 2),
            ValueType::Boolean => CelType::Bool,
            ValueType::Integer => CelType::Int,
            ValueType::Number => CelType::Double,
            ValueType::String => text(node),
            ValueType::Array => self.list(node)?,
            ValueType::Object => match node.additional {
                Additional::Schema(value) => self.map(node, value)?,
                _ => CelType::Object(self.fields(id, node)),
            },
            ValueType::Any | ValueType::Other(_) => return None,
        })
    }

    fn list(&self, node: &SchemaNode) -> Option<CelType> {
        let element = node.items?;
        let room = (MAX_REQUEST_BYTES - 2) / (self.min_bytes(element)? + 1);
        let kind = match &node.list {
            Some(ListKind::Set) => CelList::Set,
            Some(ListKind::Map(keys)) => {
                CelList::Map(keys.iter().map(ToString::to_string).collect())
            }
            _ => CelList::Plain,
        };
        Some(CelType::List {
            element,
            kind,
            max_elements: node.bound(|bounds| bounds.max_items).unwrap_or(room),
        })
    }

    fn map(&self, node: &SchemaNode, value: NodeId) -> Option<CelType> {
        let room = (MAX_REQUEST_BYTES - 2) / (self.min_bytes(value)? + 6);
        Some(CelType::Map {
            value,
            max_entries: node.bound(|bounds| bounds.max_properties).unwrap_or(room),
        })
    }

    fn fields(&self, id: NodeId, node: &SchemaNode) -> Vec<CelField> {
        let is_resource = node.embedded || id == self.schema.root;
        let replaces = is_resource && !self.declares_meta(node);
        let declared = node.properties.iter().filter(|(name, _)| !(replaces && is_meta(name)));
        let mut fields: Vec<CelField> = declared
            .filter_map(|(name, id)| {
                self.min_bytes(*id)?;
                let escaped = escape(name)?.into_owned();
                let required = node.required.contains(name);
                Some(CelField {
                    escaped,
                    name: name.to_string(),
                    of: CelFieldType::Node(*id),
                    required,
                })
            })
            .collect();
        if replaces {
            let meta = [
                ("apiVersion", CelFieldType::Text),
                ("kind", CelFieldType::Text),
                ("metadata", CelFieldType::Metadata),
            ];
            fields.extend(meta.map(|(name, of)| {
                let required = node.required.iter().any(|one| one == name);
                CelField { escaped: name.to_owned(), name: name.to_owned(), of, required }
            }));
        }
        fields.sort_by(|left, right| left.name.cmp(&right.name));
        fields
    }

    /// Whether the schema itself says all that is implied of a resource.
    fn declares_meta(&self, node: &SchemaNode) -> bool {
        let is_text = |node: &SchemaNode, name: &str| {
            node.property(name).is_some_and(|id| self.schema.node(id).ty == ValueType::String)
        };
        let metadata = node.property("metadata").map(|id| self.schema.node(id));
        is_text(node, "kind")
            && is_text(node, "apiVersion")
            && metadata.is_some_and(|metadata| {
                is_text(metadata, "name") && is_text(metadata, "generateName")
            })
    }
}

fn is_meta(name: &str) -> bool {
    ["apiVersion", "kind", "metadata"].contains(&name)
}

fn text(node: &SchemaNode) -> CelType {
    let max_length = node.bound(|bounds| bounds.max_length);
    let room = MAX_REQUEST_BYTES - 2;
    match node.format.as_ref().map_or("", |format| format.neutral()) {
        "byte" => CelType::Bytes(max_length.unwrap_or(room)),
        "duration" => CelType::Duration(MAX_TIME_BYTES),
        "date" => CelType::Date(DATE_BYTES),
        "datetime" => CelType::Timestamp(MAX_TIME_BYTES),
        _ => {
            let longest = || {
                let values = node.constraints.as_ref()?.values.as_ref()?;
                values.values().iter().filter_map(Value::as_str).map(|text| text.len() as u64).max()
            };
            let bytes = max_length.map(|length| length.saturating_mul(MAX_CHARACTER_BYTES));
            CelType::String(bytes.or_else(longest).unwrap_or(room))
        }
    }
}

/// The least size of a value in JSON; `size` has those of what is in it, `is_given` whether clients must write it.
fn min_bytes(
    node: &SchemaNode,
    size: impl Fn(NodeId) -> Option<u64>,
    is_given: impl Fn(NodeId) -> bool,
) -> Option<u64> {
    Some(match &node.ty {
        ValueType::IntOrString => MIN_INT_OR_STRING_BYTES,
        ValueType::Boolean => MIN_BOOL_BYTES,
        ValueType::Integer | ValueType::Number => MIN_NUMBER_BYTES,
        ValueType::String => match node.format.as_ref().map_or("", |format| format.neutral()) {
            "duration" => MIN_DURATION_BYTES,
            "date" => DATE_BYTES,
            "datetime" => MIN_TIME_BYTES,
            _ => MIN_EMPTY_BYTES,
        },
        ValueType::Array => size(node.items?).map(|_| MIN_EMPTY_BYTES)?,
        ValueType::Object => match node.additional {
            Additional::Schema(value) => size(value).map(|_| MIN_EMPTY_BYTES)?,
            _ => MIN_EMPTY_BYTES + required_bytes(node, |id| size(id).filter(|_| is_given(id))),
        },
        ValueType::Any | ValueType::Other(_) => return None,
    })
}

/// Required fields without a default are there in any case.
fn required_bytes(node: &SchemaNode, size: impl Fn(NodeId) -> Option<u64>) -> u64 {
    let required: std::collections::HashSet<&str> =
        node.required.iter().map(|name| name.as_str()).collect();
    let given = node.properties.iter().filter(|(name, _)| required.contains(name.as_str()));
    given
        .filter_map(|(name, id)| Some(name.len() as u64 + size(*id)? + 4))
        .fold(0, u64::saturating_add)
}

/// The name of a property in expressions; `None` when it cannot be written.
pub fn escape(name: &str) -> Option<Cow<'_, str>> {
    if let Some(escaped) = escape_keyword(name) {
        return Some(Cow::Owned(escaped));
    }
    let is_allowed =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-' | b'/');
    if name.is_empty() || name.as_bytes()[0].is_ascii_digit() || !name.bytes().all(is_allowed) {
        return None;
    }
    if !name.contains("__") && !name.contains(['.', '-', '/']) {
        return Some(Cow::Borrowed(name));
    }
    let escaped = name.replace("__", "__underscores__");
    // The escapes have none of the characters that are escaped after them.
    Some(Cow::Owned(
        escaped.replace('.', "__dot__").replace('-', "__dash__").replace('/', "__slash__"),
    ))
}

/// The name in expressions of a property that is called like a word of the language; `None` for other names. Such a property is
/// found by its own name too, from release 1.32 on.
pub fn escape_keyword(name: &str) -> Option<String> {
    RESERVED.contains(&name).then(|| format!("__{name}__"))
}

/// The property that a name in expressions stands for; `None` when it is no escaped name.
pub fn unescape(escaped: &str) -> Option<Cow<'_, str>> {
    if !escaped.contains("__") {
        return if RESERVED.contains(&escaped) { None } else { Some(Cow::Borrowed(escaped)) };
    }
    let word = escaped.strip_prefix("__").and_then(|rest| rest.strip_suffix("__"));
    if let Some(word) = word.filter(|word| RESERVED.contains(word)) {
        return Some(Cow::Owned(word.to_owned()));
    }
    let mut name = String::with_capacity(escaped.len());
    let mut rest = escaped;
    while let Some((before, after)) = rest.split_once("__") {
        let (word, after) = after.split_once("__")?;
        name.push_str(before);
        name.push_str(match word {
            "underscores" => "__",
            "dot" => ".",
            "dash" => "-",
            "slash" => "/",
            _ => return None,
        });
        rest = after;
    }
    name.push_str(rest);
    Some(Cow::Owned(name))
}
