//! Fields and indices.
//!
//! Invariants: a variable costs 1, and so does each field or index, also when it fails; `?:` costs nothing, and what it chooses
//! costs no 1 for being a variable; a test of presence costs what its qualifiers cost.

use quorate_meta as data;

use super::truth::{Truth, decide};
use super::{Context, EvalError, Evaluated, evaluate};
use crate::library::standard::show;
use crate::plan::is_index;
use crate::plan::node::{Attribute, Base, Qualifier, QualifierKey};
use crate::value::{List, Shape, Text, Value, whole_int};

/// Qualifiers that follow those of an attribute that `?:` has chosen.
#[derive(Clone, Copy)]
struct Tail<'q, 'a> {
    qualifiers: &'a [Qualifier],
    next: Option<&'q Tail<'q, 'a>>,
}

/// What is asked of a qualifier.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    /// The value; its absence is an error.
    Value,
    /// The value, if it is there.
    Optional,
    /// Only whether it is there.
    Presence,
}

/// The value of an attribute.
pub(super) fn read<'a>(attribute: &'a Attribute, context: &mut Context<'a>) -> Evaluated<'a> {
    if attribute.is_path && attribute.qualifiers.is_empty() {
        if let Some(value) = context.plain(&attribute.base) {
            context.charge(1)?;
            return Ok(value);
        }
    } else if attribute.is_path
        && let Some((value, shape)) = follow(attribute, context)
    {
        let value = shape.read(value);
        if !matches!(value, Value::Error(_)) {
            context.charge_path(steps(attribute) + 1);
            return Ok(value);
        }
    }
    let value = resolve(attribute, None, false, context);
    if let Base::Conditional(_) = attribute.base {
        return value;
    }
    finish(value, context)
}

/// Whether the last qualifier of an attribute is there.
pub(super) fn test<'a>(attribute: &'a Attribute, context: &mut Context<'a>) -> Truth {
    if attribute.is_path
        && let Some((map, shape)) = follow_to_last(attribute, context)
        && let Some(Qualifier { key: QualifierKey::Field(name), .. }) = attribute.qualifiers.last()
    {
        let found = shape.property(map, name);
        let reads = |(value, shape): (_, &'a Shape)| {
            matches!(shape, Shape::Dyn) || !matches!(shape.read(value), Value::Error(_))
        };
        if found.is_none_or(reads) {
            context.charge_path(steps(attribute));
            return found.is_some().into();
        }
    }
    let value = resolve(attribute, None, true, context);
    if let Base::Conditional(_) = attribute.base {
        context.discharge(1);
    }
    match value {
        Ok(Value::Optional(held)) => held.is_some().into(),
        Ok(Value::Bool(value)) => value.into(),
        Ok(_) => context.fail(EvalError::no_such_overload()),
        Err(error) => context.fail(error),
    }
}

fn steps(attribute: &Attribute) -> u64 {
    attribute.qualifiers.len() as u64
}

/// The data at the end of a path of fields; `None` when it takes the long way: an error, a limit, or no data of maps.
#[inline]
pub(super) fn follow<'a>(
    attribute: &'a Attribute,
    context: &Context<'a>,
) -> Option<(&'a data::Value, &'a Shape)> {
    let (map, shape) = follow_to_last(attribute, context)?;
    match attribute.qualifiers.last() {
        Some(Qualifier { key: QualifierKey::Field(name), .. }) => shape.property(map, name),
        _ => None,
    }
}

/// The map of which a path reads its last field.
#[inline]
fn follow_to_last<'a>(
    attribute: &'a Attribute,
    context: &Context<'a>,
) -> Option<(&'a data::Map, &'a Shape)> {
    let (mut map, mut shape) = context.tree_of(&attribute.base)?;
    let (_, path) = attribute.qualifiers.split_last()?;
    if !context.affords(steps(attribute) + 1) {
        return None;
    }
    for qualifier in path {
        let QualifierKey::Field(name) = &qualifier.key else {
            return None;
        };
        let (value, inner) = shape.property(map, name)?;
        match (value, inner) {
            (data::Value::Map(found), Shape::Dyn | Shape::Map(_) | Shape::Object(_)) => {
                (map, shape) = (found, inner)
            }
            _ => return None,
        }
    }
    Some((map, shape))
}

fn finish<'a>(value: Evaluated<'a>, context: &mut Context<'a>) -> Evaluated<'a> {
    match value {
        Err(error) if error.is_final() => Err(error),
        value => {
            context.charge(1)?;
            value
        }
    }
}

/// The value of an attribute without the cost of its base.
fn resolve<'a>(
    attribute: &'a Attribute,
    tail: Option<&Tail<'_, 'a>>,
    tested: bool,
    context: &mut Context<'a>,
) -> Evaluated<'a> {
    let base = match &attribute.base {
        Base::Variable(slot) => context.variable(*slot)?,
        Base::Local(place) => context.local(*place)?,
        Base::Taken(place) => context.take_local(*place)?,
        Base::Relative(node) => evaluate(node, context)?,
        Base::Conditional(choice) => {
            let chosen = match decide(&choice.condition, context) {
                Truth::True => &choice.truthy,
                Truth::False => &choice.falsy,
                Truth::Failed => return Err(context.failure()),
            };
            let tail = Tail { qualifiers: &attribute.qualifiers, next: tail };
            return resolve(chosen, Some(&tail), tested, context);
        }
    };
    qualify(base, Tail { qualifiers: &attribute.qualifiers, next: tail }, tested, context)
}

