//! Purges: what is deleted from the past for good, and who may ask for it.

use http::Method;
use quorate_access::authentication::User;
use quorate_meta::Naming;
use quorate_store::Retention;
use serde_json::{Value, json};

use super::{allow, forgetful, refusal, text};
use crate::harness::{Answer, Server};

const PURGES: &str = "/past/purges";
const SECRETS: &str = "/api/v1/namespaces/a/secrets";

async fn purge(server: &Server, query: &str, body: &Value) -> Answer {
    server.send(Method::POST, &format!("{PURGES}{query}"), &[], body.to_string()).await
}

fn of(name: Option<&str>) -> Value {
    let mut body = json!({"resource": "secrets", "namespace": "a", "reason": "leaked"});
    if let Some(name) = name {
        body["name"] = name.into();
    }
    body
}

async fn write(server: &Server, method: Method, path: &str, value: &str) -> u64 {
    let name = path.rsplit('/').next().unwrap();
    let body = match method {
        Method::DELETE => String::new(),
        _ => json!({"metadata": {"name": name}, "stringData": {"k": value}}).to_string(),
    };
    let path = if method == Method::POST { SECRETS } else { path };
    let answer = server.send(method, path, &[], body).await;
    assert!(answer.status.is_success(), "{}", answer.text());
    server.get(SECRETS).await.version().parse().unwrap()
}

/// Two versions of a secret, then its deletion, and another one that lives.
async fn secrets(server: &Server) -> [u64; 4] {
    let path = format!("{SECRETS}/s");
    let made = write(server, Method::POST, &path, "first").await;
    let changed = write(server, Method::PUT, &path, "second").await;
    let other = write(server, Method::POST, &format!("{SECRETS}/t"), "third").await;
    let deleted = write(server, Method::DELETE, &path, "").await;
    [made, changed, other, deleted]
}

#[tokio::test]
async fn a_purged_secret_is_in_no_answer() {
    let server = forgetful().await;
    let [made, changed, other, deleted] = secrets(&server).await;
    let dry = purge(&server, "?dryRun=All", &of(Some("s"))).await.json();
    assert_eq!(
        (&dry["objects"], &dry["versions"], &dry["dryRun"]),
        (&json!(1), &json!(2), &json!(true))
    );
    assert_eq!(server.get(&format!("{SECRETS}/s?asOf={made}")).await.status, 200);
    let done = purge(&server, "", &of(Some("s"))).await.json();
    assert_eq!((text(&done, "/upTo"), &done["versions"]), (&*deleted.to_string(), &json!(2)));
    for at in [made, changed, other] {
        let (code, message) = refusal(&server, &format!("{SECRETS}/s?asOf={at}")).await;
        assert_eq!(code, 410, "{message}");
        assert!(
            message.contains(&format!(
                "purged at 2030-01-01T00:00:00.000Z, with all versions up to revision {deleted}"
            )),
            "{message}"
        );
        assert_eq!(server.get(&format!("{SECRETS}/s?blame=true&asOf={at}")).await.status, 410);
    }
    assert_eq!(refusal(&server, &format!("{SECRETS}/s?asOf={deleted}")).await.0, 404);
    let list = server.get(&format!("{SECRETS}?asOf={other}")).await.json();
    let names: Vec<_> =
        list["items"].as_array().unwrap().iter().map(|s| text(s, "/metadata/name")).collect();
    assert_eq!(names, ["t"]);
    let history = server.get(&format!("{SECRETS}/s?history=true")).await.json();
    let items = history["items"].as_array().unwrap();
    let told: Vec<_> = items
        .iter()
        .map(|item| (text(item, "/type"), item["purged"] == true, item.get("object").is_some()))
        .collect();
    assert_eq!(told[0], ("DELETED", false, false));
    assert_eq!(told[1..], [("MODIFIED", true, false), ("ADDED", true, false)]);
    let changes = server.get("/past/changes?resource=secrets&name=s").await.json();
    let purged = changes["items"].as_array().unwrap().iter().filter(|item| item["purged"] == true);
    assert_eq!(purged.count(), 2);
    assert_eq!(server.get(&format!("{SECRETS}/t?asOf={other}")).await.status, 200);
    let known = server.get(PURGES).await.json();
    assert_eq!(known["items"].as_array().unwrap().len(), 1);
    assert_eq!(text(&known, "/items/0/reason"), "leaked");
    let dry = purge(&server, "?dryRun=All", &of(Some("s"))).await.json();
    assert_eq!(dry["versions"], 0);
}

#[tokio::test]
async fn what_lives_stays_also_when_it_has_changed_since() {
    let server = forgetful().await;
    let [_, _, other, _] = secrets(&server).await;
    let path = format!("{SECRETS}/t");
    let answer = purge(&server, "", &of(None)).await;
    assert_eq!(answer.json()["versions"], 2, "{}", answer.text());
    write(&server, Method::PUT, &path, "fourth").await;
    write(&server, Method::DELETE, &path, "").await;
    let then = server.get(&format!("{path}?asOf={other}")).await;
    assert_eq!(text(&then.json(), "/data/k"), "dGhpcmQ=");
    let answer = purge(&server, "", &of(None)).await;
    assert_eq!(answer.json()["versions"], 2, "{}", answer.text());
    assert_eq!(server.get(&format!("{path}?asOf={other}")).await.status, 410);
}

