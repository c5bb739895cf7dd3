//! Types, texts and formats.

use quorate_meta::{Cause, Value};

use super::{Validator, number};
use crate::structural::node::{Constraints, SchemaNode, ValueType};

/// What messages call the type of a value, and the numeric format that it has.
fn described(value: &Value) -> (&'static str, &'static str) {
    match value {
        Value::Null => ("null", ""),
        Value::Bool(_) => ("boolean", ""),
        Value::Int(_) => ("integer", "int64"),
        Value::UInt(_) | Value::Float(_) => ("number", "float64"),
        Value::String(_) => ("string", ""),
        Value::List(_) => ("array", ""),
        Value::Map(_) => ("object", ""),
    }
}

fn is_of_type(ty: &ValueType, value: &Value) -> bool {
    match (ty, value) {
        (ValueType::Object, Value::Map(_))
        | (ValueType::Array, Value::List(_))
        | (ValueType::String | ValueType::IntOrString, Value::String(_))
        | (ValueType::Boolean, Value::Bool(_))
        | (ValueType::Integer | ValueType::IntOrString, Value::Int(_))
        | (ValueType::Number, Value::Int(_) | Value::UInt(_) | Value::Float(_)) => true,
        (ValueType::Integer | ValueType::IntOrString, Value::UInt(_) | Value::Float(_)) => {
            value.as_f64().is_some_and(number::is_whole)
        }
        _ => false,
    }
}

impl Validator<'_> {
    /// Checks the type; text and lists of a format that is not numeric are left to the format.
    pub(super) fn value_type(&mut self, node: &SchemaNode, value: &Value) -> bool {
        if is_of_type(&node.ty, value) {
            return true;
        }
        let (found, numeric) = described(value);
        let is_number =
            matches!(node.ty, ValueType::Integer | ValueType::Number | ValueType::IntOrString);
        match &node.format {
            Some(format) if !matches!(value, Value::String(_) | Value::List(_)) => {
                if numeric != format.name() {
                    self.wrong_type(format.name(), numeric);
                    return false;
                }
                self.wrong_type(node.ty.as_str(), found);
                false
            }
            Some(_) if !is_number => true,
            _ => {
                self.wrong_type(node.ty.as_str(), found);
                false
            }
        }
    }

    pub(super) fn text(
        &mut self,
        node: &SchemaNode,
        constraints: Option<&Constraints>,
        text: &str,
    ) {
        if let Some(constraints) = constraints {
            self.text_bounds(constraints, text);
        }
        let Some(format) = node.format.as_ref().filter(|format| !format.accepts(text)) else {
            return;
        };
        let name = format.name();
        self.wrong_type(name, text);
    }

    /// The first bound that is broken.
    fn text_bounds(&mut self, constraints: &Constraints, text: &str) {
        let has_length = constraints.min_length.is_some() || constraints.max_length.is_some();
        let length =
            if has_length { i64::try_from(text.chars().count()).unwrap_or(i64::MAX) } else { 0 };
        if let Some(max) = constraints.max_length.filter(|max| length > *max) {
            let field = self.field();
            self.told.push(|| Cause::too_long(field, usize::try_from(max).unwrap_or_default()));
        } else if let Some(min) = constraints.min_length.filter(|min| length < *min) {
            self.invalid(Value::from(text), || format!("should be at least {min} chars long"));
        } else if let Some(pattern) =
            constraints.pattern.as_ref().filter(|one| !one.matcher.is_match(text))
        {
            self.invalid(Value::from(text), || format!("should match '{}'", pattern.text));
        }
    }
}
