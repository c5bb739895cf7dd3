//! The parts of an absolute URL or path.
//!
//! Invariants: what is read is what a request line may hold; the error is the text that expressions see.

use super::Url;
use super::escape::{UrlPart, escape, unescape};
use crate::library::net::check_ipv6_literal;
use crate::library::quote::{quoted, quoted_bytes};

/// User name and, unless there is none, password of an authority.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct User {
    pub(super) name: Vec<u8>,
    pub(super) password: Option<Vec<u8>>,
}

impl Url {
    /// Reads an absolute URL or an absolute path; the error says what text could not be read and why.
    pub fn parse(text: &str) -> Result<Self, String> {
        Self::check(text)?;
        let (head, fragment) = text.split_once('#').unwrap_or((text, ""));
        let mut url = read(head, Form::Reference).map_err(|reason| failure(head, &reason))?;
        url.fragment = unescape(fragment.as_bytes(), UrlPart::Fragment)
            .map_err(|reason| failure(text, &reason))?;
        url.raw_fragment = fragment.to_owned();
        Ok(url)
    }

    /// Whether text may stand in a request line, where `#` and a leading `//` mean nothing special.
    pub fn check(text: &str) -> Result<(), String> {
        read(text, Form::RequestLine).map(drop).map_err(|reason| failure(text, &reason))
    }
}

/// Where a URL stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    RequestLine,
    /// In a document, its fragment cut off; a request line could hold it too.
    Reference,
}

fn failure(text: &str, reason: &str) -> String {
    format!("parse {}: {reason}", quoted(text))
}

fn read(text: &str, form: Form) -> Result<Url, String> {
    if text.bytes().any(|byte| byte.is_ascii_control()) {
        return Err("net/url: invalid control character in URL".to_owned());
    }
    if text.is_empty() {
        return Err("empty url".to_owned());
    }
    if text == "*" {
        return Ok(Url { path: b"*".to_vec(), ..Url::default() });
    }
    let (scheme, rest) = split_scheme(text)?;
    let mut url = Url { scheme: scheme.to_ascii_lowercase(), ..Url::default() };
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    url.raw_query = query.to_owned();
    url.force_query = query.is_empty() && text.ends_with('?');
    if !rest.starts_with('/') {
        if scheme.is_empty() {
            return Err("invalid URI for request".to_owned());
        }
        url.opaque = rest.to_owned();
        return Ok(url);
    }
    let may_have_host = !scheme.is_empty() || (form == Form::Reference && !rest.starts_with("///"));
    let mut path = rest;
    match rest.strip_prefix("//") {
        Some(after) if may_have_host => {
            let end = after.find('/').unwrap_or(after.len());
            (url.user, url.host) = read_authority(&after[..end])?;
            path = &after[end..];
        }
        _ => url.omit_host = !scheme.is_empty(),
    }
    url.set_path(path)?;
    Ok(url)
}

/// The scheme, empty when there is none, and what follows its colon.
fn split_scheme(text: &str) -> Result<(&str, &str), String> {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.')));
    match end {
        Some(0) if text.starts_with(':') => Err("missing protocol scheme".to_owned()),
        Some(end)
            if text[end..].starts_with(':')
                && text.starts_with(|c: char| c.is_ascii_alphabetic()) =>
        {
            Ok((&text[..end], &text[end + 1..]))
        }
        _ => Ok(("", text)),
    }
}

fn read_authority(text: &str) -> Result<(Option<User>, Vec<u8>), String> {
    let Some((user, host)) = text.rsplit_once('@') else {
        return Ok((None, read_host(text)?));
    };
    let host = read_host(host)?;
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c);
    if !user.chars().all(allowed) {
        return Err("net/url: invalid userinfo".to_owned());
    }
    let (name, password) = match user.split_once(':') {
        Some((name, password)) => (name, Some(password)),
        None => (user, None),
    };
    let name = unescape(name.as_bytes(), UrlPart::User)?;
    let password =
        password.map(|password| unescape(password.as_bytes(), UrlPart::User)).transpose()?;
    Ok((Some(User { name, password }), host))
}

fn read_host(text: &str) -> Result<Vec<u8>, String> {
    let bytes = text.as_bytes();
    if let Some(open) = text.rfind('[') {
        return read_literal(bytes, open);
    }
    if let Some(colon) = text.rfind(':') {
        check_port(&bytes[colon..])?;
    }
    unescape(bytes, UrlPart::Host)
}

/// `[ADDRESS]:PORT`, whose bracket opens at `open`.
fn read_literal(host: &[u8], open: usize) -> Result<Vec<u8>, String> {
    let close = host.iter().rposition(|byte| *byte == b']').ok_or("missing ']' in host")?;
    let port = &host[close + 1..];
    check_port(port)?;
    let port = unescape(port, UrlPart::Host)?;
    let Some(name) = host.get(open + 1..close) else {
        return Err("missing ']' in host".to_owned());
    };
    let zone = name.windows(3).position(|window| window == b"%25").unwrap_or(name.len());
    let mut address = unescape(&name[..zone], UrlPart::Host)?;
    address.extend(unescape(&name[zone..], UrlPart::Zone)?);
    check_ipv6_literal(&String::from_utf8_lossy(&address))?;
    Ok([b"[", &*address, b"]", &*port].concat())
}

/// Whether `:PORT` is one, or there is none.
pub(super) fn is_port(text: &[u8]) -> bool {
    match text {
        [] => true,
        [b':', digits @ ..] => digits.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

fn check_port(text: &[u8]) -> Result<(), String> {
    if is_port(text) {
        Ok(())
    } else {
        Err(format!("invalid port {} after host", quoted_bytes(text)))
    }
}

impl Url {
    fn set_path(&mut self, path: &str) -> Result<(), String> {
        self.path = unescape(path.as_bytes(), UrlPart::Path)?;
        if escape(&self.path, UrlPart::Path) != path.as_bytes() {
            self.raw_path = path.to_owned();
        }
        Ok(())
    }
}
