//! Whole numbers in text, with the error texts of the reference engine's number parser.

use super::quote::quoted;

/// Reads a signed decimal number; `function` is what an error names as having failed.
pub(crate) fn parse_int(function: &str, text: &str) -> Result<i64, String> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    check_digits(function, text, unsigned)?;
    text.parse().map_err(|_| out_of_range(function, text))
}

/// Reads an unsigned decimal number without a sign.
pub(crate) fn parse_uint(function: &str, text: &str) -> Result<u64, String> {
    check_digits(function, text, text)?;
    text.parse().map_err(|_| out_of_range(function, text))
}

fn check_digits(function: &str, text: &str, digits: &str) -> Result<(), String> {
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(());
    }
    Err(format!("strconv.{function}: parsing {}: invalid syntax", quoted(text)))
}

fn out_of_range(function: &str, text: &str) -> String {
    format!("strconv.{function}: parsing {}: value out of range", quoted(text))
}
