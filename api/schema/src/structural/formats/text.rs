//! Mail addresses, names of this API, and formats that say nothing.

use quorate_meta::{Quantity, name};

pub(super) fn is_anything(_text: &str) -> bool {
    true
}

pub(super) fn is_quantity(text: &str) -> bool {
    Quantity::parse(text).is_some()
}

/// A label: at most 63 characters without capitals.
pub(super) fn is_short_name(text: &str) -> bool {
    name::dns_label(text).is_empty()
}

/// Labels with dots, at most 253 characters in all; the labels themselves are as long as they like.
pub(super) fn is_long_name(text: &str) -> bool {
    name::dns_subdomain(text).is_empty()
}

/// `a@example.com`, `"a b"@example.com` or `Name <a@example.com>`.
pub(super) fn is_email(text: &str) -> bool {
    let text = text.trim();
    match text.strip_suffix('>').and_then(|text| text.rsplit_once('<')) {
        Some((display, address)) => is_display_name(display.trim()) && is_address(address.trim()),
        None => is_address(text),
    }
}

fn is_address(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else {
        return false;
    };
    let quoted = local.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let is_local = quoted.map_or_else(|| is_dot_atom(local), is_quoted_text);
    let literal = domain.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    is_local
        && literal.map_or_else(
            || is_dot_atom(domain),
            |address| address.parse::<std::net::IpAddr>().is_ok(),
        )
}

/// Between quotes, a quote or backslash is escaped.
fn is_quoted_text(text: &str) -> bool {
    let mut escaped = false;
    let fits = text.chars().all(|char| {
        let is_escape = char == '\\' && !escaped;
        let fits = (char == ' ' || !char.is_whitespace())
            && !char.is_control()
            && (char != '"' || escaped);
        escaped = is_escape;
        fits
    });
    !text.is_empty() && fits && !escaped
}

fn is_dot_atom(text: &str) -> bool {
    text.split('.').all(|atom| !atom.is_empty() && atom.chars().all(is_atom_char))
}

fn is_atom_char(char: char) -> bool {
    char.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(char) || !char.is_ascii()
}

/// Words or a quoted text; may be empty.
fn is_display_name(text: &str) -> bool {
    let quoted = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    quoted.map_or_else(
        || {
            text.split_whitespace()
                .all(|word| word.chars().all(|char| is_atom_char(char) || char == '.'))
        },
        is_quoted_text,
    )
}
