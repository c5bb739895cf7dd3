//! Intruders' headers: those that only a proxy or an impersonating client may send, and requests
//! without credentials.

use quorate_access::authentication::ProxyOptions;

use super::frames::get;
use super::{ANN, Castle, EVE, SECRET, Subject, limits};

/// Headers in which a proxy names the user of a request.
pub(super) const CLAIMS: &[(&str, &str)] =
    &[("X-Remote-User", "admin"), ("X-Remote-Group", "system:masters")];
/// The same with other strokes, which some read alike.
const UNDERSCORES: &[(&str, &str)] =
    &[("X_Remote_User", "admin"), ("X_Remote_Group", "system:masters")];
const IMPERSONATE: &[(&str, &str)] =
    &[("Impersonate-User", "admin"), ("Impersonate-Group", "system:masters")];

type Headers = Vec<(&'static str, &'static str)>;

impl Castle {
    /// Headers that only other clients may send, the client that sends them, and the code of the
    /// refusal. Where they are to be refused and not ignored, they come from eve, who may read the
    /// secret herself.
    pub(super) fn pretenders(&self) -> Vec<(Subject, Headers, u16)> {
        let joe = || Some(self.authority.issue("joe", Some("dev")));
        let eve = || Some(self.authority.issue("eve", None));
        let admin = || Some(self.authority.issue("admin", Some("system:masters")));
        let front = || Some(self.proxies.issue("front", None));
        vec![
            (None, CLAIMS.to_vec(), 401),
            (joe(), CLAIMS.to_vec(), 403),
            (None, [CLAIMS, &[ANN]].concat(), 403),
            (None, IMPERSONATE.to_vec(), 401),
            (eve(), IMPERSONATE.to_vec(), 403),
            (eve(), IMPERSONATE[1..].to_vec(), 400),
            (eve(), vec![("Impersonate-User", ""), IMPERSONATE[1]], 400),
            (eve(), vec![("impersonate-user", "eve"), IMPERSONATE[1]], 403),
            (eve(), vec![("Impersonate-Uid", "1")], 400),
            (eve(), vec![("Impersonate-Extra-Scopes", "all")], 400),
            (admin(), [IMPERSONATE, &[("Impersonate-User", "joe")]].concat(), 400),
            (
                admin(),
                [IMPERSONATE, &[("Impersonate-Uid", "1"), ("Impersonate-Uid", "2")]].concat(),
                400,
            ),
            (None, [IMPERSONATE, &[EVE]].concat(), 403),
            (None, vec![EVE, ("Authorization", "Bearer other")], 401),
            (None, vec![("Authorization", "Basic ZXZlOmV2ZQ=="), EVE], 401),
            (None, vec![("Proxy-Authorization", EVE.1)], 401),
            (None, vec![("X-Original-URL", "/livez"), ("X-Forwarded-User", "eve")], 401),
            (
                None,
                vec![
                    ("X-HTTP-Method-Override", "GET"),
                    ("X-Forwarded-Client-Cert", "Subject=\"CN=eve\""),
                ],
                401,
            ),
            (Some(self.proxies.issue("front", Some("system:masters"))), Vec::new(), 401),
            (front(), CLAIMS[1..].to_vec(), 401),
            (front(), UNDERSCORES.to_vec(), 401),
            (front(), [CLAIMS, &[("X-Remote-User", "joe")]].concat(), 401),
        ]
    }
}

#[tokio::test]
async fn headers_that_only_a_proxy_may_send() {
    let castle = Castle::new().await;
    let proxy = Some(castle.proxies.issue("front", None));
    assert_eq!(castle.get(proxy, SECRET, CLAIMS).await, 200, "a proxy may");
    assert_eq!(
        castle.get(Some(castle.authority.issue("eve", None)), SECRET, &[]).await,
        200,
        "eve may"
    );
    assert_eq!(castle.get(None, SECRET, &[EVE]).await, 200, "with her token as well");
    let mut count = 0;
    for (subject, headers, expect) in castle.pretenders() {
        let code = castle.get(subject, SECRET, &headers).await;
        count += Castle::refused_with(&format!("{headers:?}"), code, expect);
    }
    println!("{count} attempts with headers, none got in");
    assert_eq!(count, 22);
}

#[tokio::test]
async fn proxies_of_other_names() {
    let proxy = ProxyOptions { allowed_names: vec!["front".to_owned()], ..ProxyOptions::default() };
    let castle = Castle::with(proxy, limits()).await;
    let front = Some(castle.proxies.issue("front", None));
    assert_eq!(castle.get(front, SECRET, CLAIMS).await, 200, "the one that is named may");
    let attempts = [
        (castle.proxies.issue("back", None), 401),
        (castle.proxies.issue("back", Some("front")), 401),
        (castle.proxies.issue("Front", None), 401),
        (castle.proxies.issue("front ", None), 401),
        (castle.proxies.issue("front.example", None), 401),
        (castle.proxies.issue("", None), 401),
        // No proxy, but a user of that name.
        (castle.authority.issue("front", None), 403),
    ];
    let mut count = 0;
    for (turn, (subject, expect)) in attempts.into_iter().enumerate() {
        let code = castle.get(Some(subject), SECRET, CLAIMS).await;
        count += Castle::refused_with(&format!("proxy {turn}"), code, expect);
    }
    println!("{count} attempts of proxies, none got in");
    assert_eq!(count, 7);
}

/// An anonymous client gets the health endpoints and the version, and nothing else.
#[tokio::test]
async fn nobody_sees_more_than_health() {
    let castle = Castle::open().await;
    for path in ["/livez", "/readyz", "/healthz", "/version"] {
        assert_eq!(castle.get(None, path, &[]).await, 200, "{path}");
        assert_eq!(castle.ask(None, &get(path)).await, 200, "{path} over HTTP/2");
    }
    let mut count = 0;
    for path in [
        "/",
        "/api",
        "/apis",
        "/api/v1/namespaces",
        "/openapi/v3",
        "/openid/v1/jwks",
        "/.well-known/openid-configuration",
        "/metrics",
        "/livezz",
        SECRET,
    ] {
        count += Castle::refused_with(path, castle.get(None, path, &[]).await, 403);
        count += Castle::refused_with(path, castle.ask(None, &get(path)).await, 403);
    }
    count += Castle::refused_with(
        "as somebody else",
        castle.get(None, "/livez", IMPERSONATE).await,
        403,
    );
    println!("{count} attempts without credentials, none got in");
    assert_eq!(count, 21);
}

/// Where they are not let in, requests without credentials learn nothing, not even of health.
#[tokio::test]
async fn nobody_is_let_in_unless_the_operator_says_so() {
    let castle = Castle::new().await;
    for path in ["/livez", "/version", "/api", SECRET] {
        Castle::refused_with(path, castle.get(None, path, &[]).await, 401);
    }
}
