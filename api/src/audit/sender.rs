//! The sender of a request, as audit events tell it: user, impersonated user, source addresses,
//! user agent.

use std::net::IpAddr;
use std::sync::Arc;

use http::header::USER_AGENT;
use http::{HeaderMap, HeaderName};
use quorate_wire::json::write_string;

use super::json_members::{write_list, write_object, write_text, write_texts};
use quorate_access::authentication::{AuditUserCache, ConnectionIdentity, User};

/// The headers in which proxies in front name their clients.
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const REAL_IP: HeaderName = HeaderName::from_static("x-real-ip");

/// The sender of a request.
#[derive(Debug)]
pub(super) struct Sender<'a> {
    user: Option<&'a Arc<User>>,
    /// The user whom that one impersonates.
    impersonated: Option<&'a User>,
    /// The client addresses that the proxies in front name.
    proxied: Vec<String>,
    /// The other end of the connection.
    peer: Option<&'a str>,
    agent: &'a str,
    audit_user: &'a AuditUserCache,
}

impl<'a> Sender<'a> {
    /// The sender of a request with these headers over the connection of this identity.
    pub(super) fn new(
        identity: &'a ConnectionIdentity,
        user: Option<&'a Arc<User>>,
        impersonated: Option<&'a User>,
        headers: &'a HeaderMap,
    ) -> Self {
        let (proxied, peer) = sources(headers, identity.peer.as_deref());
        let agent =
            headers.get(USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
        Self { user, impersonated, proxied, peer, agent, audit_user: &identity.audit_user }
    }

    /// Writes what an event says of the sender; in the words of the last request, if that came from
    /// the same.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self.user {
            Some(user) if self.impersonated.is_none() && self.proxied.is_empty() => {
                self.audit_user.write(user, self.agent, out, |out| self.write_anew(out));
            }
            _ => self.write_anew(out),
        }
    }

    fn write_anew(&self, out: &mut Vec<u8>) {
        write_object(",\"user\":", out, |out| {
            self.user.iter().for_each(|user| write_user(user, out))
        });
        if let Some(user) = self.impersonated {
            write_object(",\"impersonatedUser\":", out, |out| write_user(user, out));
        }
        write_texts(
            ",\"sourceIPs\":",
            self.proxied.iter().map(String::as_str).chain(self.peer),
            out,
        );
        write_text(",\"userAgent\":", self.agent, out);
    }
}

fn write_user(user: &User, out: &mut Vec<u8>) {
    write_text(",\"username\":", &user.name, out);
    write_text(",\"uid\":", &user.uid, out);
    write_texts(",\"groups\":", user.groups.iter(), out);
    if user.extra.iter().all(|(_, values)| values.is_empty()) {
        return;
    }
    write_object(",\"extra\":", out, |out| {
        for (key, values) in user.extra.iter().filter(|(_, values)| !values.is_empty()) {
            out.push(b',');
            write_string(key, out);
            out.push(b':');
            write_list(values.iter(), out);
        }
    });
}

/// Where a request comes from: what proxies say, and the other end of the connection unless they
/// say that.
fn sources<'a>(headers: &HeaderMap, peer: Option<&'a str>) -> (Vec<String>, Option<&'a str>) {
    let mut proxied = Vec::new();
    let headers = [&FORWARDED_FOR, &REAL_IP]
        .map(|name| headers.get(name).and_then(|value| value.to_str().ok()));
    for address in headers.into_iter().flatten().flat_map(|addresses| addresses.split(',')) {
        if let Ok(address) = address.trim().trim_matches(['[', ']']).parse::<IpAddr>() {
            let text = address.to_string();
            if !proxied.contains(&text) {
                proxied.push(text);
            }
        }
    }
    // The system has written this address, so it is as addresses are written.
    let peer = peer
        .map(|peer| peer.rsplit_once(':').map_or(peer, |(host, _)| host).trim_matches(['[', ']']));
    let peer = peer.filter(|peer| !peer.is_empty() && proxied.iter().all(|other| other != peer));
    (proxied, peer)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_sender_is_told_anew_when_anything_is_another() {
        let identity = ConnectionIdentity::default().with_peer("10.0.0.1:5000");
        let other = identity.clone().with_peer("10.0.0.2:5000");
        let user = |name: &str| Arc::new(User::new(name, []));
        let (ann, bob) = (user("ann"), user("bob"));
        let check = |identity: &ConnectionIdentity,
                     user: &Arc<User>,
                     acting: Option<&User>,
                     headers: &[(HeaderName, &'static str)],
                     expect: Value| {
            let headers =
                headers.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value)));
            let headers = HeaderMap::from_iter(headers);
            let mut out = Vec::new();
            Sender::new(identity, Some(user), acting, &headers).write(&mut out);
            out[0] = b'{';
            out.push(b'}');
            assert_eq!(serde_json::from_slice::<Value>(&out).unwrap(), expect);
        };
        let told = |name: &str| json!({"username": name, "groups": ["system:authenticated"]});
        let (kubectl, helm) = ([(USER_AGENT, "kubectl")], [(USER_AGENT, "helm")]);
        let forwarded = [(USER_AGENT, "helm"), (FORWARDED_FOR, "10.0.0.3")];
        for _ in 0..2 {
            check(
                &identity,
                &ann,
                None,
                &kubectl,
                json!({"user": told("ann"), "sourceIPs": ["10.0.0.1"], "userAgent": "kubectl"}),
            );
        }
        check(
            &identity,
            &ann,
            None,
            &helm,
            json!({"user": told("ann"), "sourceIPs": ["10.0.0.1"], "userAgent": "helm"}),
        );
        check(
            &identity,
            &ann,
            None,
            &forwarded,
            json!({"user": told("ann"), "sourceIPs": ["10.0.0.3", "10.0.0.1"], "userAgent": "helm"}),
        );
        let acting = json!({"user": told("ann"), "impersonatedUser": told("bob"), "sourceIPs": ["10.0.0.1"], "userAgent": "helm"});
        check(&identity, &ann, Some(&bob), &helm, acting);
        check(
            &identity,
            &bob,
            None,
            &helm,
            json!({"user": told("bob"), "sourceIPs": ["10.0.0.1"], "userAgent": "helm"}),
        );
        check(&identity, &ann, None, &[], json!({"user": told("ann"), "sourceIPs": ["10.0.0.1"]}));
        check(&other, &ann, None, &[], json!({"user": told("ann"), "sourceIPs": ["10.0.0.2"]}));
    }

    #[test]
    fn sources_are_what_proxies_say_and_the_peer() {
        let check = |forwarded: &'static str, peer: Option<&str>, expect: &[&str]| {
            let headers =
                HeaderMap::from_iter([(FORWARDED_FOR, HeaderValue::from_static(forwarded))]);
            let (proxied, peer) = sources(&headers, peer);
            assert!(
                proxied.iter().map(String::as_str).chain(peer).eq(expect.iter().copied()),
                "{proxied:?} {peer:?}"
            );
        };
        check("", Some("127.0.0.1:5000"), &["127.0.0.1"]);
        check("10.0.0.1, 10.0.0.2", Some("[::1]:5000"), &["10.0.0.1", "10.0.0.2", "::1"]);
        check("10.0.0.1,nonsense", None, &["10.0.0.1"]);
        check("127.0.0.1, ::0:1", Some("127.0.0.1:5000"), &["127.0.0.1", "::1"]);
        check("", None, &[]);
    }
}
