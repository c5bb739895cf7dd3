//! Updates over HTTP.

use super::*;

#[tokio::test]
async fn an_update_is_bound_to_what_it_names() {
    let server = Server::with_namespace().await;
    let first = server.create("a", "m", &[]).await;
    let object = |version: &str| json!({"metadata": {"name": "m", "resourceVersion": version}, "data": {"k": "w"}});
    let updated = put(&server, MAP, object(&first)).await;
    assert_eq!((updated.status.as_u16(), &updated.json()["data"]), (200, &json!({"k": "w"})));
    assert_eq!(
        refusal(
            &put(&server, MAP, json!({"metadata": {"name": "m", "resourceVersion": first}})).await
        ),
        "409 Conflict"
    );
    assert_eq!(
        put(&server, MAP, object("")).await.version(),
        updated.version(),
        "nothing has changed"
    );
    assert_eq!(
        refusal(&put(&server, MAP, json!({"metadata": {"name": "n"}})).await),
        "400 BadRequest"
    );
    assert_eq!(refusal(&put(&server, MAP, json!({"metadata": {}})).await), "400 BadRequest");
    let none = put(&server, &format!("{MAPS}/none"), json!({"metadata": {"name": "none"}})).await;
    assert_eq!(refusal(&none), "404 NotFound");
}
