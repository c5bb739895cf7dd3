//! The meaning of a scalar: null, boolean, number or text.
//!
//! Plain text means what it means in YAML 1.1, as Kubernetes 1.35 takes it: `yes` is true, `0644` is
//! octal, `1_000` is a number, and a number that no float holds is text.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::error::Error;
use super::nodes::Scalar;

/// What the tags of YAML's own types begin with.
const PREFIX: &str = "tag:yaml.org,2002:";

/// A scalar's value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Resolved<'s> {
    Null,
    Bool(bool),
    Int(i64),
    /// An integer above `i64::MAX`.
    UInt(u64),
    Float(f64),
    Text(Cow<'s, str>),
}

impl Resolved<'_> {
    /// The tag of the type, in its short form.
    fn tag(&self) -> &'static str {
        match self {
            Self::Null => "!!null",
            Self::Bool(_) => "!!bool",
            Self::Int(_) | Self::UInt(_) => "!!int",
            Self::Float(_) => "!!float",
            Self::Text(_) => "!!str",
        }
    }
}

/// The value of a scalar.
pub(super) fn resolve(scalar: &Scalar) -> Result<Resolved<'_>, Error> {
    let text = &*scalar.text;
    let same = Ok(Resolved::Text(Cow::Borrowed(text)));
    let Some(tag) = scalar.tag.as_deref() else {
        return if scalar.plain { Ok(plain(text)) } else { same };
    };
    match tag.strip_prefix(PREFIX) {
        Some("binary") => {
            let bytes = STANDARD
                .decode(text.replace(['\n', '\r'], ""))
                .map_err(|_| Error::yaml("!!binary value contains invalid base64 data"))?;
            Ok(Resolved::Text(String::from_utf8_lossy(&bytes).into_owned().into()))
        }
        Some(name @ ("bool" | "int" | "float" | "null" | "timestamp")) => typed(name, text),
        _ => same,
    }
}

/// The value of text that has to be of a type.
fn typed<'s>(name: &str, text: &'s str) -> Result<Resolved<'s>, Error> {
    let found = plain(text);
    if let (Resolved::Int(value), "float") = (&found, name) {
        #[expect(clippy::cast_precision_loss, reason = "a float was asked for")]
        return Ok(Resolved::Float(*value as f64));
    }
    let (tag, wanted) = (found.tag(), format!("!!{name}"));
    if tag == wanted || (tag == "!!str" && name == "timestamp" && is_date(text)) {
        return Ok(found);
    }
    Err(Error::yaml(format!("cannot decode {tag} `{text}` as a {wanted}")))
}

/// Whether text begins with a date.
fn is_date(text: &str) -> bool {
    text.len() >= "2006-1-2".len()
        && text.bytes().take_while(u8::is_ascii_digit).count() == 4
        && text.as_bytes()[4] == b'-'
}

/// The value of plain text.
fn plain(text: &str) -> Resolved<'_> {
    let word = match text {
        "" | "~" | "null" | "Null" | "NULL" => Some(Resolved::Null),
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Some(Resolved::Bool(true))
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Some(Resolved::Bool(false))
        }
        ".nan" | ".NaN" | ".NAN" => Some(Resolved::Float(f64::NAN)),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => {
            Some(Resolved::Float(f64::INFINITY))
        }
        "-.inf" | "-.Inf" | "-.INF" => Some(Resolved::Float(f64::NEG_INFINITY)),
        _ => None,
    };
    let number = || match text.as_bytes().first() {
        Some(b'.') => float(text),
        Some(b'+' | b'-' | b'0'..=b'9') => number(&text.replace('_', "")),
        _ => None,
    };
    word.or_else(number).unwrap_or(Resolved::Text(Cow::Borrowed(text)))
}

/// An integer or a float.
fn number(text: &str) -> Option<Resolved<'static>> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let integer = magnitude(digits).and_then(|value| {
        let value = if negative { -value } else { value };
        i64::try_from(value).map(Resolved::Int).ok().or_else(|| {
            u64::try_from(value).ok().filter(|_| digits.len() == text.len()).map(Resolved::UInt)
        })
    });
    integer.or_else(|| float(text))
}

