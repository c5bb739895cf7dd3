//! User impersonation: the `Impersonate-*` headers.
//!
//! Invariants: headers that are there are honoured or refused, never ignored, since a client that
//! sends them asks for other permissions than its own. Not here: whether the original user may
//! impersonate what the headers name, which is authorization.

use http::HeaderMap;
use quorate_meta::Names;
use quorate_meta::name::{dns_label, dns_subdomain};
use quorate_meta::well_known::{
    GROUP_SERVICE_ACCOUNTS, GROUP_UNAUTHENTICATED, USER_ANONYMOUS, USER_SERVICE_ACCOUNT_PREFIX,
};

use super::User;
use super::extra::{by_key, text};
use quorate_registry::error::Error;

const USER: &str = "impersonate-user";
const GROUP: &str = "impersonate-group";
const UID: &str = "impersonate-uid";
const EXTRA: &str = "impersonate-extra-";

/// The user that a request impersonates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Impersonation {
    /// That user.
    pub(crate) user: User,
    /// What the original user must be allowed to impersonate for that.
    pub(crate) parts: Vec<ImpersonatedPart>,
}

/// A part of the impersonated user, which takes a permission of its own.
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

/// The user that the headers of a request name; `None` when they name none.
pub(crate) fn requested_impersonation(
    names: &Names,
    headers: &HeaderMap,
) -> Result<Option<Impersonation>, Error> {
    let is_ours = |name: &str| matches!(name, USER | GROUP | UID) || name.starts_with(EXTRA);
    if !headers.keys().any(|name| is_ours(name.as_str())) {
        return Ok(None);
    }
    if let Some((header, _)) =
        headers.iter().find(|(name, value)| is_ours(name.as_str()) && text(value).is_none())
    {
        return Err(Error::bad_request(format!(
            "the header {header} holds something else than text in UTF-8"
        )));
    }
    if let Some(header) =
        [USER, UID].into_iter().find(|header| texts(headers, header).nth(1).is_some())
    {
        return Err(Error::bad_request(format!("the header {header} comes more than once")));
    }
    let name = texts(headers, USER).next().unwrap_or_default();
    let groups: Vec<String> = texts(headers, GROUP).map(str::to_owned).collect();
    let uid = texts(headers, UID).next().unwrap_or_default();
    let extra = extra(headers);
    let parts = parts(name, &groups, uid, &extra);
    if name.is_empty() {
        return if parts.is_empty() {
            Ok(None)
        } else {
            Err(Error::bad_request(without_user(names, &parts)))
        };
    }
    let groups = if groups.is_empty() { groups_of_account(name) } else { groups };
    let mut user = User { uid: uid.to_owned(), extra, ..User::new(name, groups) };
    if name == USER_ANONYMOUS && !user.is_in(GROUP_UNAUTHENTICATED) {
        user.groups.push(GROUP_UNAUTHENTICATED.to_owned());
    }
    Ok(Some(Impersonation { user, parts }))
}

/// What must be allowed: the user or service account, each group, the uid, each value of each extra
/// field.
fn parts(
    name: &str,
    groups: &[String],
    uid: &str,
    extra: &[(String, Vec<String>)],
) -> Vec<ImpersonatedPart> {
    let part = |resource: &'static str, name: &str| ImpersonatedPart {
        resource,
        name: name.to_owned(),
        ..ImpersonatedPart::default()
    };
    let mut parts = Vec::new();
    parts.extend(match account(name) {
        Some((namespace, name)) => Some(ImpersonatedPart {
            namespace: namespace.to_owned(),
            ..part("serviceaccounts", name)
        }),
        None => (!name.is_empty()).then(|| part("users", name)),
    });
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

/// The refusal of groups, uid or extra fields without a user: kind, name, version and key
/// of each part, as clients know it.
fn without_user(names: &Names, parts: &[ImpersonatedPart]) -> String {
    let shown = parts.iter().map(|part| {
        let ImpersonatedPart { of_authentication, resource, subresource, name, .. } = part;
        let kind = match *resource {
            "groups" => "Group",
            "uids" => "UID",
            _ => "UserExtra",
        };
        let version = if *of_authentication {
            format!("{}/v1", names.group("authentication"))
        } else {
            String::new()
        };
        format!("{{{kind}  {name}  {version}  {subresource}}}")
    });
    format!("requested [{}] without impersonating a user", shown.collect::<Vec<_>>().join(" "))
}

