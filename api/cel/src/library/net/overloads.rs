//! The functions of addresses and networks.

use std::any::Any;

use super::{Cidr, Ip};
use crate::environment::Release;
use crate::eval::EvalError;
use crate::library::arguments::{opaque, text};
use crate::library::cost::{
    estimated_fifth, estimated_size, estimated_tenth, exactly, fifth, size_of, sum, tenth,
};
use crate::library::names::{self, CIDR, IP};
use crate::overload::{ArgumentEstimate, Call, CallEstimate, Cost, Estimate, Overload, Range};
use crate::types::Type;
use crate::value::{Opaque, Value};

/// The release in which these functions appeared.
const SINCE: Release = Release(30);
/// Bytes of an IPv4 address, and of an IPv6 one.
const ADDRESS_BYTES: Range = Range { min: 4, max: 16 };

/// Every overload.
pub(crate) fn overloads() -> Vec<Overload> {
    let all = [of_ip(), of_cidr(), containment()].into_iter().flatten();
    all.map(|overload| overload.since(SINCE)).collect()
}

fn ip_type() -> Type {
    names::opaque(IP)
}

fn cidr_type() -> Type {
    names::opaque(CIDR)
}

/// A function of a text that is read as an address or a block.
fn parsed(function: &'static str, id: &'static str, result: Type, call: Call) -> Overload {
    Overload::global(function, id, [Type::String], result, call)
        .costs(Cost::Always(tenth), Estimate::Of(estimated_tenth))
}

/// Functions of addresses.
fn of_ip() -> Vec<Overload> {
    let member = |function, id, result, call: Call| {
        Overload::member(function, id, [ip_type()], result, call)
    };
    vec![
        Overload::global("ip", "string_to_ip", [Type::String], ip_type(), to_ip)
            .costs(IP_COST, Estimate::Of(estimated_tenth)),
        member("family", "ip_family", Type::Int, |a| ip_of(a, |ip| Value::Int(ip.family()))),
        Overload::global(
            "ip.isCanonical",
            "ip_is_canonical",
            [Type::String],
            Type::Bool,
            is_canonical,
        )
        .costs(Cost::Always(fifth), Estimate::Of(estimated_fifth)),
        member("isUnspecified", "ip_is_unspecified", Type::Bool, |a| {
            ip_of(a, |ip| Value::Bool(ip.is_unspecified()))
        }),
        member("isLoopback", "ip_is_loopback", Type::Bool, |a| {
            ip_of(a, |ip| Value::Bool(ip.is_loopback()))
        }),
        member("isLinkLocalMulticast", "ip_is_link_local_multicast", Type::Bool, |a| {
            ip_of(a, |ip| Value::Bool(ip.is_link_local_multicast()))
        }),
        member("isLinkLocalUnicast", "ip_is_link_local_unicast", Type::Bool, |a| {
            ip_of(a, |ip| Value::Bool(ip.is_link_local_unicast()))
        }),
        member("isGlobalUnicast", "ip_is_global_unicast", Type::Bool, |a| {
            ip_of(a, |ip| Value::Bool(ip.is_global_unicast()))
        }),
        parsed("isIP", "is_ip", Type::Bool, is_ip),
        Overload::global("string", "ip_to_string", [ip_type()], Type::String, |a| {
            ip_of(a, |ip| Value::string(ip.to_string()))
        }),
    ]
}

/// Functions of blocks of addresses.
fn of_cidr() -> Vec<Overload> {
    let member = |function, id, result, call: Call| {
        Overload::member(function, id, [cidr_type()], result, call)
    };
    vec![
        member("ip", "cidr_ip", ip_type(), |a| cidr_of(a, |cidr| Value::opaque(cidr.ip())))
            .costs(IP_COST_OF_CIDR, Estimate::Fixed(1)),
        parsed("cidr", "string_to_cidr", cidr_type(), to_cidr),
        member("prefixLength", "cidr_prefix_length", Type::Int, |a| {
            cidr_of(a, |it| Value::Int(it.prefix_length()))
        }),
        member("masked", "cidr_masked", cidr_type(), |a| {
            cidr_of(a, |cidr| Value::opaque(cidr.masked()))
        }),
        parsed("isCIDR", "is_cidr", Type::Bool, is_cidr),
        Overload::global("string", "cidr_to_string", [cidr_type()], Type::String, |a| {
            cidr_of(a, |cidr| Value::string(cidr.to_string()))
        }),
    ]
}

/// Whether a block contains an address or a block.
fn containment() -> Vec<Overload> {
    let (ip, cidr, text) = (ip_type, cidr_type, || Type::String);
    vec![
        Overload::member(
            "containsIP",
            "cidr_contains_ip_string",
            [cidr(), text()],
            Type::Bool,
            contains_ip,
        )
        .costs(CONTAINS_IP_TEXT, Estimate::Of(estimate_of_ip_text)),
        Overload::member(
            "containsIP",
            "cidr_contains_ip_ip",
            [cidr(), ip()],
            Type::Bool,
            contains_ip,
        )
        .costs(Cost::Always(cost_of_ip), Estimate::Of(estimate_of_ip)),
        Overload::member(
            "containsCIDR",
            "cidr_contains_cidr_string",
            [cidr(), text()],
            Type::Bool,
            contains_cidr,
        )
        .costs(CONTAINS_CIDR_TEXT, Estimate::Of(estimate_of_cidr_text)),
        Overload::member(
            "containsCIDR",
            "cidr_contains_cidr",
            [cidr(), cidr()],
            Type::Bool,
            contains_cidr,
        )
        .costs(Cost::Always(cost_of_cidr), Estimate::Of(estimate_of_cidr)),
    ]
}