/// The value of digits in the base that their prefix names.
fn magnitude(digits: &str) -> Option<i128> {
    let (base, rest) = match digits.as_bytes() {
        [b'0', b'x' | b'X', _, ..] => (16, &digits[2..]),
        [b'0', b'o' | b'O', _, ..] => (8, &digits[2..]),
        [b'0', b'b' | b'B', _, ..] => (2, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    // A sign is no digit.
    rest.bytes().all(|byte| byte.is_ascii_alphanumeric()).then_some(())?;
    i128::from_str_radix(rest, base).ok()
}

/// A float in decimal digits that is not too large.
fn float(text: &str) -> Option<Resolved<'static>> {
    let decimal = |byte: u8| matches!(byte, b'0'..=b'9' | b'.' | b'+' | b'-' | b'e' | b'E');
    let value = text.parse::<f64>().ok().filter(|value| value.is_finite())?;
    text.bytes().all(decimal).then_some(Resolved::Float(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scalar(tag: &str, text: &str) -> Scalar {
        let tag = (!tag.is_empty()).then(|| format!("{PREFIX}{tag}").into());
        Scalar { text: text.into(), tag, plain: true }
    }

    #[test]
    fn plain_text() {
        let check = |text: &str, expect: Resolved<'_>| assert_eq!(plain(text), expect, "{text}");
        for (text, expect) in [("0", 0), ("-7", -7), ("+5", 5), ("0644", 420), ("-0x1F", -31)] {
            check(text, Resolved::Int(expect));
        }
        for (text, expect) in [("0o17", 15), ("0b101", 5), ("-0b11", -3), ("1_000", 1000)] {
            check(text, Resolved::Int(expect));
        }
        check("18446744073709551615", Resolved::UInt(u64::MAX));
        check("+18446744073709551615", Resolved::Float(18_446_744_073_709_551_615.0));
        for (text, expect) in [("0008", 8.0), ("1e1", 10.0), ("3.0", 3.0), (".5", 0.5), ("1.", 1.0)]
        {
            check(text, Resolved::Float(expect));
        }
        for text in [
            "5e98765",
            "-5e98765",
            "0x",
            "0xfg",
            "1.2.3",
            "1e",
            "+",
            "-",
            ".",
            "..5",
            "1:30",
            "0o8",
            "2026-01-02",
            "nan",
            "inf",
            "infinity",
            "-inf",
            "0x-1",
            "+-1",
            "yEs",
            "nULL",
            "1 2",
            "--1",
        ] {
            check(text, Resolved::Text(text.into()));
        }
    }

    #[test]
    fn tags() {
        let check = |tag: &str, text: &str, expect: Result<Resolved<'_>, &str>| {
            let scalar = scalar(tag, text);
            let found = resolve(&scalar).map_err(|error| error.to_string());
            assert_eq!(found, expect.map_err(str::to_owned), "{tag} {text}");
        };
        check("str", "1", Ok(Resolved::Text("1".into())));
        check("int", "0x10", Ok(Resolved::Int(16)));
        check("float", "1", Ok(Resolved::Float(1.0)));
        check("int", "a", Err("yaml: cannot decode !!str `a` as a !!int"));
        check("int", "1.5", Err("yaml: cannot decode !!float `1.5` as a !!int"));
        check("bool", "", Err("yaml: cannot decode !!null `` as a !!bool"));
        check("null", "~", Ok(Resolved::Null));
        check("binary", "aGk=", Ok(Resolved::Text("hi".into())));
        check("binary", "!", Err("yaml: !!binary value contains invalid base64 data"));
        check("timestamp", "2026-01-02", Ok(Resolved::Text("2026-01-02".into())));
        check("timestamp", "a", Err("yaml: cannot decode !!str `a` as a !!timestamp"));
        check("omap", "1", Ok(Resolved::Text("1".into())));
    }
}
