//! The functions of quantities.

use std::any::Any;
use std::cmp::Ordering;

use super::Quantity;
use crate::environment::Release;
use crate::eval::EvalError;
use crate::library::arguments::{integer, opaque, text};
use crate::library::cost::{estimated_tenth, tenth};
use crate::library::names::{self, QUANTITY};
use crate::overload::{Call, Cost, Estimate, Overload};
use crate::types::Type;
use crate::value::{Opaque, Value};

/// The release in which these functions appeared.
const SINCE: Release = Release(29);

/// A quantity in an expression.
#[derive(Debug)]
struct QuantityValue {
    quantity: Quantity,
    /// Whether it was computed; such a quantity equals nothing when it stands on the right.
    is_computed: bool,
}

/// Every overload.
pub(crate) fn overloads() -> Vec<Overload> {
    use Type::{Bool, Double, Int, String};
    let quantity = || names::object(QUANTITY);
    let parsed =
        |overload: Overload| overload.costs(Cost::Always(tenth), Estimate::Of(estimated_tenth));
    let of = |function, id, result, call: Call| {
        Overload::member(function, id, [quantity()], result, call)
    };
    let with = |function, id, other, result, call: Call| {
        Overload::member(function, id, [quantity(), other], result, call)
    };
    let all = [
        parsed(Overload::global(
            "quantity",
            "string_to_quantity",
            [String],
            quantity(),
            to_quantity,
        )),
        parsed(Overload::global("isQuantity", "is_quantity_string", [String], Bool, is_quantity)),
        Overload::global("sign", "quantity_sign", [quantity()], Int, |a| {
            answer(a, |it| Value::Int(it.sign()))
        }),
        with("isGreaterThan", "quantity_is_greater_than", quantity(), Bool, |a| {
            compared(a, |order| Value::Bool(order.is_gt()))
        }),
        with("isLessThan", "quantity_is_less_than", quantity(), Bool, |a| {
            compared(a, |order| Value::Bool(order.is_lt()))
        }),
        with("compareTo", "quantity_compare_to", quantity(), Int, |a| {
            compared(a, |order| Value::Int(order as i64))
        }),
        of("asApproximateFloat", "quantity_get_float", Double, |a| {
            answer(a, |it| Value::Double(it.as_approximate_float()))
        }),
        of("asInteger", "quantity_get_int", Int, as_integer),
        of("isInteger", "quantity_is_integer", Bool, |a| {
            answer(a, |it| Value::Bool(it.as_integer().is_some()))
        }),
        with("add", "quantity_add", quantity(), quantity(), |a| computed(a, Quantity::add)),
        with("add", "quantity_add_int", Int, quantity(), |a| computed(a, Quantity::add)),
        with("sub", "quantity_sub", quantity(), quantity(), |a| computed(a, Quantity::sub)),
        with("sub", "quantity_sub_int", Int, quantity(), |a| computed(a, Quantity::sub)),
    ];
    all.into_iter().map(|overload| overload.since(SINCE)).collect()
}

fn receiver<'v>(arguments: &'v [Value<'_>]) -> Result<&'v Quantity, EvalError> {
    opaque::<QuantityValue>(arguments, 0).map(|value| &value.quantity)
}

fn to_quantity<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    value(text(arguments, 0)?).map_err(EvalError::new)
}

/// The quantity that a text stands for; the error is what the expression fails with.
pub(crate) fn value<'a>(text: &str) -> Result<Value<'a>, &'static str> {
    let quantity = Quantity::parse(text)?;
    Ok(Value::opaque(QuantityValue { quantity, is_computed: false }))
}

fn is_quantity<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    Ok(Value::Bool(Quantity::parse(text(arguments, 0)?).is_ok()))
}

fn answer<'a>(
    arguments: &[Value<'a>],
    of: fn(&Quantity) -> Value<'a>,
) -> Result<Value<'a>, EvalError> {
    receiver(arguments).map(of)
}

fn as_integer<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    let integer = receiver(arguments)?.as_integer();
    integer.map(Value::Int).ok_or(EvalError::new("cannot convert value to integer"))
}

fn compared<'a>(
    arguments: &[Value<'a>],
    answer: fn(Ordering) -> Value<'a>,
) -> Result<Value<'a>, EvalError> {
    let (left, right) = (receiver(arguments)?, opaque::<QuantityValue>(arguments, 1)?);
    Ok(answer(left.cmp(&right.quantity)))
}

fn computed<'a>(
    arguments: &[Value<'a>],
    of: fn(&Quantity, &Quantity) -> Option<Quantity>,
) -> Result<Value<'a>, EvalError> {
    let left = receiver(arguments)?;
    let result = match arguments.get(1).and_then(Value::as_opaque::<QuantityValue>) {
        Some(right) => of(left, &right.quantity),
        None => of(left, &Quantity::from_units(integer(arguments, 1)?)),
    };
    let quantity = result.ok_or(EvalError::new("quantities are too far apart"))?;
    Ok(Value::opaque(QuantityValue { quantity, is_computed: true }))
}

impl Opaque for QuantityValue {
    fn type_name(&self) -> &str {
        QUANTITY
    }

    fn equals(&self, other: &Value<'_>) -> Result<bool, EvalError> {
        match other.as_opaque::<Self>() {
            Some(other) if !other.is_computed => Ok(self.quantity == other.quantity),
            _ => Err(EvalError::no_such_overload()),
        }
    }

    fn text(&self) -> String {
        self.quantity.to_string()
    }

    fn host_type(&self) -> Option<&'static str> {
        Some("*resource.Quantity")
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
