//! Values against a compiled schema: types, formats, bounds, enumerations and logic, with the messages of release 1.35.
//!
//! Order of findings: of one value type, logic, text, format, number, list, enumeration, object; of an object its entries by name and
//! then what is missing. All are told (the first of very many), since clients repair a manifest in one go.
//! Not here: unknown fields (they were pruned), uniqueness in sets and maps ([`super::uniqueness`]), metadata, rules in CEL.

mod logic;
mod number;
mod scalar;

use std::collections::HashSet;

use quorate_meta::{Cause, CauseReason, Map, Path, Value};

use super::Structural;
use super::limits::{MAX_STEPS, Told};
use super::node::{Additional, Constraints, NodeId, SchemaNode, ValueType};
use super::sameness::{by_keys, keys};
use crate::fieldset::shortened;
use crate::path::FieldPath;

/// Field of a finding that is about the whole object.
const WHOLE: &str = "<nil>";

/// What is wrong with `value`, which stands at `prefix` (empty at the root). What is the same in `old` may be wrong (KEP-4008).
pub(super) fn validate(
    compiled: &Structural,
    id: NodeId,
    prefix: &str,
    value: &Value,
    old: Option<&Value>,
) -> Vec<Cause> {
    let mut walk =
        Validator { compiled, prefix, path: FieldPath::default(), told: Told::default(), steps: 0 };
    walk.node(id, value, old);
    if walk.steps > MAX_STEPS {
        let why = format!("validation takes more than {MAX_STEPS} steps");
        let cause = Cause::new(
            CauseReason::FieldValueInvalid,
            walk.whole(),
            format!("Invalid value: \"\": {why}"),
        );
        return vec![cause];
    }
    // Branches of logic may find the same.
    let mut told = HashSet::new();
    let mut causes = walk.told.into_causes();
    causes.retain(|cause| told.insert(cause.text()));
    causes
}

struct Validator<'c> {
    compiled: &'c Structural,
    prefix: &'c str,
    path: FieldPath,
    told: Told,
    steps: usize,
}

