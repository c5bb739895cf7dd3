//! The functions of semantic versions.

use std::any::Any;
use std::cmp::Ordering;

use super::Semver;
use crate::environment::Release;
use crate::eval::EvalError;
use crate::library::arguments::{opaque, text};
use crate::library::cost::{estimated_tenth, tenth};
use crate::library::names::{self, SEMVER};
use crate::overload::{Call, Cost, Estimate, Overload};
use crate::types::Type;
use crate::value::{Opaque, Value};

/// The release in which these functions appeared.
const SINCE: Release = Release(33);

/// Every overload.
pub(crate) fn overloads() -> Vec<Overload> {
    use Type::{Bool, Int, String};
    let version = || names::object(SEMVER);
    let parsed =
        |overload: Overload| overload.costs(Cost::Always(tenth), Estimate::Of(estimated_tenth));
    let of = |function, id, call: Call| Overload::member(function, id, [version()], Int, call);
    let with = |function, id, result, call: Call| {
        Overload::member(function, id, [version(), version()], result, call)
    };
    let all = [
        parsed(Overload::global("semver", "string_to_semver", [String], version(), to_semver)),
        parsed(Overload::global(
            "semver",
            "string_bool_to_semver",
            [String, Bool],
            version(),
            to_semver,
        )),
        parsed(Overload::global("isSemver", "is_semver_string", [String], Bool, is_semver)),
        parsed(Overload::global(
            "isSemver",
            "is_semver_string_bool",
            [String, Bool],
            Bool,
            is_semver,
        )),
        with("isLessThan", "semver_is_less_than", Bool, |a| {
            compared(a, |order| Value::Bool(order.is_lt()))
        }),
        with("isGreaterThan", "semver_is_greater_than", Bool, |a| {
            compared(a, |order| Value::Bool(order.is_gt()))
        }),
        with("compareTo", "semver_compare_to", Int, |a| {
            compared(a, |order| Value::Int(order as i64))
        }),
        of("major", "semver_major", |a| number(a, Semver::major)),
        of("minor", "semver_minor", |a| number(a, Semver::minor)),
        of("patch", "semver_patch", |a| number(a, Semver::patch)),
    ];
    all.into_iter().map(|overload| overload.since(SINCE)).collect()
}

fn read(arguments: &[Value<'_>]) -> Result<Result<Semver, String>, EvalError> {
    let text = text(arguments, 0)?;
    Ok(match arguments.get(1) {
        Some(Value::Bool(true)) => Semver::parse_lenient(text),
        None | Some(Value::Bool(false)) => Semver::parse(text),
        Some(_) => return Err(EvalError::no_such_overload()),
    })
}

fn to_semver<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    read(arguments)?.map(Value::opaque).map_err(EvalError::new)
}

fn is_semver<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    Ok(Value::Bool(read(arguments)?.is_ok()))
}

fn compared<'a>(
    arguments: &[Value<'a>],
    answer: fn(Ordering) -> Value<'a>,
) -> Result<Value<'a>, EvalError> {
    let (left, right) = (opaque::<Semver>(arguments, 0)?, opaque::<Semver>(arguments, 1)?);
    Ok(answer(left.cmp(right)))
}

fn number<'a>(arguments: &[Value<'a>], of: fn(&Semver) -> i64) -> Result<Value<'a>, EvalError> {
    opaque::<Semver>(arguments, 0).map(|version| Value::Int(of(version)))
}

impl Opaque for Semver {
    fn type_name(&self) -> &str {
        SEMVER
    }

    fn equals(&self, other: &Value<'_>) -> Result<bool, EvalError> {
        other.as_opaque::<Self>().map(|other| self == other).ok_or(EvalError::no_such_overload())
    }

    fn text(&self) -> String {
        self.to_string()
    }

    fn host_type(&self) -> Option<&'static str> {
        Some("semver.Version")
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
