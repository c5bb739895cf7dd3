//! Keys of YAML maps, converted to strings.
//!
//! JSON only has string keys, YAML has all scalars: an unquoted `y`, which is a boolean in YAML 1.1,
//! is the key `true`, as in Kubernetes 1.35. Two keys are the same if they are of one type and have
//! one value.

use std::fmt;

use quorate_meta::SmolStr;

use super::error::Error;
use super::resolve::Resolved;

/// A key as it is compared.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    /// The bits of a float.
    Float(u64),
    Text(SmolStr),
}

impl Key {
    pub(super) fn new(key: Resolved<'_>) -> Self {
        match key {
            Resolved::Null => Self::Null,
            Resolved::Bool(key) => Self::Bool(key),
            Resolved::Int(key) => Self::Int(key),
            Resolved::UInt(key) => Self::UInt(key),
            Resolved::Float(key) => Self::Float(key.to_bits()),
            Resolved::Text(text) => Self::Text(SmolStr::new(text)),
        }
    }

    /// The key of a JSON object.
    pub(super) fn into_text(self) -> Result<SmolStr, Error> {
        Ok(match self {
            Self::Text(text) => text,
            Self::Bool(key) => SmolStr::new_static(if key { "true" } else { "false" }),
            Self::Int(key) => SmolStr::from(key.to_string()),
            Self::Float(bits) => SmolStr::from(float_text(f64::from_bits(bits))),
            Self::Null | Self::UInt(_) => {
                return Err(Error::value(format!("unsupported map key: {self}")));
            }
        })
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("interface {}(nil)"),
            Self::Bool(key) => key.fmt(f),
            Self::Int(key) => key.fmt(f),
            Self::UInt(key) => write!(f, "{key:#x}"),
            Self::Float(bits) => f.write_str(&scientific(f64::from_bits(*bits))),
            Self::Text(text) => f.write_str(&quorate_meta::quoted(text)),
        }
    }
}

/// A number in single precision as a key.
fn float_text(number: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "keys have single precision")]
    let number = number as f32;
    if number.is_nan() {
        ".nan".to_owned()
    } else if number.is_infinite() {
        if number > 0.0 { ".inf" } else { "-.inf" }.to_owned()
    } else {
        scientific(number)
    }
}

/// A number with the fewest digits, and an exponent of two digits when it is large or tiny.
fn scientific(number: impl fmt::LowerExp + fmt::Display) -> String {
    let scientific = format!("{number:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..6).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.abs())
        }
        _ => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        let check = |number: f64, expect: &str| assert_eq!(float_text(number), expect, "{number}");
        check(1.10, "1.1");
        check(-2.0, "-2");
        check(0.0001, "0.0001");
        check(0.00001, "1e-05");
        check(1_234_567.0, "1.234567e+06");
        check(f64::INFINITY, ".inf");
        check(f64::NEG_INFINITY, "-.inf");
        check(f64::NAN, ".nan");
    }
}
