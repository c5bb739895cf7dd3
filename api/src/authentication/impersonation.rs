//! Acting as somebody else: the `Impersonate-*` headers (document 000, "Authentication").
//!
//! Invariants: headers that are there are honoured or refused, never ignored, since whoever sends them asks for other
//! rights than their own. Everything that they name must be allowed to be impersonated; whether it is, is not decided here.

use http::HeaderMap;
use quorate_meta::well_known::{
    GROUP_SERVICE_ACCOUNTS, GROUP_UNAUTHENTICATED, USER_ANONYMOUS, USER_SERVICE_ACCOUNT_PREFIX,
};

use super::User;
use super::extra::by_key;
use crate::error::Error;

const USER: &str = "impersonate-user";
const GROUP: &str = "impersonate-group";
const UID: &str = "impersonate-uid";
const EXTRA: &str = "impersonate-extra-";

/// Somebody whom a request is to act as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Impersonation {
    /// That user.
    pub(crate) user: User,
    /// What whoever sent the request must be allowed to impersonate for that.
    pub(crate) parts: Vec<ImpersonatedPart>,
}

/// One thing that somebody must be allowed to impersonate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ImpersonatedPart {
    /// Whether the resource is one of the authentication group, not of the core group.
    pub(crate) of_authentication: bool,
    /// Plural name.
    pub(crate) resource: &'static str,
    /// The key of an extra field.
    pub(crate) subresource: String,
    /// The namespace of a service account.
    pub(crate) namespace: String,
    /// The user, group, account, uid or value.
    pub(crate) name: String,
}

/// The user that the headers of a request ask to act as; `None` when they ask for nobody.
pub(crate) fn asked(headers: &HeaderMap) -> Result<Option<Impersonation>, Error> {
    let is_ours = |name: &str| matches!(name, USER | GROUP | UID) || name.starts_with(EXTRA);
    if !headers.keys().any(|name| is_ours(name.as_str())) {
        return Ok(None);
    }
    if let Some((header, _)) = headers.iter().find(|(name, value)| is_ours(name.as_str()) && value.to_str().is_err()) {
        return Err(Error::bad_request(format!(
            "the header {header} holds something else than visible ASCII characters"
        )));
    }
    if let Some(header) = [USER, UID].into_iter().find(|header| texts(headers, header).nth(1).is_some()) {
        return Err(Error::bad_request(format!("the header {header} comes more than once")));
    }
    let name = texts(headers, USER).next().unwrap_or_default();
    let groups: Vec<String> = texts(headers, GROUP).map(str::to_owned).collect();
    let uid = texts(headers, UID).next().unwrap_or_default();
    let extra = extra(headers);
    if name.is_empty() {
        return if groups.is_empty() && uid.is_empty() && extra.is_empty() {
            Ok(None)
        } else {
            Err(Error::bad_request("requested groups, uid or extra fields without impersonating a user"))
        };
    }
    let parts = parts(name, &groups, uid, &extra);
    let groups = if groups.is_empty() { groups_of_account(name) } else { groups };
    let mut user = User { uid: uid.to_owned(), extra, ..User::new(name, groups) };
    if name == USER_ANONYMOUS && !user.is_in(GROUP_UNAUTHENTICATED) {
        user.groups.push(GROUP_UNAUTHENTICATED.to_owned());
    }
    Ok(Some(Impersonation { user, parts }))
}

/// What must be allowed: the user or service account, each group, the uid, each value of each extra field.
fn parts(name: &str, groups: &[String], uid: &str, extra: &[(String, Vec<String>)]) -> Vec<ImpersonatedPart> {
    let part = |resource: &'static str, name: &str| ImpersonatedPart {
        resource,
        name: name.to_owned(),
        ..ImpersonatedPart::default()
    };
    let mut parts = vec![match account(name) {
        Some((namespace, name)) => {
            ImpersonatedPart { namespace: namespace.to_owned(), ..part("serviceaccounts", name) }
        }
        None => part("users", name),
    }];
    parts.extend(groups.iter().map(|group| part("groups", group)));
    for (key, values) in extra {
        parts.extend(values.iter().map(|value| ImpersonatedPart {
            of_authentication: true,
            subresource: key.clone(),
            ..part("userextras", value)
        }));
    }
    if !uid.is_empty() {
        parts.push(ImpersonatedPart { of_authentication: true, ..part("uids", uid) });
    }
    parts
}