/// The namespace and name of a service account's user; `None` for what only begins like one.
fn account(name: &str) -> Option<(&str, &str)> {
    let (namespace, name) = name.strip_prefix(USER_SERVICE_ACCOUNT_PREFIX)?.split_once(':')?;
    (dns_label(namespace).is_empty() && dns_subdomain(name).is_empty()).then_some((namespace, name))
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
    headers.get_all(name).into_iter().filter_map(text)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use quorate_meta::Naming;

    use super::*;

    #[track_caller]
    fn check(headers: &[(&'static str, &str)], expect: &str) {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        let part = |part: &ImpersonatedPart| {
            let ImpersonatedPart { resource, subresource, namespace, name, .. } = part;
            format!("{resource}/{subresource} {namespace}/{name}")
        };
        let got = match requested_impersonation(Naming::Svc.names(), &map) {
            Ok(None) => "none".to_owned(),
            Ok(Some(Impersonation { user, parts })) => {
                let parts: Vec<String> = parts.iter().map(part).collect();
                format!(
                    "{} {} {:?} {:?}; {}",
                    user.name,
                    user.uid,
                    user.groups,
                    user.extra,
                    parts.join(", ")
                )
            }
            Err(error) => error.into_status().message,
        };
        assert_eq!(got, expect);
    }

    #[test]
    fn what_is_no_text_is_refused() {
        for header in [USER, GROUP, UID, "impersonate-extra-scopes"] {
            let mut map = HeaderMap::new();
            map.append(USER, HeaderValue::from_static("ann"));
            map.insert(header, HeaderValue::from_bytes(b"j\xfcrgen").unwrap());
            let refused = requested_impersonation(Naming::Svc.names(), &map)
                .unwrap_err()
                .into_status()
                .message;
            assert_eq!(
                refused,
                format!("the header {header} holds something else than text in UTF-8")
            );
        }
    }

    #[test]
    fn headers_are_honoured_or_refused() {
        check(&[], "none");
        check(&[(USER, "ann")], r#"ann  ["system:authenticated"] []; users/ /ann"#);
        let all = [
            (USER, "ann"),
            (GROUP, "a"),
            (GROUP, "b"),
            (UID, "7"),
            ("impersonate-extra-acme.com%2fp", "x"),
        ];
        let parts = "users/ /ann, groups/ /a, groups/ /b, userextras/acme.com/p /x, uids/ /7";
        check(
            &all,
            &format!(
                r#"ann 7 ["a", "b", "system:authenticated"] [("acme.com/p", ["x"])]; {parts}"#
            ),
        );
        let spelled = [
            (USER, "ann"),
            ("impersonate-extra-%41bc", "x"),
            ("impersonate-extra-abc", "y"),
            ("impersonate-extra-%C3%84", "z"),
        ];
        let parts = "users/ /ann, userextras/abc /x, userextras/abc /y, userextras/ä /z";
        check(
            &spelled,
            &format!(
                r#"ann  ["system:authenticated"] [("abc", ["x", "y"]), ("ä", ["z"])]; {parts}"#
            ),
        );
        let account = "system:serviceaccount:ns:robot";
        let groups =
            r#"["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"]"#;
        check(&[(USER, account)], &format!("{account}  {groups} []; serviceaccounts/ ns/robot"));
        let anonymous =
            r#"system:anonymous  ["system:unauthenticated"] []; users/ /system:anonymous"#;
        check(&[(USER, "system:anonymous")], anonymous);
        let unauthenticated =
            r#"ann  ["system:unauthenticated"] []; users/ /ann, groups/ /system:unauthenticated"#;
        check(&[(USER, "ann"), (GROUP, "system:unauthenticated")], unauthenticated);
        for (header, value, expect) in [
            (GROUP, "a", "{Group  a    }"),
            (UID, "7", "{UID  7  authentication.svc.io/v1  }"),
            (
                "impersonate-extra-scopes",
                "view",
                "{UserExtra  view  authentication.svc.io/v1  scopes}",
            ),
        ] {
            check(
                &[(header, value)],
                &format!("requested [{expect}] without impersonating a user"),
            );
        }
        let umlauts =
            r#"jürgen  ["gäste", "system:authenticated"] []; users/ /jürgen, groups/ /gäste"#;
        check(&[(USER, "jürgen"), (GROUP, "gäste")], umlauts);
        for name in ["Bad_NS:x", "ns:Bad", "ns:a:b", "ns:", ":x", "ns"] {
            let name = format!("system:serviceaccount:{name}");
            check(
                &[(USER, name.as_str())],
                &format!(r#"{name}  ["system:authenticated"] []; users/ /{name}"#),
            );
        }
        let twice = "the header impersonate-user comes more than once";
        for names in [["ann", "joe"], ["ann", "ann"], ["", "joe"], ["", ""]] {
            check(&names.map(|name| (USER, name)), twice);
        }
        check(&[(USER, "ann"), (UID, "1"), (UID, "2")], &twice.replace("user", "uid"));
    }
}
