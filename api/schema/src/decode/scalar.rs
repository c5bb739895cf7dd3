//! Scalars with a syntax of their own: times, base64, quantities. The messages are those of
//! Kubernetes 1.35.

use quorate_meta::{Time, Value};

use crate::graph::Scalar;

/// Reference form of a time with whole seconds, as messages show it.
pub(super) const SECONDS: &str = "2006-01-02T15:04:05Z07:00";
/// Reference form of a time with microseconds.
pub(super) const MICROS: &str = "2006-01-02T15:04:05.000000Z07:00";
/// The message about text that is no quantity.
pub(super) const BAD_QUANTITY: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/// The parts of a time in order, as messages name them; the fraction and the zone follow.
const TIME_PARTS: [&str; 11] = ["2006", "-", "01", "-", "02", "T", "15", ":", "04", ":", "05"];

pub(super) fn type_name(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Bool => "bool",
        Scalar::Int32 | Scalar::IntOrString => "int32",
        Scalar::Int64 => "int64",
        Scalar::Double => "float64",
        Scalar::String => "string",
        Scalar::Bytes => "[]uint8",
        Scalar::Time => "v1.Time",
        Scalar::MicroTime => "v1.MicroTime",
        Scalar::Quantity => "resource.Quantity",
        Scalar::Any => "interface {}",
    }
}

pub(super) fn number_text(value: &Value) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

pub(super) fn check_time(text: &str, layout: &str) -> Result<(), String> {
    let mut rest = text;
    for part in TIME_PARTS {
        let fits = |taken: &&str| match part {
            "-" | "T" | ":" => *taken == part,
            _ => taken.bytes().all(|byte| byte.is_ascii_digit()),
        };
        match rest.get(..part.len()).filter(fits) {
            Some(_) => rest = &rest[part.len()..],
            None => {
                return Err(format!(
                    "parsing time {text:?} as {layout:?}: cannot parse {rest:?} as {part:?}"
                ));
            }
        }
    }
    let zone = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    if !zone.starts_with(['Z', '+', '-']) {
        return Err(format!(
            "parsing time {text:?} as {layout:?}: cannot parse {zone:?} as \"Z07:00\""
        ));
    }
    Time::parse(text).map(drop).map_err(|_| format!("parsing time {text:?}: value out of range"))
}

/// Checks standard base64 with padding; line breaks are ignored.
pub(super) fn check_base64(text: &str) -> Result<(), String> {
    let fail = |at: usize| Err(format!("illegal base64 data at input byte {at}"));
    let mut quantum = 0;
    let mut padding = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'\r' | b'\n' => continue,
            b'=' if quantum % 4 >= 2 => padding += 1,
            _ if padding > 0 => return fail(at),
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' => {}
            _ => return fail(at),
        }
        quantum += 1;
    }
    if quantum % 4 == 0 { Ok(()) } else { fail(text.len() - quantum % 4) }
}

/// Checks the syntax of a quantity: sign, decimal number, suffix or exponent.
pub(super) fn check_quantity(text: &str) -> Result<(), String> {
    let fail = || Err(BAD_QUANTITY.to_owned());
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(end);
    if !number.bytes().any(|b| b.is_ascii_digit()) || number.matches('.').count() > 1 {
        return fail();
    }
    let exponent = suffix.strip_prefix(['e', 'E']).is_some_and(|digits| {
        let digits = digits.strip_prefix(['+', '-']).unwrap_or(digits);
        !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
    });
    let known =
        ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    if exponent || known.contains(&suffix) {
        return Ok(());
    }
    let exponent = suffix.trim_start_matches(|c: char| "eEinumkKMGTP".contains(c));
    let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return fail();
    }
    Err("unable to parse quantity's suffix".to_owned())
}

/// The canonical text of a time; `None` for another text.
pub(super) fn canonical_time(text: &str, micros: bool) -> Option<String> {
    let time = Time::parse(text).ok()?;
    Some(if micros { time.microseconds() } else { time.seconds() })
}
