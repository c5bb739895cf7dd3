//! Calls of every function with arguments that are hard to take.

use std::sync::Arc;

use super::*;
use crate::library::authorizer::{Answers, Undecided, authorizer, request_resource};
use crate::library::time::{Duration, Timestamp};
use crate::overload::{Call, Cost};
use crate::value::Value;

const TEXTS: [&str; 60] = [
    "",
    " ",
    "a",
    "abc",
    "é",
    "😀",
    "a😀é",
    "\0",
    "\n",
    "e\u{301}",
    "-",
    "+",
    ".",
    ":",
    "::",
    "/",
    "//",
    "%",
    "%%",
    "%s",
    "%.",
    "%.5e%d",
    "%é",
    "[",
    "(",
    "a*",
    "(?i)é",
    "\\",
    "\\pL",
    "1",
    "-1",
    "1.5",
    "9223372036854775808",
    "1e400",
    "1e2147483647",
    "1e-2147483648",
    "-9223372036854775809e7",
    "1Gi",
    "7.9Ei",
    "k",
    "1.2.3",
    "v1",
    "1.0.0-a.1+b",
    "127.0.0.1",
    "::ffff:1.2.3.4",
    "fe80::1%eth0",
    "10.0.0.0/8",
    "::/0",
    "http://[::1]:80/a?b=c#d",
    "http://h/%zz",
    "mailto:x",
    "2020-02-29T23:59:59.9+24:60",
    "0000-01-01T00:00:00Z",
    "1h30m",
    "-2562047h47m16.854775808s",
    "Europe/Berlin",
    "+99999999:99999999",
    "dns1123Label",
    "a.b",
    "*",
];
const INTEGERS: [i64; 8] = [0, 1, -1, 2, 5, 63, i64::MAX, i64::MIN];
const DOUBLES: [f64; 7] = [0.0, -0.0, 1.5, f64::NAN, f64::INFINITY, f64::MAX, f64::MIN_POSITIVE];

/// A generator of values that are always the same.
struct Random {
    state: u64,
    /// The function `quantity`.
    quantity: Call,
}

impl Random {
    fn new(state: u64) -> Self {
        let quantity = overloads()
            .into_iter()
            .find(|overload| overload.id == "string_to_quantity")
            .unwrap()
            .call;
        Self { state, quantity }
    }

    fn below(&mut self, bound: usize) -> usize {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.state >> 33).unwrap() % bound
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// A value of a type; of any when the type does not say.
    fn value(&mut self, of: &Type, depth: usize) -> Value<'static> {
        match of {
            Type::Bool => Value::Bool(self.below(2) == 0),
            Type::Int => Value::Int(self.of(&INTEGERS)),
            Type::Uint => Value::Uint(self.of(&INTEGERS).cast_unsigned()),
            Type::Double => Value::Double(self.of(&DOUBLES)),
            Type::String => Value::string(self.of(&TEXTS)),
            Type::Bytes => Value::bytes(self.of(&[&b""[..], b"a", b"\xff", "é".as_bytes()])),
            Type::Timestamp => {
                let seconds = self.of(&[-62_135_596_800, 0, 253_402_300_799]);
                Value::Timestamp(Timestamp::from_unix(seconds, 999_999_999).unwrap())
            }
            Type::Duration => Value::Duration(Duration::from_nanos(self.of(&INTEGERS))),
            Type::List(element) => {
                let length = if depth > 3 { 0 } else { self.below(4) };
                Value::list((0..length).map(|_| self.value(element, depth + 1)).collect())
            }
            Type::Object(name) | Type::Opaque(name) => self.own(name),
            _ if depth > 3 => Value::Null,
            _ => {
                let kinds = [
                    Type::Bool,
                    Type::Int,
                    Type::Uint,
                    Type::Double,
                    Type::String,
                    Type::Bytes,
                    Type::Timestamp,
                ];
                let at = self.below(kinds.len() + 2);
                match kinds.get(at) {
                    Some(kind) => self.value(kind, depth),
                    None => self.value(&kinds::list(Type::Dyn), depth + 1),
                }
            }
        }
    }

    /// A value of a library's own type.
    fn own(&mut self, name: &str) -> Value<'static> {
        let answers = || Arc::new(Answers::of(Undecided));
        let made = match name {
            names::AUTHORIZER => Some(authorizer(answers())),
            names::RESOURCE_CHECK => {
                Some(request_resource(answers(), authorizer::ResourceTarget::default()))
            }
            _ => None,
        };
        let (text, quantity) = (self.of(&TEXTS), self.quantity);
        let called = |value: &dyn Fn(&str) -> Option<Value<'static>>| {
            value(text).or_else(|| TEXTS.iter().find_map(|it| value(it)))
        };
        made.or_else(|| match name {
            names::IP => called(&|text| net::Ip::parse(text).ok().map(Value::opaque)),
            names::CIDR => called(&|text| net::Cidr::parse(text).ok().map(Value::opaque)),
            names::URL => called(&|text| url::Url::parse(text).ok().map(Value::opaque)),
            names::SEMVER => called(&|text| semver::Semver::parse(text).ok().map(Value::opaque)),
            names::NAMED_FORMAT => {
                called(&|text| named_format::NamedFormat::named(text).map(Value::opaque))
            }
            names::DECISION => Some(Value::opaque(authorizer::Decision::default())),
            names::QUANTITY => called(&|text| quantity(&[Value::string(text)]).ok()),
            _ => None,
        })
        .unwrap_or(Value::Null)
    }
}

#[test]
fn no_function_panics() {
    let mut random = Random::new(7);
    let mut answered = 0;
    for overload in overloads() {
        for _ in 0..200 {
            let arguments: Vec<Value<'static>> =
                overload.parameters.iter().map(|it| random.value(it, 0)).collect();
            let answer = (overload.call)(&arguments);
            let cost = match overload.cost {
                Cost::Fixed(cost) => cost,
                Cost::Static(of) | Cost::Always(of) => of(&arguments, answer.as_ref().ok()),
                Cost::ByOverload { chosen, dispatched } => {
                    chosen(&arguments, None).max(dispatched(&arguments, None))
                }
            };
            // How deep a list is flattened and how many numbers there are counts, however little that is.
            let unbounded = matches!(overload.id, "list_flatten_int" | "lists_range");
            assert!(cost < 1 << 40 || unbounded, "{} costs {cost}", overload.id);
            if let Ok(Value::Opaque(value)) = &answer {
                assert!(
                    !value.type_name().is_empty() && value.text().len() < 1 << 20,
                    "{}",
                    overload.id
                );
            }
            answered += usize::from(answer.is_ok());
        }
    }
    assert!(answered > 10_000, "{answered}");
}

#[test]
fn own_values_equal_themselves_only() {
    let mut random = Random::new(11);
    for name in
        [names::IP, names::CIDR, names::URL, names::SEMVER, names::NAMED_FORMAT, names::QUANTITY]
    {
        let Value::Opaque(value) = random.own(name) else { panic!("{name}") };
        let same = Value::Opaque(Arc::clone(&value));
        assert_eq!(value.equals(&same), Ok(true), "{name}");
        assert!(value.equals(&Value::Int(1)).is_err(), "{name}");
        assert_eq!(Value::Int(1).equals(&same), Ok(false), "{name}");
    }
}