/// The namespace and name of a service account's user.
fn account(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix(USER_SERVICE_ACCOUNT_PREFIX)?
        .split_once(':')
        .filter(|(namespace, name)| !namespace.is_empty() && !name.is_empty() && !name.contains(':'))
}

/// Groups that a service account has by its name.
fn groups_of_account(name: &str) -> Vec<String> {
    account(name).map_or_else(Vec::new, |(namespace, _)| {
        vec![GROUP_SERVICE_ACCOUNTS.to_owned(), format!("{GROUP_SERVICE_ACCOUNTS}:{namespace}")]
    })
}

/// Extra fields by key.
fn extra(headers: &HeaderMap) -> Vec<(String, Vec<String>)> {
    by_key(headers.keys().filter_map(|header| {
        let header = header.as_str();
        let key = header.strip_prefix(EXTRA)?;
        Some((key, texts(headers, header).map(str::to_owned)))
    }))
}

fn texts<'a>(headers: &'a HeaderMap, name: &str) -> impl Iterator<Item = &'a str> + use<'a> {
    headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[track_caller]
    fn check(headers: &[(&'static str, &'static str)], expect: &str) {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        let part = |part: &ImpersonatedPart| {
            let ImpersonatedPart { resource, subresource, namespace, name, .. } = part;
            format!("{resource}/{subresource} {namespace}/{name}")
        };
        let got = match asked(&map) {
            Ok(None) => "nobody".to_owned(),
            Ok(Some(Impersonation { user, parts })) => {
                let parts: Vec<String> = parts.iter().map(part).collect();
                format!("{} {} {:?} {:?}; {}", user.name, user.uid, user.groups, user.extra, parts.join(", "))
            }
            Err(error) => error.into_status().message,
        };
        assert_eq!(got, expect);
    }

    #[test]
    fn headers_are_honoured_or_refused() {
        check(&[], "nobody");
        check(&[(USER, "ann")], r#"ann  ["system:authenticated"] []; users/ /ann"#);
        let all = [(USER, "ann"), (GROUP, "a"), (GROUP, "b"), (UID, "7"), ("impersonate-extra-acme.com%2fp", "x")];
        let parts = "users/ /ann, groups/ /a, groups/ /b, userextras/acme.com/p /x, uids/ /7";
        check(&all, &format!(r#"ann 7 ["a", "b", "system:authenticated"] [("acme.com/p", ["x"])]; {parts}"#));
        let spelled = [
            (USER, "ann"),
            ("impersonate-extra-%41bc", "x"),
            ("impersonate-extra-abc", "y"),
            ("impersonate-extra-%C3%84", "z"),
        ];
        let parts = "users/ /ann, userextras/abc /x, userextras/abc /y, userextras/ä /z";
        check(&spelled, &format!(r#"ann  ["system:authenticated"] [("abc", ["x", "y"]), ("ä", ["z"])]; {parts}"#));
        let account = "system:serviceaccount:ns:robot";
        let groups = r#"["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"]"#;
        check(&[(USER, account)], &format!("{account}  {groups} []; serviceaccounts/ ns/robot"));
        let anonymous = r#"system:anonymous  ["system:unauthenticated"] []; users/ /system:anonymous"#;
        check(&[(USER, "system:anonymous")], anonymous);
        let unauthenticated = r#"ann  ["system:unauthenticated"] []; users/ /ann, groups/ /system:unauthenticated"#;
        check(&[(USER, "ann"), (GROUP, "system:unauthenticated")], unauthenticated);
        check(&[(GROUP, "a")], "requested groups, uid or extra fields without impersonating a user");
        let unreadable = "the header impersonate-user holds something else than visible ASCII characters";
        check(&[(USER, "jürgen")], unreadable);
        check(&[(USER, "ann"), (GROUP, "gäste")], &unreadable.replace("user", "group"));
        let twice = "the header impersonate-user comes more than once";
        for names in [["ann", "joe"], ["ann", "ann"], ["", "joe"], ["", ""]] {
            check(&names.map(|name| (USER, name)), twice);
        }
        check(&[(USER, "ann"), (UID, "1"), (UID, "2")], &twice.replace("user", "uid"));
    }
}
