//! Audiences of tokens: what a TokenReview says of tokens of service accounts and of an operator's
//! static token.

use http::Method;
use quorate_access::authentication::{AuthenticationOptions, StaticTokens};
use serde_json::{Value, json};

use crate::harness::{Answer, ISSUER, Server};

const ACCOUNTS: &str = "/api/v1/namespaces/a/serviceaccounts";
const REVIEWS: &str = "/apis/authentication.svc.io/v1/tokenreviews";
const STATIC: &str = "static-token-4712";

async fn post(server: &Server, path: &str, body: Value) -> Answer {
    let answer = server.send(Method::POST, path, &[], body.to_string()).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer
}

/// A server with the account `robot`, and with ann's token of an operator.
async fn server() -> Server {
    let server = Server::with_authentication(AuthenticationOptions {
        static_tokens: StaticTokens::parse(&format!("{STATIC},ann,1")).unwrap(),
        ..AuthenticationOptions::default()
    });
    server.namespace("a").await;
    post(&server, ACCOUNTS, json!({"metadata": {"name": "robot"}})).await;
    server
}

/// A token of the account for these; for the API when they are `null`.
async fn token(server: &Server, audiences: Value) -> String {
    let body = json!({"spec": {"audiences": audiences}});
    let made = post(server, &format!("{ACCOUNTS}/robot/token"), body).await.json();
    made["status"]["token"].as_str().unwrap().to_owned()
}

/// The status code for a client that authenticates with this token.
async fn code(server: &Server, token: &str) -> u16 {
    let bearer = format!("Bearer {token}");
    let path = "/apis/authentication.svc.io/v1/selfsubjectreviews";
    let answer =
        server.by(None).send(Method::POST, path, &[("authorization", bearer.as_str())], "{}").await;
    answer.status.as_u16()
}

/// Reviews a token for these audiences (`null` for none): for which of them it is. Otherwise it
/// must be refused as one of `own`.
async fn check(server: &Server, token: &str, asked: Value, expect: Result<&[&str], &[&str]>) {
    let status =
        post(server, REVIEWS, json!({"spec": {"token": token, "audiences": asked}})).await.json();
    let status = &status["status"];
    match expect {
        Ok(common) => {
            assert_eq!(
                (&status["authenticated"], &status["audiences"]),
                (&json!(true), &json!(common)),
                "{asked}"
            );
            assert!(
                status["user"]["username"].is_string() && status["error"].is_null(),
                "{asked}: {status}"
            );
        }
        Err(own) => {
            let target = asked.as_array().filter(|asked| !asked.is_empty()).cloned();
            let target = json!(target.unwrap_or_else(|| vec![json!(ISSUER)]));
            let listed = |list: &Value| list.to_string().replace(',', ", ");
            let (own, target) = (listed(&json!(own)), listed(&target));
            let why =
                format!("token audiences {own} are invalid for the target audiences {target}");
            assert_eq!(status["error"], why, "{asked}");
            assert!(
                status["authenticated"].is_null() && status["audiences"].is_null(),
                "{asked}: {status}"
            );
            assert!(status["user"]["username"].is_null(), "{asked}: {status}");
        }
    }
}

#[tokio::test]
async fn a_token_of_an_account_is_for_whom_it_was_requested() {
    let server = server().await;
    let own = token(&server, Value::Null).await;
    for nobody in [Value::Null, json!([])] {
        check(&server, &own, nobody, Ok(&[ISSUER])).await;
    }
    check(&server, &own, json!([ISSUER]), Ok(&[ISSUER])).await;
    check(&server, &own, json!(["vault", ISSUER]), Ok(&[ISSUER])).await;
    check(&server, &own, json!(["vault"]), Err(&[ISSUER])).await;
    assert_eq!(code(&server, &own).await, 201);

    let foreign = token(&server, json!(["vault", "registry"])).await;
    check(&server, &foreign, json!(["registry", "other", "vault"]), Ok(&["registry", "vault"]))
        .await;
    check(&server, &foreign, json!(["other", "third"]), Err(&["vault", "registry"])).await;
    for nobody in [Value::Null, json!([]), json!([ISSUER])] {
        check(&server, &foreign, nobody, Err(&["vault", "registry"])).await;
    }
    assert_eq!(code(&server, &foreign).await, 401, "the API is none of them");

    let both = token(&server, json!(["vault", ISSUER])).await;
    check(&server, &both, Value::Null, Ok(&[ISSUER])).await;
    check(&server, &both, json!(["vault"]), Ok(&["vault"])).await;
    check(&server, &both, json!([ISSUER, "vault"]), Ok(&[ISSUER, "vault"])).await;
    assert_eq!(code(&server, &both).await, 201);
}

#[tokio::test]
async fn a_token_of_an_operator_is_for_the_api() {
    let server = server().await;
    for asked in [Value::Null, json!([]), json!([ISSUER]), json!(["vault", ISSUER])] {
        check(&server, STATIC, asked, Ok(&[ISSUER])).await;
    }
    check(&server, STATIC, json!(["vault", "other"]), Err(&[ISSUER])).await;
    assert_eq!(code(&server, STATIC).await, 201);
}
