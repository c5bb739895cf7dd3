//! The mark of a version: what stored objects say of the version and the schema that they were
//! written by.
//!
//! A mark is `VERSION/FORM`. The form is a digest of everything in the schema that pruning and
//! defaults depend on, and of the selectable fields, which stored objects have in their header.
//! So a mark is compared without knowing when a schema was in force, and a schema that returns
//! after a change, or after its definition was created anew, finds its objects in form.
//!
//! Invariants: a mark depends on nothing but the definition, so that all nodes make the same. It is
//! made on first use. What describes or only validates is no part of a form.

use std::sync::{Arc, OnceLock};

use quorate_meta::Value;
use sha2::{Digest, Sha256};

use super::definition::{DefinitionVersion, StoredSchema};
use super::version::CompiledVersion;

/// Between the version and the form; no name of a version has it.
const SEPARATOR: char = '/';
/// Raised when objects that were written by the same schema come out in another form.
const FORMAT: &[u8] = b"1";
/// Bytes of the digest that are kept.
const FORM_BYTES: usize = 8;
/// Words of schemas that change no object.
const IGNORED: [&str; 17] = [
    "description",
    "title",
    "example",
    "externalDocs",
    "id",
    "$schema",
    "format",
    "pattern",
    "enum",
    "required",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "multipleOf",
];

/// The mark of one version.
#[derive(Debug)]
pub struct VersionMark {
    version: String,
    types: Arc<CompiledVersion>,
    selectable: Vec<String>,
    text: OnceLock<String>,
}

impl VersionMark {
    /// The mark of a version of a definition, which `types` has the schema of; digests nothing yet.
    #[must_use]
    pub fn new(types: &Arc<CompiledVersion>, version: &DefinitionVersion) -> Self {
        Self {
            version: version.name.clone(),
            types: types.clone(),
            selectable: version.selectable_fields.clone(),
            text: OnceLock::new(),
        }
    }

    /// The version.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The mark as it is stored.
    #[must_use]
    pub fn text(&self) -> &str {
        self.text.get_or_init(|| {
            let form = form(self.types.schema().as_ref(), &self.selectable);
            format!("{}{SEPARATOR}{form}", self.version)
        })
    }

    /// The form.
    #[must_use]
    pub fn form(&self) -> &str {
        parts(self.text()).1
    }
}

/// The version and the form in a mark; the form is empty in what is none.
#[must_use]
pub fn parts(mark: &str) -> (&str, &str) {
    mark.split_once(SEPARATOR).unwrap_or((mark, ""))
}

/// Whether objects are in the same form by two versions, whatever these are called.
#[must_use]
pub fn same_form(one: &DefinitionVersion, other: &DefinitionVersion) -> bool {
    let is_same = one.schema == other.schema && one.selectable_fields == other.selectable_fields;
    let form = |of: &DefinitionVersion| form(of.schema.as_ref(), &of.selectable_fields);
    is_same || form(one) == form(other)
}

fn form(schema: Option<&StoredSchema>, selectable: &[String]) -> String {
    let mut digest = Sha256::new_with_prefix(FORMAT);
    for path in selectable {
        write_text(path, &mut digest);
    }
    if let Some(schema) = schema {
        schema.work(|| write_schema(&schema.parse(), &mut digest));
    }
    let form = digest.finalize();
    form.iter().take(FORM_BYTES).map(|byte| format!("{byte:02x}")).collect()
}

/// Adds a schema. Of its words, `properties` has names of fields instead of further words.
fn write_schema(schema: &Value, digest: &mut Sha256) {
    let Some(words) = schema.as_map() else {
        return write_value(schema, digest);
    };
    digest.update(b"{");
    for (word, value) in words.iter().filter(|(word, _)| !IGNORED.contains(word)) {
        write_text(word, digest);
        match (word, value) {
            ("properties", Value::Map(fields)) => {
                digest.update(b"{");
                for (name, field) in fields.iter() {
                    write_text(name, digest);
                    write_schema(field, digest);
                }
                digest.update(b"}");
            }
            ("items" | "additionalProperties", Value::Map(_)) => write_schema(value, digest),
            _ => write_value(value, digest),
        }
    }
    digest.update(b"}");
}

fn write_value(value: &Value, digest: &mut Sha256) {
    let mut text = Vec::new();
    quorate_wire::json::write(value, &mut text);
    digest.update(text);
    digest.update(b",");
}

fn write_text(text: &str, digest: &mut Sha256) {
    digest.update(text.as_bytes());
    digest.update([0]);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::crd::testing;

    fn mark(schema: serde_json::Value) -> String {
        let definition = testing::definition(schema);
        let version = definition.version("v1").expect("v1");
        let types = testing::compiled(&testing::base(), version);
        VersionMark::new(&types, version).text().to_owned()
    }

    #[test]
    fn a_mark_tells_what_changes_objects() {
        let field = |more: serde_json::Value| {
            let mut field = json!({"type": "string"});
            field.as_object_mut().expect("a map").extend(more.as_object().expect("a map").clone());
            json!({"type": "object", "properties": {"a": field}})
        };
        let first = mark(field(json!({})));
        assert_eq!(parts(&first).0, "v1");
        assert_eq!(parts(&first).1.len(), 2 * FORM_BYTES);
        let check = |schema: serde_json::Value, is_same: bool| {
            assert_eq!(mark(schema.clone()) == first, is_same, "{schema}");
        };
        check(field(json!({})), true);
        check(field(json!({"description": "x", "maxLength": 3, "pattern": "^a"})), true);
        check(field(json!({"default": "x"})), false);
        check(field(json!({"nullable": true})), false);
        check(json!({"type": "object", "properties": {"b": {"type": "string"}}}), false);
        check(
            json!({"type": "object", "properties": {"a": {"type": "string"}, "title": {"type": "string"}}}),
            false,
        );
        check(json!({"type": "object"}), false);
    }

    #[test]
    fn versions_may_have_the_same_form() {
        let definition = testing::definition(json!({"type": "object", "description": "x"}));
        let (v1, beta) = (definition.version("v1"), definition.version("v1beta1"));
        let (mut v1, beta) = (v1.expect("v1").clone(), beta.expect("v1beta1"));
        assert!(!same_form(&v1, beta), "only v1 has selectable fields");
        v1.selectable_fields.clear();
        assert!(same_form(&v1, beta));
        let text = |version: &DefinitionVersion| {
            let types = testing::compiled(&testing::base(), version);
            VersionMark::new(&types, version).text().to_owned()
        };
        let (one, other) = (text(&v1), text(beta));
        assert_ne!(one, other);
        assert_eq!(parts(&one).1, parts(&other).1);
    }
}