/// Follows the qualifiers; from an optional on, and from the first optional qualifier on, the result is an optional.
fn qualify<'a>(
    base: Value<'a>,
    path: Tail<'_, 'a>,
    tested: bool,
    context: &mut Context<'a>,
) -> Evaluated<'a> {
    if let Value::Error(error) = &base {
        return Err((**error).clone());
    }
    let mut is_optional = matches!(base, Value::Optional(_));
    let unqualified = path.qualifiers.is_empty() && path.next.is_none_or(|tail| tail.is_empty());
    if unqualified {
        return Ok(base.rebuilt());
    }
    let mut value = match base {
        Value::Optional(None) => return Ok(Value::NONE),
        base @ Value::Optional(Some(_)) => match base.rebuilt() {
            Value::Optional(Some(held)) => Value::clone(&held),
            other => other,
        },
        base => base,
    };
    let mut part = Some(&path);
    while let Some(tail) = part {
        let is_last_part = tail.next.is_none_or(|next| next.is_empty());
        for (at, qualifier) in tail.qualifiers.iter().enumerate() {
            let is_test = tested && is_last_part && at + 1 == tail.qualifiers.len();
            is_optional |= qualifier.optional;
            let access = match (is_test, is_optional) {
                (_, true) => Access::Optional,
                (true, false) => Access::Presence,
                (false, false) => Access::Value,
            };
            let found = step(&value, qualifier, access, context)?;
            if access == Access::Presence {
                return Ok(Value::Bool(found.is_some()));
            }
            match found {
                Some(found) => value = found,
                None => return Ok(Value::NONE),
            }
        }
        part = tail.next;
    }
    Ok(if is_optional { Value::some(value) } else { value })
}

impl Tail<'_, '_> {
    fn is_empty(&self) -> bool {
        self.qualifiers.is_empty() && self.next.is_none_or(Tail::is_empty)
    }
}

/// One field or index, and its cost.
fn step<'a>(
    value: &Value<'a>,
    qualifier: &'a Qualifier,
    access: Access,
    context: &mut Context<'a>,
) -> Result<Option<Value<'a>>, EvalError> {
    let found = match &qualifier.key {
        QualifierKey::Field(name) => field(value, name, access),
        QualifierKey::Constant(key) => element(value, key, access),
        QualifierKey::Attribute(attribute) => match resolve(attribute, None, false, context) {
            Ok(key) if is_index(&key) => element(value, &key, access),
            Ok(key) => Err(invalid_qualifier(&key)),
            Err(error) if error.is_final() => return Err(error),
            Err(error) => Err(error),
        },
    };
    let observed = match access {
        Access::Value | Access::Presence => true,
        Access::Optional => matches!(found, Ok(Some(_))),
    };
    if observed {
        context.charge(1)?;
    }
    found
}

fn field<'a>(
    value: &Value<'a>,
    name: &str,
    access: Access,
) -> Result<Option<Value<'a>>, EvalError> {
    match value {
        Value::Map(map) => match map.get_str(name) {
            Some(Value::Error(error)) => Err((*error).clone()),
            Some(value) => Ok(Some(value)),
            None if access == Access::Value => Err(EvalError::new(format!("no such key: {name}"))),
            None => Ok(None),
        },
        _ => element(value, &Value::String(Text::Borrowed(name)), access),
    }
}

fn element<'a>(
    value: &Value<'a>,
    key: &Value<'_>,
    access: Access,
) -> Result<Option<Value<'a>>, EvalError> {
    let found = match value {
        Value::Map(map) => map.find(key)?,
        Value::List(list) => match place(list, key)? {
            Some(found) => Some(found),
            None if access == Access::Value => {
                return Err(EvalError::new(format!("index out of bounds: {}", show(key))));
            }
            None => None,
        },
        _ => None,
    };
    match found {
        Some(Value::Error(error)) => Err((*error).clone()),
        None if access == Access::Value => {
            Err(EvalError::new(format!("no such key: {}", show(key))))
        }
        found => Ok(found),
    }
}

/// The element of a list at an index of any number type.
fn place<'a>(list: &List<'a>, index: &Value<'_>) -> Result<Option<Value<'a>>, EvalError> {
    let at = match index {
        Value::Int(index) => usize::try_from(*index).ok(),
        Value::Uint(index) => match i64::try_from(*index) {
            Ok(_) => usize::try_from(*index).ok(),
            Err(_) => {
                return Err(EvalError::new(format!("unsupported index value {index} in list")));
            }
        },
        Value::Double(number) => match whole_int(*number) {
            Some(index) => usize::try_from(index).ok(),
            None => {
                return Err(EvalError::new(format!(
                    "unsupported index value {} in list",
                    show(index)
                )));
            }
        },
        other => {
            return Err(EvalError::new(format!(
                "unsupported index type '{}' in list",
                other.type_name()
            )));
        }
    };
    Ok(at.and_then(|at| list.get(at)))
}

/// The error of a value that can be no index; it names the reference engine's type.
pub(crate) fn invalid_qualifier(value: &Value<'_>) -> EvalError {
    let host = match value {
        Value::Null => "types.Null".to_owned(),
        Value::Bytes(_) => "types.Bytes".to_owned(),
        Value::Timestamp(_) => "types.Timestamp".to_owned(),
        Value::Duration(_) => "types.Duration".to_owned(),
        Value::Type(_) => "*types.Type".to_owned(),
        Value::List(_) => "*types.baseList".to_owned(),
        Value::Map(_) => "*types.baseMap".to_owned(),
        Value::Optional(_) => "*types.Optional".to_owned(),
        other => format!("cel.{}", other.type_name().rsplit('.').next().unwrap_or_default()),
    };
    EvalError::new(format!("invalid qualifier type: {host}"))
}
