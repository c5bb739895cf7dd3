//! The functions of named formats.

use std::any::Any;

use super::NamedFormat;
use crate::environment::Release;
use crate::eval::EvalError;
use crate::library::arguments::{opaque, text};
use crate::library::cost::{estimated_size, size_of};
use crate::library::kinds::{list, optional};
use crate::library::names::{self, NAMED_FORMAT};
use crate::overload::{ArgumentEstimate, Call, CallEstimate, Cost, Estimate, Overload};
use crate::types::Type;
use crate::value::{Opaque, Value};

/// The release in which these functions appeared.
const SINCE: Release = Release(31);
/// Cost of validating ten characters, at most, as it is estimated.
const ESTIMATED_PATTERN: f64 = 32.0;

/// Functions that give a format.
const CONSTANTS: [(&str, Call); 13] = [
    ("format.dns1123Label", |_| constant(NamedFormat::Dns1123Label)),
    ("format.dns1123Subdomain", |_| constant(NamedFormat::Dns1123Subdomain)),
    ("format.dns1035Label", |_| constant(NamedFormat::Dns1035Label)),
    ("format.qualifiedName", |_| constant(NamedFormat::QualifiedName)),
    ("format.dns1123LabelPrefix", |_| constant(NamedFormat::Dns1123LabelPrefix)),
    ("format.dns1123SubdomainPrefix", |_| constant(NamedFormat::Dns1123SubdomainPrefix)),
    ("format.dns1035LabelPrefix", |_| constant(NamedFormat::Dns1035LabelPrefix)),
    ("format.labelValue", |_| constant(NamedFormat::LabelValue)),
    ("format.uri", |_| constant(NamedFormat::Uri)),
    ("format.uuid", |_| constant(NamedFormat::Uuid)),
    ("format.byte", |_| constant(NamedFormat::Byte)),
    ("format.date", |_| constant(NamedFormat::Date)),
    ("format.datetime", |_| constant(NamedFormat::DateTime)),
];

/// Every overload.
pub(crate) fn overloads() -> Vec<Overload> {
    let format = || names::object(NAMED_FORMAT);
    let messages = optional(list(Type::String));
    let mut overloads = vec![
        Overload::member(
            "validate",
            "format-validate",
            [format(), Type::String],
            messages,
            validate,
        )
        .costs(Cost::Always(cost_of_validating), Estimate::Of(estimate_of_validating)),
        Overload::global("format.named", "format-named", [Type::String], optional(format()), named),
    ];
    for (name, call) in CONSTANTS {
        overloads.push(Overload::global(name, name, [], format(), call));
    }
    overloads.into_iter().map(|overload| overload.since(SINCE)).collect()
}

/// A tenth of the text, once more for an end, times a quarter of the pattern.
fn cost_of_validating(arguments: &[Value<'_>], _result: Option<&Value<'_>>) -> u64 {
    match arguments.first().and_then(Value::as_opaque::<NamedFormat>) {
        Some(format) => (size_of(arguments, 1) + 1)
            .div_ceil(10)
            .saturating_mul(format.pattern_length().div_ceil(4)),
        None => 1,
    }
}

fn estimate_of_validating(arguments: &[ArgumentEstimate<'_>]) -> CallEstimate {
    CallEstimate {
        cost: estimated_size(arguments, 1).scaled(0.1).scaled(ESTIMATED_PATTERN),
        size: None,
    }
}

fn constant<'a>(format: NamedFormat) -> Result<Value<'a>, EvalError> {
    Ok(Value::opaque(format))
}

fn named<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    Ok(NamedFormat::named(text(arguments, 0)?)
        .map_or(Value::NONE, |format| Value::some(Value::opaque(format))))
}

fn validate<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    let wrong = opaque::<NamedFormat>(arguments, 0)?.validate(text(arguments, 1)?);
    if wrong.is_empty() {
        return Ok(Value::NONE);
    }
    Ok(Value::some(Value::list(wrong.into_iter().map(Value::string).collect())))
}

impl Opaque for NamedFormat {
    fn type_name(&self) -> &str {
        NAMED_FORMAT
    }

    fn equals(&self, other: &Value<'_>) -> Result<bool, EvalError> {
        other.as_opaque::<Self>().map(|other| self == other).ok_or(EvalError::no_such_overload())
    }

    fn text(&self) -> String {
        self.name().to_owned()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
