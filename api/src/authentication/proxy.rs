//! A proxy in front that has authenticated its clients, and says in headers who they are.
//!
//! Invariant: the headers count only on a connection whose client certificate was signed by the proxies' own authority and
//! has an allowed name; from everybody else they are nothing, whatever they say.

use http::HeaderMap;

use super::User;
use super::extra::by_key;

/// Whom to believe and how it speaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyOptions {
    /// Common names of the proxies' certificates; empty for any that their authority has signed.
    pub allowed_names: Vec<String>,
    /// Headers with the user's name: the first that is there counts. In lower case, as are the others.
    pub user_headers: Vec<String>,
    /// Headers with the user's uid, likewise.
    pub uid_headers: Vec<String>,
    /// Headers with the user's groups, all of which count.
    pub group_headers: Vec<String>,
    /// How headers with further attributes begin.
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
    /// The user that a proxy of this name speaks for; `None` when it is not allowed to, or names nobody.
    pub(super) fn user(&self, proxy: &str, headers: &HeaderMap) -> Option<User> {
        if !self.allowed_names.is_empty() && !self.allowed_names.iter().any(|name| name == proxy) {
            return None;
        }
        let first = |names: &[String]| names.iter().find_map(|name| texts(headers, name).next()).map(str::to_owned);
        let name = first(&self.user_headers)?;
        let groups = self.group_headers.iter().flat_map(|name| texts(headers, name)).map(str::to_owned);
        let uid = first(&self.uid_headers).unwrap_or_default();
        Some(User { uid, extra: self.extra(headers), ..User::new(name, groups) })
    }

    /// Further attributes by key.
    fn extra(&self, headers: &HeaderMap) -> Vec<(String, Vec<String>)> {
        by_key(headers.keys().filter_map(|header| {
            let header = header.as_str();
            let key = self.extra_prefixes.iter().find_map(|prefix| header.strip_prefix(prefix.as_str()))?;
            (!key.is_empty()).then(|| (key, texts(headers, header).map(str::to_owned)))
        }))
    }
}

/// The values of a header that are texts and not empty.
fn texts<'a>(headers: &'a HeaderMap, name: &str) -> impl Iterator<Item = &'a str> + use<'a> {
    headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok()).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn headers_name_the_user_when_the_proxy_may() {
        let check = |allowed: &[&str], headers: &[(&'static str, &'static str)], expect: Option<&str>| {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.append(*name, HeaderValue::from_static(value));
            }
            let allowed_names = allowed.iter().map(|name| (*name).to_owned()).collect();
            let options = ProxyOptions { allowed_names, ..ProxyOptions::default() };
            let user = options.user("front", &map);
            let user = user.map(|user| format!("{} {} {:?} {:?}", user.name, user.uid, user.groups, user.extra));
            assert_eq!(user.as_deref(), expect, "{headers:?}");
        };
        let ann = [
            ("x-remote-user", "ann"),
            ("x-remote-uid", "7"),
            ("x-remote-group", "dev"),
            ("x-remote-group", "ops"),
            ("x-remote-extra-acme.com%2fTeam", "Red"),
        ];
        let said = r#"ann 7 ["dev", "ops", "system:authenticated"] [("acme.com/team", ["Red"])]"#;
        check(&[], &ann, Some(said));
        check(&["other", "front"], &ann, Some(said));
        check(&["other"], &ann, None);
        check(&[], &ann[1..], None);
        check(&[], &[("x-remote-user", "")], None);
    }
}
