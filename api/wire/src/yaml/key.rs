//! Keys of YAML maps, converted to strings.
//!
//! JSON only has string keys, YAML has all scalars: an unquoted `y`, which is a boolean in YAML
//! 1.1, is the key `true`, as in Kubernetes 1.35.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, Visitor};

/// A key as a JSON string.
pub(super) struct Key(pub(super) String);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(KeyText).map(Self)
    }
}

struct KeyText;

impl Visitor<'_> for KeyText {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a number or a boolean as the key of a map")
    }

    fn visit_bool<E: de::Error>(self, key: bool) -> Result<String, E> {
        Ok(key.to_string())
    }

    fn visit_i64<E: de::Error>(self, key: i64) -> Result<String, E> {
        Ok(key.to_string())
    }

    fn visit_u64<E: de::Error>(self, key: u64) -> Result<String, E> {
        Ok(key.to_string())
    }

    fn visit_f64<E: de::Error>(self, key: f64) -> Result<String, E> {
        float_text(key).ok_or_else(|| E::custom("a key that is no finite number"))
    }

    fn visit_str<E: de::Error>(self, key: &str) -> Result<String, E> {
        Ok(key.to_owned())
    }

    fn visit_string<E: de::Error>(self, key: String) -> Result<String, E> {
        Ok(key)
    }
}

/// A number in single precision with the fewest digits, and an exponent of two digits when it is
/// large or tiny.
fn float_text(number: f64) -> Option<String> {
    #[expect(clippy::cast_possible_truncation, reason = "keys have single precision")]
    let number = number as f32;
    if !number.is_finite() {
        return None;
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e')?;
    let exponent: i32 = exponent.parse().ok()?;
    Some(match exponent {
        -4..6 => number.to_string(),
        _ => format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        let check = |number: f64, expect: Option<&str>| {
            assert_eq!(float_text(number).as_deref(), expect, "{number}")
        };
        check(1.10, Some("1.1"));
        check(-2.0, Some("-2"));
        check(0.0001, Some("0.0001"));
        check(0.00001, Some("1e-05"));
        check(1_234_567.0, Some("1.234567e+06"));
        check(f64::INFINITY, None);
    }
}