#[tokio::test]
async fn a_watch_of_the_past_does_not_tell_it() {
    let server = forgetful().await;
    let at = server.get(SECRETS).await.version();
    secrets(&server).await;
    purge(&server, "", &of(Some("s"))).await;
    let path = format!("{SECRETS}?watch=1&asOf={at}&timeoutSeconds=1");
    let mut watch = server.watch(&path).await;
    let event = watch.next().await.unwrap();
    assert_eq!((text(&event, "/type"), text(&event, "/object/metadata/name")), ("ADDED", "t"));
    assert_eq!(watch.next().await, None);
}

#[tokio::test]
async fn nor_does_what_begins_at_an_older_version() {
    let server = Server::with(Naming::Svc, Retention::default());
    server.namespace("a").await;
    let at = server.get(SECRETS).await.version();
    let [made, ..] = secrets(&server).await;
    let watch = format!("{SECRETS}?watch=1&timeoutSeconds=1&resourceVersion=");
    let exact = format!("{SECRETS}?resourceVersionMatch=Exact&resourceVersion={made}");
    let begin = async |at: &str| server.watch(&format!("{watch}{at}")).await.next().await;
    assert_eq!(begin(&at).await.unwrap()["type"], "ADDED");
    assert_eq!(server.get(&exact).await.status, 200);
    let answer = purge(&server, "", &of(Some("s"))).await.json();
    assert_eq!(begin(&at).await.unwrap()["object"]["code"], 410);
    assert_eq!(server.get(&exact).await.status, 410);
    assert_eq!(begin(text(&answer, "/upTo")).await, None, "nothing is refused after the purge");
    let maps =
        server.get("/api/v1/namespaces/a/configmaps?watch=1&timeoutSeconds=1&resourceVersion=1");
    assert_eq!(maps.await.status, 200, "other resources go on");
}

#[tokio::test]
async fn nor_does_a_later_page_of_a_list_that_had_begun() {
    let server = Server::with(Naming::Svc, Retention::default());
    server.namespace("a").await;
    for name in ["r", "s", "t"] {
        write(&server, Method::POST, &format!("{SECRETS}/{name}"), "leaked").await;
    }
    let begin = async |query: &str| {
        let page = server.get(&format!("{SECRETS}?limit=1{query}")).await.json();
        let token = text(&page, "/metadata/continue").to_owned();
        assert!(!token.is_empty());
        format!("{SECRETS}?limit=5{query}&continue={token}")
    };
    let pages = [begin("").await, begin("&fieldSelector=type%3DOpaque").await];
    write(&server, Method::DELETE, &format!("{SECRETS}/s"), "").await;
    for page in &pages {
        assert_eq!(server.get(page).await.names(), ["s", "t"], "what the first page has shown");
    }
    purge(&server, "", &of(Some("s"))).await;
    for page in &pages {
        let answer = server.get(page).await;
        assert_eq!(answer.status, 410, "{}", answer.text());
        let token = answer.json();
        let (path, _) = page.split_once("&continue=").unwrap();
        let rest = format!("{path}&continue={}", text(&token, "/metadata/continue"));
        assert_eq!(server.get(&rest).await.names(), ["t"]);
    }
}

#[tokio::test]
async fn only_the_right_to_the_path_opens_it() {
    let server = forgetful().await;
    let [made, ..] = secrets(&server).await;
    let everything = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]);
    allow(&server, "owner", Some("a"), everything.clone()).await;
    allow(&server, "admin-of-objects", None, everything).await;
    let reads = json!([{"nonResourceURLs": ["/past", "/past/*"], "verbs": ["get"]}]);
    allow(&server, "reader", None, reads).await;
    let posts = json!([{"nonResourceURLs": [PURGES], "verbs": ["post"]}]);
    allow(&server, "purger", None, posts).await;
    for name in ["stranger", "owner", "admin-of-objects", "reader"] {
        let user = server.by(Some(User::new(name, [])));
        for query in ["", "?dryRun=All"] {
            assert_eq!(purge(&user, query, &of(Some("s"))).await.status, 403, "{name}");
        }
    }
    let anonymous = purge(&server.by(None), "", &of(Some("s"))).await.status;
    assert!(anonymous == 401 || anonymous == 403, "{anonymous}");
    // An administrator who acts as another user has that user's rights.
    let headers = [("impersonate-user", "owner")];
    let answer = server.send(Method::POST, PURGES, &headers, of(Some("s")).to_string()).await;
    assert_eq!(answer.status, 403, "{}", answer.text());
    assert_eq!(server.get(&format!("{SECRETS}/s?asOf={made}")).await.status, 200);
    let purger = server.by(Some(User::new("purger", [])));
    assert_eq!(purge(&purger, "", &of(Some("s"))).await.status, 200);
    assert_eq!(purger.get(PURGES).await.status, 403);
    assert_eq!(server.get(&format!("{SECRETS}/s?asOf={made}")).await.status, 410);
    let known = server.get(PURGES).await.json();
    assert_eq!(text(&known, "/items/0/user"), "purger");
}

#[tokio::test]
async fn what_names_nothing_is_refused() {
    let server = forgetful().await;
    for body in [json!({}), json!({"resource": "secrets", "reason": "r"}), of(Some("a/b"))] {
        assert_eq!(purge(&server, "", &body).await.status, 400, "{body}");
    }
    assert_eq!(purge(&server, "?dryRun=Some", &of(None)).await.status, 400);
    let answer = server.send(Method::PUT, PURGES, &[], of(None).to_string()).await;
    assert_eq!(answer.status, 405);
}
