//! URLs: `url`, `isURL` and the accessors of their parts.

mod escape;
mod overloads;
mod parse;

#[cfg(test)]
mod tests;

use std::fmt;

pub(super) use self::overloads::overloads;

use self::escape::{UrlPart, escape, is_encoded, unescape};
use self::parse::{User, is_port};

/// An absolute URL or path.
#[derive(Debug, Clone, Default)]
pub struct Url {
    scheme: String,
    /// What follows the scheme, when that is no slash.
    opaque: String,
    user: Option<User>,
    /// Host and port, decoded.
    host: Vec<u8>,
    /// Decoded.
    path: Vec<u8>,
    /// As it was given, when encoding `path` does not give that.
    raw_path: String,
    /// Whether a query is marked though empty.
    force_query: bool,
    raw_query: String,
    /// What follows `#`, decoded.
    fragment: Vec<u8>,
    raw_fragment: String,
    /// Whether there is a scheme and no `//`.
    omit_host: bool,
}

impl Url {
    /// The scheme, in lower case.
    #[must_use]
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// Host and port.
    #[must_use]
    pub fn host(&self) -> String {
        text_of(&self.host)
    }

    /// The host without port and brackets.
    #[must_use]
    pub fn hostname(&self) -> String {
        let (host, _) = self.split_port();
        let bare = host.strip_prefix(b"[").and_then(|inner| inner.strip_suffix(b"]"));
        text_of(bare.unwrap_or(host))
    }

    /// The port, empty when there is none.
    #[must_use]
    pub fn port(&self) -> String {
        text_of(self.split_port().1)
    }

    /// The path, encoded; as it was given where that is a way to encode it.
    #[must_use]
    pub fn escaped_path(&self) -> String {
        if !self.raw_path.is_empty() && is_encoded(self.raw_path.as_bytes(), UrlPart::Path) {
            return self.raw_path.clone();
        }
        if self.path == b"*" { "*".to_owned() } else { text_of(&escape(&self.path, UrlPart::Path)) }
    }

    /// The query's parameters in order; those that cannot be decoded are left out.
    pub fn query(&self) -> impl Iterator<Item = (String, String)> {
        self.raw_query.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';')).filter_map(
            |pair| {
                let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                let decoded = |text: &str| {
                    unescape(text.as_bytes(), UrlPart::Query).ok().map(|bytes| text_of(&bytes))
                };
                Some((decoded(name)?, decoded(value)?))
            },
        )
    }

    fn split_port(&self) -> (&[u8], &[u8]) {
        let host = &*self.host;
        match host.iter().rposition(|byte| *byte == b':') {
            Some(colon) if is_port(&host[colon..]) => (&host[..colon], &host[colon + 1..]),
            _ => (host, b""),
        }
    }
}

impl PartialEq for Url {
    /// URLs are equal when they print the same.
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Eq for Url {}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.scheme.is_empty() {
            write!(f, "{}:", self.scheme)?;
        }
        if self.opaque.is_empty() {
            let empty_host = self.host.is_empty() && self.user.is_none();
            let unmarked = self.omit_host || self.scheme.is_empty() || self.path.is_empty();
            if !(empty_host && unmarked) {
                f.write_str("//")?;
            }
            if let Some(User { name, password }) = &self.user {
                let encoded = |bytes: &[u8]| text_of(&escape(bytes, UrlPart::User));
                f.write_str(&encoded(name))?;
                if let Some(password) = password {
                    write!(f, ":{}", encoded(password))?;
                }
                f.write_str("@")?;
            }
            f.write_str(&text_of(&escape(&self.host, UrlPart::Host)))?;
            f.write_str(&self.escaped_path())?;
        } else {
            f.write_str(&self.opaque)?;
        }
        if self.force_query || !self.raw_query.is_empty() {
            write!(f, "?{}", self.raw_query)?;
        }
        match () {
            () if self.fragment.is_empty() => Ok(()),
            () if is_encoded(self.raw_fragment.as_bytes(), UrlPart::Fragment) => {
                write!(f, "#{}", self.raw_fragment)
            }
            () => write!(f, "#{}", text_of(&escape(&self.fragment, UrlPart::Fragment))),
        }
    }
}

/// Bytes as text; what is no text is replaced.
fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
