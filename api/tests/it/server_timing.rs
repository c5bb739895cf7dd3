//! `Server-Timing`: told to a client that asks for it, and to no other.

use http::Method;
use serde_json::json;

use crate::harness::Server;

const MAPS: &str = "/api/v1/namespaces/a/configmaps";

#[tokio::test]
async fn a_client_that_asks_is_told_where_its_time_went() {
    let server = Server::with_namespace().await;
    let check = async |method: Method, body: &str, asks: bool, expect: &[&str]| {
        let headers: &[(&str, &str)] = if asks { &[("server-timing", "1")] } else { &[] };
        let answer = server.send(method, MAPS, headers, body.to_owned()).await;
        let told = answer.header("server-timing").to_owned();
        let parts = told.split(", ").filter(|part| !part.is_empty()).map(|part| {
            let (name, took) = part.split_once(";dur=").unwrap();
            assert!(took.parse::<f64>().is_ok(), "{told}");
            name
        });
        assert_eq!(parts.collect::<Vec<_>>(), expect, "{told}");
    };
    let map = json!({"metadata": {"name": "m"}}).to_string();
    check(Method::GET, "", false, &[]).await;
    check(Method::GET, "", true, &["admitted", "handled", "total"]).await;
    check(Method::POST, &map, false, &[]).await;
    // The second one is refused: the name is taken.
    check(Method::POST, &map, true, &["admitted", "read", "handled", "total"]).await;
    check(Method::POST, "{", true, &["admitted", "read", "handled", "total"]).await;
}
