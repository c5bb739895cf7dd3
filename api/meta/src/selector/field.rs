//! Field selectors: `field=value`, `field==value`, `field!=value`, separated by commas; in values,
//! `\`, `,` and `=` are written with a backslash before them.

use std::fmt;

use super::{MAX_REQUIREMENTS, SelectorError, too_many};

/// Fields that can be selected in every kind that has no fields of its own beside them.
const COMMON_FIELDS: [&str; 2] = ["metadata.name", "metadata.namespace"];

/// One condition on one field.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldTerm {
    /// Path of the field, such as `metadata.name` or `spec.nodeName`.
    pub field: String,
    /// Whether the field must have the value, or must not.
    pub equal: bool,
    /// The value, without escapes.
    pub value: String,
}

/// Terms that must all hold; without any, everything matches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FieldSelector {
    terms: Vec<FieldTerm>,
}

impl FieldSelector {
    /// A selector of the given terms.
    pub fn new(terms: Vec<FieldTerm>) -> Self {
        Self { terms }
    }

    /// Reads the text of a `fieldSelector` parameter; empty text selects everything.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        let mut parts = split_unescaped(text);
        parts.retain(|part| !part.is_empty());
        if parts.len() > MAX_REQUIREMENTS {
            return Err(SelectorError(too_many()));
        }
        parts
            .into_iter()
            .map(|part| parse_term(text, part))
            .collect::<Result<_, _>>()
            .map(Self::new)
    }

    /// Whether everything matches.
    pub fn is_everything(&self) -> bool {
        self.terms.is_empty()
    }

    /// The terms.
    pub fn terms(&self) -> &[FieldTerm] {
        &self.terms
    }

    /// Whether the fields, read through `value_of`, meet every term. An absent field counts as
    /// empty.
    pub fn matches<'a>(&self, value_of: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.terms
            .iter()
            .all(|term| (value_of(&term.field).unwrap_or_default() == term.value) == term.equal)
    }

    /// The value that `field` must have, when some term says so. A list for `metadata.name` is a
    /// get.
    pub fn requires_exact(&self, field: &str) -> Option<&str> {
        self.terms
            .iter()
            .find(|term| term.equal && term.field == field)
            .map(|term| term.value.as_str())
    }

    /// Refuses fields that cannot be selected: a kind has those that it names, `selectable`, and
    /// not even a namespace when it leaves that out; one that names nothing else has name and
    /// namespace.
    pub fn check_fields<S: AsRef<str>>(&self, selectable: &[S]) -> Result<(), SelectorError> {
        let is_common = |field: &str| COMMON_FIELDS.contains(&field);
        let has_own = selectable.iter().any(|field| !is_common(field.as_ref()));
        let known = |field: &str| match has_own {
            true => selectable.iter().any(|known| known.as_ref() == field),
            false => is_common(field),
        };
        let Some(term) = self.terms.iter().find(|term| !known(&term.field)) else {
            return Ok(());
        };
        let field = &term.field;
        Err(SelectorError(if has_own {
            format!("field label not supported: {field}")
        } else {
            let [name, namespace] = COMMON_FIELDS;
            format!("\"{field}\" is not a known field selector: only \"{name}\", \"{namespace}\"")
        }))
    }
}

impl fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, term) in self.terms.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            let operator = if term.equal { "=" } else { "!=" };
            write!(f, "{comma}{}{operator}", term.field)?;
            for char in term.value.chars() {
                if matches!(char, '\\' | ',' | '=') {
                    f.write_str("\\")?;
                }
                write!(f, "{char}")?;
            }
        }
        Ok(())
    }
}

/// Splits at commas that have no backslash before them.
fn split_unescaped(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b',' => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

fn parse_term(selector: &str, part: &str) -> Result<FieldTerm, SelectorError> {
    let mut escaped = false;
    for (at, byte) in part.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'!' | b'=' => {
                let rest = &part[at..];
                let Some(operator) =
                    ["!=", "==", "="].into_iter().find(|operator| rest.starts_with(operator))
                else {
                    continue;
                };
                let value = unescape(&rest[operator.len()..]).map_err(SelectorError)?;
                return Ok(FieldTerm {
                    field: part[..at].to_owned(),
                    equal: operator != "!=",
                    value,
                });
            }
            _ => {}
        }
    }
    Err(SelectorError(format!("invalid selector: '{selector}'; can't understand '{part}'")))
}

fn unescape(text: &str) -> Result<String, String> {
    let mut value = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match char {
            '\\' => match chars.next() {
                Some(escaped @ ('\\' | ',' | '=')) => value.push(escaped),
                Some(other) => {
                    return Err(format!(
                        "invalid field selector: invalid escape sequence: \\{other}"
                    ));
                }
                None => {
                    return Err("invalid field selector: invalid escape sequence: \\".to_owned());
                }
            },
            ',' | '=' => {
                return Err(format!(
                    "invalid field selector: unescaped character in value: {}",
                    u32::from(char)
                ));
            }
            other => value.push(other),
        }
    }
    Ok(value)
}
