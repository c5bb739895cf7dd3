//! Paths of fields as definitions write them: `.spec.replicas`, `['a.b'].c`.
//!
//! Invariant: what a path names is declared in the schema. Not here: what may stand at the place.

use std::fmt;

use quorate_meta::{Map, Path, Value};

/// Why a path names no field of a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldPathError {
    /// It has brackets where they are not allowed.
    Brackets,
    /// It ends after a `.` or inside of brackets.
    End,
    /// There is something else in brackets than a key in single quotes.
    Unquoted(String),
    /// The text in quotes has an escape that is none.
    Escape,
    /// Another token than the one that must follow.
    Unexpected {
        /// What must follow.
        expected: &'static str,
        /// What follows.
        found: String,
    },
    /// The schema has no such field.
    Unknown,
}

impl fmt::Display for FieldPathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Brackets => f.write_str("array notation is not allowed"),
            Self::End => f.write_str("unexpected end of JSON path"),
            Self::Unquoted(found) => write!(f, "expected single quoted string but got {found}"),
            Self::Escape => f.write_str("invalid string literal: invalid escape sequence"),
            Self::Unexpected { expected: "]", found } => write!(f, "expected ] but got {found}"),
            Self::Unexpected { expected, found } => {
                write!(f, "expected {expected} but got: {found}")
            }
            Self::Unknown => f.write_str("does not refer to a valid field"),
        }
    }
}

/// A field that a path names.
#[derive(Clone, Debug)]
pub struct NamedField<'v> {
    /// The path in its usual form: `spec.labels[a.b]`.
    pub path: Path,
    /// The name of the outermost field.
    pub first: String,
    /// The schema of the field.
    pub schema: &'v Map,
}

/// Finds the field that a path names, from the place of a schema on.
///
/// # Errors
/// Why it names none.
pub fn find<'v>(
    schema: &'v Map,
    path: &str,
    brackets: bool,
) -> Result<NamedField<'v>, FieldPathError> {
    let mut tokens = tokens(path).into_iter();
    let mut found = NamedField { path: Path::default(), first: String::new(), schema };
    while let Some(token) = tokens.next() {
        match token {
            "." => {
                let name = tokens.next().ok_or(FieldPathError::End)?;
                found = below(found, name)?;
            }
            "[" if !brackets => return Err(FieldPathError::Brackets),
            "[" => {
                let text = tokens.next().ok_or(FieldPathError::End)?;
                let inner = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
                let inner = inner.filter(|_| text.len() > 1);
                let inner = inner.ok_or_else(|| FieldPathError::Unquoted(text.to_owned()))?;
                found = below(found, &unescaped(inner)?)?;
                match tokens.next().ok_or(FieldPathError::End)? {
                    "]" => {}
                    other => {
                        return Err(FieldPathError::Unexpected {
                            expected: "]",
                            found: other.to_owned(),
                        });
                    }
                }
            }
            other => {
                return Err(FieldPathError::Unexpected {
                    expected: "[ or .",
                    found: other.to_owned(),
                });
            }
        }
    }
    Ok(found)
}

fn below<'v>(at: NamedField<'v>, name: &str) -> Result<NamedField<'v>, FieldPathError> {
    let first = if at.first.is_empty() { name.to_owned() } else { at.first };
    let properties = at.schema.get("properties").and_then(Value::as_map);
    let (path, schema) = match properties {
        Some(properties) => (at.path.child(name), properties.get(name)),
        None => (at.path.key(name), at.schema.get("additionalProperties")),
    };
    let schema = schema.and_then(Value::as_map).ok_or(FieldPathError::Unknown)?;
    Ok(NamedField { path, first, schema })
}

/// The delimiters `.`, `[` and `]`, and the texts between them. Delimiters inside of single quotes
/// are text.
fn tokens(path: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let (mut start, mut quoted, mut escaped) = (0, false, false);
    for (at, char) in path.char_indices() {
        match char {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '\'' => quoted = !quoted,
            '.' | '[' | ']' if !quoted => {
                if start < at {
                    tokens.push(&path[start..at]);
                }
                tokens.push(&path[at..=at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if start < path.len() {
        tokens.push(&path[start..]);
    }
    tokens
}

/// The text of a literal in single quotes.
fn unescaped(text: &str) -> Result<String, FieldPathError> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        if char != '\\' {
            out.push(char);
            continue;
        }
        out.push(match chars.next() {
            Some('a') => '\u{7}',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('v') => '\u{b}',
            Some(same @ ('\'' | '\\' | '"')) => same,
            _ => return Err(FieldPathError::Escape),
        });
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::json;

    #[test]
    fn paths() {
        let schema = json(
            r#"{"properties":{"a":{"properties":{"b.c":{"type":"string"}}},"m":{"additionalProperties":{"type":"integer"}},"n":{"type":"integer"}}}"#,
        );
        let check = |path: &str, expect: Result<&str, &str>| {
            let found = find(schema.as_map().expect("a schema"), path, true);
            let found =
                found.map(|field| field.path.into_text()).map_err(|error| error.to_string());
            assert_eq!(found, expect.map(str::to_owned).map_err(str::to_owned), "{path}");
        };
        check(".a", Ok("a"));
        check(".a['b.c']", Ok("a.b.c"));
        check(".m.key", Ok("m[key]"));
        check(".m['it\\'s']", Ok("m[it's]"));
        check(".x", Err("does not refer to a valid field"));
        check(".n.x", Err("does not refer to a valid field"));
        check("..", Err("does not refer to a valid field"));
        check(".", Err("unexpected end of JSON path"));
        check(".m[", Err("unexpected end of JSON path"));
        check(".m['k'", Err("unexpected end of JSON path"));
        check(".m[0]", Err("expected single quoted string but got 0"));
        check(".m['k'x", Err("expected single quoted string but got 'k'x"));
        check("a", Err("expected [ or . but got: a"));
        let fields = schema.as_map().expect("a schema");
        assert_eq!(find(fields, ".m['k']", false).map(drop), Err(FieldPathError::Brackets));
    }
}