const IP_COST: Cost = Cost::ByOverload { chosen: tenth, dispatched: cost_of_any_ip };
const IP_COST_OF_CIDR: Cost = Cost::ByOverload { chosen: |_, _| 1, dispatched: cost_of_any_ip };
const CONTAINS_IP_TEXT: Cost = Cost::ByOverload {
    chosen: |a, r| cost_of_ip(a, r) + argument_tenth(a),
    dispatched: cost_of_ip,
};
const CONTAINS_CIDR_TEXT: Cost = Cost::ByOverload {
    chosen: |a, r| cost_of_cidr(a, r) + argument_tenth(a),
    dispatched: cost_of_cidr,
};

/// What `ip` costs when the checker did not tell the overloads apart.
fn cost_of_any_ip(arguments: &[Value<'_>], result: Option<&Value<'_>>) -> u64 {
    match arguments.first().and_then(Value::as_opaque::<Cidr>) {
        Some(cidr) => cidr.prefix_bytes().div_ceil(10),
        None => tenth(arguments, result),
    }
}

/// Bytes of the receiver's prefix; 1 for what is no network.
fn prefix_bytes(arguments: &[Value<'_>]) -> u64 {
    arguments.first().and_then(Value::as_opaque::<Cidr>).map_or(1, |cidr| cidr.prefix_bytes())
}

fn argument_tenth(arguments: &[Value<'_>]) -> u64 {
    size_of(arguments, 1).div_ceil(10)
}

fn cost_of_ip(arguments: &[Value<'_>], _result: Option<&Value<'_>>) -> u64 {
    (2 * prefix_bytes(arguments)).div_ceil(10)
}

fn cost_of_cidr(arguments: &[Value<'_>], result: Option<&Value<'_>>) -> u64 {
    cost_of_ip(arguments, result) + prefix_bytes(arguments).div_ceil(10) + 1
}

fn estimate_of_ip(_arguments: &[ArgumentEstimate<'_>]) -> CallEstimate {
    CallEstimate { cost: sum(ADDRESS_BYTES, ADDRESS_BYTES).scaled(0.1), size: None }
}

fn estimate_of_cidr(arguments: &[ArgumentEstimate<'_>]) -> CallEstimate {
    let both = sum(estimate_of_ip(arguments).cost, ADDRESS_BYTES.scaled(0.1));
    CallEstimate { cost: sum(both, exactly(1)), size: None }
}

fn estimate_of_ip_text(arguments: &[ArgumentEstimate<'_>]) -> CallEstimate {
    let read = estimated_size(arguments, 1).scaled(0.1);
    CallEstimate { cost: sum(estimate_of_ip(arguments).cost, read), size: None }
}

fn estimate_of_cidr_text(arguments: &[ArgumentEstimate<'_>]) -> CallEstimate {
    let read = estimated_size(arguments, 1).scaled(0.1);
    CallEstimate { cost: sum(estimate_of_cidr(arguments).cost, read), size: None }
}

fn ip_of<'a>(arguments: &[Value<'a>], answer: fn(Ip) -> Value<'a>) -> Result<Value<'a>, EvalError> {
    opaque::<Ip>(arguments, 0).map(|ip| answer(*ip))
}

fn cidr_of<'a>(
    arguments: &[Value<'a>],
    answer: fn(Cidr) -> Value<'a>,
) -> Result<Value<'a>, EvalError> {
    opaque::<Cidr>(arguments, 0).map(|cidr| answer(*cidr))
}

fn to_ip<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    Ip::parse(text(arguments, 0)?).map(Value::opaque).map_err(EvalError::new)
}

fn is_ip<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    Ok(Value::Bool(Ip::parse(text(arguments, 0)?).is_ok()))
}

fn is_canonical<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    let text = text(arguments, 0)?;
    let ip = Ip::parse(text).map_err(EvalError::new)?;
    Ok(Value::Bool(ip.to_string() == text))
}

fn to_cidr<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    Cidr::parse(text(arguments, 0)?).map(Value::opaque).map_err(EvalError::new)
}

fn is_cidr<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    Ok(Value::Bool(Cidr::parse(text(arguments, 0)?).is_ok()))
}

fn contains_ip<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    let cidr = opaque::<Cidr>(arguments, 0)?;
    let ip = match arguments.get(1).and_then(Value::as_str) {
        // Text that is no address is an argument of a wrong type.
        Some(text) => Ip::parse(text).map_err(|_| EvalError::no_such_overload())?,
        None => *opaque::<Ip>(arguments, 1)?,
    };
    Ok(Value::Bool(cidr.contains_ip(ip)))
}

fn contains_cidr<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    let cidr = opaque::<Cidr>(arguments, 0)?;
    let other = match arguments.get(1).and_then(Value::as_str) {
        Some(text) => Cidr::parse(text).map_err(EvalError::new)?,
        None => *opaque::<Cidr>(arguments, 1)?,
    };
    Ok(Value::Bool(cidr.contains_cidr(other)))
}

impl Opaque for Ip {
    fn type_name(&self) -> &str {
        IP
    }

    fn equals(&self, other: &Value<'_>) -> Result<bool, EvalError> {
        other.as_opaque::<Self>().map(|other| self == other).ok_or(EvalError::no_such_overload())
    }

    fn text(&self) -> String {
        self.to_string()
    }

    fn host_type(&self) -> Option<&'static str> {
        Some("netip.Addr")
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Opaque for Cidr {
    fn type_name(&self) -> &str {
        CIDR
    }

    fn equals(&self, other: &Value<'_>) -> Result<bool, EvalError> {
        other.as_opaque::<Self>().map(|other| self == other).ok_or(EvalError::no_such_overload())
    }

    fn text(&self) -> String {
        self.to_string()
    }

    fn host_type(&self) -> Option<&'static str> {
        Some("netip.Prefix")
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
