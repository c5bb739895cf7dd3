//! Addresses and names of networks.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

fn parse_ip(text: &str) -> Option<IpAddr> {
    text.parse::<Ipv4Addr>()
        .map(IpAddr::V4)
        .ok()
        .or_else(|| text.parse::<Ipv6Addr>().map(IpAddr::V6).ok())
}

/// An address with dots; that of IPv6 with an IPv4 end is one too.
pub(super) fn is_ipv4(text: &str) -> bool {
    text.contains('.') && parse_ip(text).is_some()
}

pub(super) fn is_ipv6(text: &str) -> bool {
    text.contains(':') && parse_ip(text).is_some()
}

pub(super) fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else {
        return false;
    };
    let most = match parse_ip(address) {
        Some(IpAddr::V4(_)) => 32,
        Some(IpAddr::V6(_)) => 128,
        None => return false,
    };
    bits.bytes().all(|byte| byte.is_ascii_digit())
        && bits.parse::<u8>().is_ok_and(|bits| bits <= most)
}

/// 6, 8 or 20 bytes: pairs of digits with colons or dashes, or groups of four with dots.
pub(super) fn is_mac(text: &str) -> bool {
    let groups = |separator: char, length: usize| {
        let mut count = 0;
        let fits = text.split(separator).all(|group| {
            count += 1;
            group.len() == length && group.bytes().all(|byte| byte.is_ascii_hexdigit())
        });
        if fits { count * length / 2 } else { 0 }
    };
    [(':', 2), ('-', 2), ('.', 4)]
        .into_iter()
        .any(|(separator, length)| matches!(groups(separator, length), 6 | 8 | 20))
}

/// Letters, digits and symbols of any script.
fn is_name_char(char: char) -> bool {
    char.is_ascii_alphanumeric()
        || matches!(char, '$' | '+' | '<' | '=' | '>' | '^' | '`' | '|' | '~')
        || (!char.is_ascii() && !char.is_control() && !char.is_whitespace())
}

/// A host name: one label with at most one dash, after its first character; or several with dots, the last of at least two.
pub(super) fn is_hostname(text: &str) -> bool {
    let labels: Vec<&str> = text.split('.').collect();
    let bounded = text.len() <= 255 && labels.iter().all(|label| label.len() <= 63);
    let Some((last, before)) = labels.split_last() else {
        return false;
    };
    let inner = |label: &str| label.chars().all(|char| is_name_char(char) || char == '-');
    let ends = |label: &str| label.starts_with(is_name_char) && label.ends_with(is_name_char);
    let fits = match before {
        [] => {
            let mut chars = last.chars();
            let first = chars.next().is_some_and(is_name_char);
            let rest = chars.as_str();
            first && rest.strip_prefix('-').unwrap_or(rest).chars().all(is_name_char)
        }
        before => {
            before.iter().all(|label| ends(label) && inner(label))
                && ends(last)
                && inner(last)
                && !last.contains("--")
                && last.chars().count() >= 2
        }
    };
    bounded && fits
}

/// An absolute URI, or an absolute path.
pub(super) fn is_uri(text: &str) -> bool {
    if text.is_empty() || text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
        return false;
    }
    let without_query = text.split_once('?').map_or(text, |(before, _)| before);
    if text == "*" {
        return true;
    }
    if without_query.starts_with('/') {
        return has_good_escapes(without_query);
    }
    let Some((scheme, rest)) = without_query.split_once(':') else {
        return false;
    };
    let is_scheme = scheme.starts_with(|char: char| char.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    if !is_scheme {
        return false;
    }
    match rest.strip_prefix("//") {
        Some(rest) => {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            is_authority(authority) && has_good_escapes(path)
        }
        None => !rest.starts_with('/') || has_good_escapes(rest),
    }
}

fn is_authority(text: &str) -> bool {
    let (user, host) = text.rsplit_once('@').map_or(("", text), |(user, host)| (user, host));
    let is_user = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte);
    if !user.bytes().all(is_user) || !has_good_escapes(user) {
        return false;
    }
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => {
            let Some((address, port)) = rest.split_once(']') else {
                return false;
            };
            (address, port)
        }
        None => host.split_at(host.rfind(':').unwrap_or(host.len())),
    };
    let is_host = |byte: u8| {
        byte.is_ascii_alphanumeric()
            || !byte.is_ascii()
            || b"-._~!$&'()*+,;=:[]<>\"%".contains(&byte)
    };
    let is_port = port.is_empty()
        || port.strip_prefix(':').is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
    is_port && name.bytes().all(is_host) && has_good_escapes(name)
}

/// Each `%` is followed by two hexadecimal digits.
fn has_good_escapes(text: &str) -> bool {
    text.split('%').skip(1).all(|rest| {
        let digits = rest.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    })
}
