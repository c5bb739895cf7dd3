//! Doubles as `%f` and `%e` print them, in English.

/// Digits after the point unless a clause says otherwise, and the least width of scientific numbers.
const DEFAULT_PRECISION: usize = 6;

/// From so many digits after the point on, the reference engine pads with zeros only up to the rest of a division by this.
const SHORTENED_PRECISION: usize = 256;

/// `12,345.678000`.
pub(super) fn fixed(value: f64, precision: Option<usize>) -> String {
    if let Some(special) = special(value) {
        return special.to_owned();
    }
    let precision = precision.unwrap_or(DEFAULT_PRECISION);
    let plain = format!("{value:.precision$}");
    let plain = without_padding(&plain, precision % SHORTENED_PRECISION);
    let (sign, plain) = plain.strip_prefix('-').map_or(("", plain), |rest| ("-", rest));
    let (whole, fraction) = plain.split_at(plain.find('.').unwrap_or(plain.len()));
    let mut out = String::with_capacity(plain.len() + whole.len() / 3 + 1);
    out.push_str(sign);
    for (at, digit) in whole.char_indices() {
        if at > 0 && (whole.len() - at) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out.push_str(fraction);
    out
}

/// `1.500000×10⁰³`, in `width` characters at least.
pub(super) fn scientific(value: f64, width: Option<usize>) -> String {
    let printed = special(value).map_or_else(|| with_power(value), str::to_owned);
    format!("{printed:>0$}", width.unwrap_or(DEFAULT_PRECISION))
}

/// A number with zeros at the end of its fraction left out, but for `least` digits.
fn without_padding(plain: &str, least: usize) -> &str {
    let Some(point) = plain.find('.') else {
        return plain;
    };
    let needed = plain.trim_end_matches('0').len().max(point + 1 + least).min(plain.len());
    if needed == point + 1 { &plain[..point] } else { &plain[..needed] }
}

fn with_power(value: f64) -> String {
    let plain = format!("{value:.*e}", DEFAULT_PRECISION);
    let (mantissa, exponent) = plain.split_once('e').unwrap_or((&plain, "0"));
    let (sign, digits) = exponent.strip_prefix('-').map_or(("", exponent), |digits| ("⁻", digits));
    let raised = format!("{digits:0>2}").bytes().map(superscript).collect::<String>();
    format!("{mantissa}×10{sign}{raised}")
}

fn superscript(digit: u8) -> char {
    ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][usize::from(digit - b'0')]
}

fn special(value: f64) -> Option<&'static str> {
    match value {
        _ if value.is_nan() => Some("NaN"),
        f64::INFINITY => Some("∞"),
        f64::NEG_INFINITY => Some("-∞"),
        _ => None,
    }
}
