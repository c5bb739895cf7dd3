//! The authenticating proxy: a proxy in front of the server that has authenticated its clients and
//! names them in headers.
//!
//! Invariants: the headers count only on a connection whose client certificate was signed by the
//! proxies' own CA and has an allowed common name; from every other client they mean nothing. A
//! request in which a header for the name or the uid occurs twice is refused.

use http::HeaderMap;
use quorate_meta::Status;

use super::User;
use super::extra::{by_key, text};
use quorate_registry::error::Error;

/// Which proxies are trusted, and the headers that they send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyOptions {
    /// Common names of the proxies' certificates; empty for any that their CA has signed.
    pub allowed_names: Vec<String>,
    /// Headers with the user's name: the first that is there counts, and may be there only once. In
    /// lower case, as are the others.
    pub user_headers: Vec<String>,
    /// Headers with the user's uid, likewise.
    pub uid_headers: Vec<String>,
    /// Headers with the user's groups, all of which count.
    pub group_headers: Vec<String>,
    /// Prefixes of headers with extra fields.
    pub extra_prefixes: Vec<String>,
}

impl Default for ProxyOptions {
    fn default() -> Self {
        let one = |name: &str| vec![name.to_owned()];
        Self {
            allowed_names: Vec::new(),
            user_headers: one("x-remote-user"),
            uid_headers: one("x-remote-uid"),
            group_headers: one("x-remote-group"),
            extra_prefixes: one("x-remote-extra-"),
        }
    }
}

impl ProxyOptions {
    /// The user whom a proxy of this common name names; `None` when it is not allowed to, or names
    /// none.
    ///
    /// # Errors
    /// 401 when the header with the name or the uid occurs twice: perhaps only one of them is
    /// the proxy's.
    pub(super) fn user(&self, proxy: &str, headers: &HeaderMap) -> Result<Option<User>, Error> {
        if !self.allowed_names.is_empty() && !self.allowed_names.iter().any(|name| name == proxy) {
            return Ok(None);
        }
        let Some(name) = only(&self.user_headers, headers)? else {
            return Ok(None);
        };
        let uid = only(&self.uid_headers, headers)?.unwrap_or_default().to_owned();
        let groups =
            self.group_headers.iter().flat_map(|name| texts(headers, name)).map(str::to_owned);
        Ok(Some(User { uid, extra: self.extra(headers), ..User::new(name, groups) }))
    }

    /// Extra fields by key.
    fn extra(&self, headers: &HeaderMap) -> Vec<(String, Vec<String>)> {
        by_key(headers.keys().filter_map(|header| {
            let header = header.as_str();
            let key = self
                .extra_prefixes
                .iter()
                .find_map(|prefix| header.strip_prefix(prefix.as_str()))?;
            (!key.is_empty()).then(|| (key, texts(headers, header).map(str::to_owned)))
        }))
    }
}

/// The first value among these headers that is not empty. No header up to that one may occur twice.
fn only<'a>(names: &[String], headers: &'a HeaderMap) -> Result<Option<&'a str>, Error> {
    for name in names {
        if headers.get_all(name).iter().nth(1).is_some() {
            tracing::debug!(header = %name, "a proxy that says twice who the user is was refused");
            return Err(Status::unauthorized().into());
        }
        if let Some(text) = texts(headers, name).next() {
            return Ok(Some(text));
        }
    }
    Ok(None)
}

/// The values of a header that are texts and not empty.
fn texts<'a>(headers: &'a HeaderMap, name: &str) -> impl Iterator<Item = &'a str> + use<'a> {
    headers.get_all(name).into_iter().filter_map(text).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn headers_name_the_user_when_the_proxy_may() {
        let check = |allowed: &[&str],
                     headers: &[(&'static str, &'static str)],
                     expect: Option<&str>| {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
            }
            let allowed_names = allowed.iter().map(|name| (*name).to_owned()).collect();
            let user_headers = vec!["x-remote-user".to_owned(), "x-other-user".to_owned()];
            let options = ProxyOptions { allowed_names, user_headers, ..ProxyOptions::default() };
            let said = match options.user("front", &map) {
                Ok(user) => user.map(|user| {
                    format!("{} {} {:?} {:?}", user.name, user.uid, user.groups, user.extra)
                }),
                Err(error) => Some(error.into_status().code.to_string()),
            };
            assert_eq!(said.as_deref(), expect, "{headers:?}");
        };
        let ann = [
            ("x-remote-user", "ann"),
            ("x-remote-uid", "7"),
            ("x-remote-group", "dev"),
            ("x-remote-group", "ops"),
            ("x-remote-extra-acme.com%2fTeam", "Red"),
            ("x-remote-extra-acme.com%2fTeam", "Blue"),
        ];
        let said =
            r#"ann 7 ["dev", "ops", "system:authenticated"] [("acme.com/team", ["Red", "Blue"])]"#;
        check(&[], &ann, Some(said));
        check(&["other", "front"], &ann, Some(said));
        check(&["other"], &ann, None);
        check(&[], &ann[1..], None);
        check(&[], &[("x-remote-user", "")], None);
        let umlauts = [("x-remote-user", "jörg"), ("x-remote-group", "gäste")];
        check(&[], &umlauts, Some(r#"jörg  ["gäste", "system:authenticated"] []"#));
        // The order is that of the names, not that of the request.
        let (ann, bob, eve) =
            (("x-remote-user", "ann"), ("x-other-user", "bob"), ("x-remote-user", "eve"));
        let (empty, uid, other_uid) =
            (("x-remote-user", ""), ("x-remote-uid", "7"), ("x-remote-uid", "8"));
        check(&[], &[bob, ann], Some(r#"ann  ["system:authenticated"] []"#));
        check(&[], &[empty, bob], Some(r#"bob  ["system:authenticated"] []"#));
        check(&[], &[ann, bob, bob], Some(r#"ann  ["system:authenticated"] []"#));
        check(&[], &[bob, bob], Some("401"));
        for twice in [[ann, eve], [ann, ann], [empty, eve], [ann, empty]] {
            check(&[], &twice, Some("401"));
            check(&["other"], &twice, None);
        }
        check(&[], &[ann, uid, other_uid], Some("401"));
        check(&[], &[uid, other_uid], None);
    }
}
