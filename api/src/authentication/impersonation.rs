//! Acting as somebody else: the `Impersonate-*` headers (document 000, "Authentication").
//!
//! Invariants: headers that are there are honoured or refused, never ignored, since whoever sends them asks for other
//! rights than their own. Today only members of `system:masters` may; rules for the verb `impersonate` join here.

use http::HeaderMap;
use percent_encoding::percent_decode_str;
use quorate_meta::well_known::{GROUP_MASTERS, GROUP_SERVICE_ACCOUNTS, USER_SERVICE_ACCOUNT_PREFIX};
use quorate_meta::{GroupResource, Status};

use super::User;
use crate::error::Error;

const USER: &str = "impersonate-user";
const GROUP: &str = "impersonate-group";
const UID: &str = "impersonate-uid";
const EXTRA: &str = "impersonate-extra-";

/// The user that a request acts as: the one who sent it, unless its headers name another.
pub(crate) fn effective(user: &User, headers: &HeaderMap) -> Result<User, Error> {
    let is_ours = |name: &str| matches!(name, USER | GROUP | UID) || name.starts_with(EXTRA);
    if !headers.keys().any(|name| is_ours(name.as_str())) {
        return Ok(user.clone());
    }
    if let Some((header, _)) = headers.iter().find(|(name, value)| is_ours(name.as_str()) && value.to_str().is_err()) {
        return Err(Error::bad_request(format!(
            "the header {header} holds something else than visible ASCII characters"
        )));
    }
    let name = texts(headers, USER).next().unwrap_or_default();
    let groups: Vec<String> = texts(headers, GROUP).map(str::to_owned).collect();
    let uid = texts(headers, UID).next().unwrap_or_default();
    let extra = extra(headers);
    if name.is_empty() {
        return if groups.is_empty() && uid.is_empty() && extra.is_empty() {
            Ok(user.clone())
        } else {
            Err(Error::bad_request("requested groups, uid or extra fields without impersonating a user"))
        };
    }
    if !user.is_in(GROUP_MASTERS) {
        let why = format!(
            "User {:?} cannot impersonate resource \"users\" in API group \"\" at the cluster scope",
            user.name
        );
        return Err(Status::forbidden(&GroupResource::new("", "users"), name, &why).into());
    }
    let groups = if groups.is_empty() { groups_of_account(name) } else { groups };
    Ok(User { uid: uid.to_owned(), extra, ..User::new(name, groups) })
}

/// Groups that a service account has by its name.
fn groups_of_account(name: &str) -> Vec<String> {
    let account = name.strip_prefix(USER_SERVICE_ACCOUNT_PREFIX).and_then(|rest| rest.split_once(':'));
    account.map_or_else(Vec::new, |(namespace, _)| {
        vec![GROUP_SERVICE_ACCOUNTS.to_owned(), format!("{GROUP_SERVICE_ACCOUNTS}:{namespace}")]
    })
}

/// Extra fields by key, which is in lower case and may be percent-encoded.
fn extra(headers: &HeaderMap) -> Vec<(String, Vec<String>)> {
    let keys = headers.keys().filter_map(|name| name.as_str().strip_prefix(EXTRA).map(|key| (name, key)));
    let mut extra: Vec<_> = keys
        .map(|(name, key)| {
            let key = percent_decode_str(key).decode_utf8_lossy().into_owned();
            (key, texts(headers, name.as_str()).map(str::to_owned).collect())
        })
        .collect();
    extra.sort();
    extra
}

fn texts<'a>(headers: &'a HeaderMap, name: &str) -> impl Iterator<Item = &'a str> + use<'a> {
    headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[track_caller]
    fn check(user: &User, headers: &[(&'static str, &'static str)], expect: &str) {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        let got = match effective(user, &map) {
            Ok(user) => format!("{} {} {:?} {:?}", user.name, user.uid, user.groups, user.extra),
            Err(error) => error.into_status().message,
        };
        assert_eq!(got, expect);
    }

    #[test]
    fn headers_are_honoured_or_refused() {
        let admin = User::new("admin", [GROUP_MASTERS.to_owned()]);
        let joe = User::new("joe", []);
        check(&joe, &[], r#"joe  ["system:authenticated"] []"#);
        check(&admin, &[(USER, "ann")], r#"ann  ["system:authenticated"] []"#);
        let all = [(USER, "ann"), (GROUP, "a"), (GROUP, "b"), (UID, "7"), ("impersonate-extra-acme.com%2fp", "x")];
        check(&admin, &all, r#"ann 7 ["a", "b", "system:authenticated"] [("acme.com/p", ["x"])]"#);
        let account = "system:serviceaccount:ns:robot";
        let groups = r#"["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"]"#;
        check(&admin, &[(USER, account)], &format!("{account}  {groups} []"));
        let why = "users \"ann\" is forbidden: User \"joe\" cannot impersonate resource \"users\" in API group \"\" at the cluster scope";
        check(&joe, &[(USER, "ann")], why);
        check(&admin, &[(GROUP, "a")], "requested groups, uid or extra fields without impersonating a user");
        let unreadable = "the header impersonate-user holds something else than visible ASCII characters";
        check(&admin, &[(USER, "jürgen")], unreadable);
        check(&admin, &[(USER, "ann"), (GROUP, "gäste")], &unreadable.replace("user", "group"));
    }
}