impl<'c> Validator<'c> {
    /// Checks a value; the answer is how many checks it passed, by which the branch of a logic is chosen that is told of.
    fn node(&mut self, id: NodeId, value: &Value, old: Option<&Value>) -> usize {
        let node = self.compiled.node(id);
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return 0;
        }
        if old == Some(value) {
            return 1;
        }
        let constraints = node.constraints.as_deref();
        if value.is_null() {
            let passed = self.null(node);
            self.enumeration(constraints, value);
            return passed;
        }
        // The checks of logic, of enumerations and of the schema itself count once each, passed or not.
        let mut passed = 4;
        if node.ty != ValueType::Any || node.format.is_some() {
            passed += 1 + usize::from(self.value_type(node, value));
        }
        if let Some(constraints) = constraints {
            passed += self.logic(constraints, value, old);
        }
        match value {
            Value::String(text) => {
                passed += 1 + usize::from(node.format.is_some());
                self.text(node, constraints, text);
            }
            Value::Int(_) | Value::UInt(_) | Value::Float(_) => {
                passed += 2;
                self.number(constraints, value);
            }
            Value::List(items) => {
                passed += 2 + self.list(node, constraints, items, old.and_then(Value::as_list))
            }
            _ => {}
        }
        self.enumeration(constraints, value);
        if let Value::Map(map) = value {
            passed += 1 + self.object(node, constraints, map, old.and_then(Value::as_map));
        }
        passed
    }

    fn null(&mut self, node: &SchemaNode) -> usize {
        if node.ty == ValueType::Any || node.nullable {
            return 1;
        }
        self.wrong_type(node.ty.as_str(), "null");
        0
    }

    fn list(
        &mut self,
        node: &SchemaNode,
        constraints: Option<&Constraints>,
        items: &[Value],
        old: Option<&[Value]>,
    ) -> usize {
        let mut passed = 0;
        if let Some(id) = node.items {
            let known = by_keys(node, old.unwrap_or_default());
            for (index, item) in items.iter().enumerate() {
                let mark = self.path.push_index(index);
                let old = if known.is_empty() {
                    None
                } else {
                    keys(node, item).and_then(|keys| known.get(&keys).copied())
                };
                passed += self.node(id, item, old);
                self.path.truncate(mark);
            }
        }
        let (min, max) =
            constraints.map_or((None, None), |bounds| (bounds.min_items, bounds.max_items));
        self.at_least(min, items.len(), "items");
        self.at_most(max, items.len());
        passed
    }

    fn object(
        &mut self,
        node: &'c SchemaNode,
        constraints: Option<&Constraints>,
        map: &Map,
        old: Option<&Map>,
    ) -> usize {
        let (min, max) = constraints
            .map_or((None, None), |bounds| (bounds.min_properties, bounds.max_properties));
        self.at_least(min, map.len(), "properties");
        self.at_most(max, map.len());
        let mut passed = 0;
        for (name, value) in map.iter() {
            let id = match (node.property(name), node.additional) {
                (Some(id), _) | (None, Additional::Schema(id)) => id,
                (None, Additional::Allowed(false)) => {
                    self.forbidden_entry(name);
                    continue;
                }
                _ => continue,
            };
            let mark = self.path.push_key(name);
            passed += self.node(id, value, old.and_then(|old| old.get(name)));
            self.path.truncate(mark);
        }
        for name in node.required.iter().filter(|name| !map.contains_key(name)) {
            let mark = self.path.push_key(name);
            let field = self.field();
            self.told.push(|| Cause::required(field, ""));
            self.path.truncate(mark);
        }
        passed
    }

    fn forbidden_entry(&mut self, name: &str) {
        let message = format!(
            "{}.{} in body is a forbidden property",
            shortened(self.path.as_str()),
            shortened(name)
        );
        let field = self.field();
        self.told.push(|| Cause::invalid(field, name, &message));
    }

    /// Tells of a list or object with too few members.
    fn at_least(&mut self, min: Option<i64>, count: usize, of: &str) {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        let Some(min) = min.filter(|min| count < *min) else {
            return;
        };
        self.invalid(Value::Int(count), || format!("should have at least {min} {of}"));
    }

    /// Tells of a list or object with too many members.
    fn at_most(&mut self, max: Option<i64>, count: usize) {
        let is_over = |max: &i64| usize::try_from(*max).map_or(*max < 0, |max| count > max);
        let Some(max) = max.filter(is_over) else {
            return;
        };
        let field = self.field();
        self.told.push(|| match usize::try_from(max) {
            Ok(max) => Cause::too_many(field, count, max),
            Err(_) => {
                let message = format!("Too many: {count}: must have at most {max} items");
                Cause::new(CauseReason::FieldValueTooMany, field, message)
            }
        });
    }

    fn enumeration(&mut self, constraints: Option<&Constraints>, value: &Value) {
        let Some(values) = constraints.and_then(|constraints| constraints.values.as_ref()) else {
            return;
        };
        if values.contains(value) {
            return;
        }
        let field = self.field();
        self.told.push(|| {
            let text = |value: &Value| match value {
                Value::String(text) => text.clone(),
                other => serde_json::to_string(other).unwrap_or_default(),
            };
            let texts: Vec<String> = values.values().iter().map(text).collect();
            let shown: Vec<&str> = texts.iter().map(String::as_str).collect();
            Cause::not_supported(field, value.clone(), &shown)
        });
    }

    /// `PATH in body must be of type TYPE: "FOUND"`.
    fn wrong_type(&mut self, wanted: &str, found: &str) {
        let field = self.field();
        let path = shortened(self.path.as_str()).into_owned();
        self.told.push(|| {
            let message =
                format!("{path} in body must be of type {wanted}: {}", quorate_meta::quoted(found));
            Cause::type_invalid(field, found, &message)
        });
    }

    /// `Invalid value: VALUE: PATH in body WHY`.
    fn invalid(&mut self, value: Value, why: impl FnOnce() -> String) {
        let field = self.field();
        let path = shortened(self.path.as_str()).into_owned();
        self.told.push(|| Cause::invalid(field, value, &format!("{path} in body {}", why())));
    }

    /// The path with the prefix, as causes show it.
    fn field(&self) -> Path {
        let path = shortened(self.path.as_str());
        match (self.prefix.is_empty(), path.is_empty()) {
            (_, true) => self.whole(),
            (true, false) => Path::new(path.into_owned()),
            (false, false) => Path::new(format!("{}.{path}", self.prefix)),
        }
    }

    /// The place of what is validated.
    fn whole(&self) -> Path {
        if self.prefix.is_empty() { Path::new(WHOLE) } else { self.prefix.into() }
    }
}
