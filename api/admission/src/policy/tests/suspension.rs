//! Policies that are suspended for a while.

use super::*;

#[tokio::test]
async fn a_suspended_policy_is_left_out_until_then() {
    let cluster = Cluster::new().await;
    cluster.bind("b", "p", "Deny", json!({})).await;
    for (until, is_refused) in [
        (json!(null), true),
        (json!("9999-01-01T00:00:00Z"), false),
        (json!("2001-01-01T00:00:00Z"), true),
        (json!("9999-01-01T00:00:00+02:00"), false),
        (json!("for ever"), true),
        (json!(null), true),
    ] {
        let annotations = json!({"svc.io/admission-suspended-until": until});
        let spec = json!({"validations": [not_named("x", "no x")]});
        cluster.annotated_policy("p", annotations, spec).await;
        let refusal = cluster.refusal(map("x")).await;
        assert_eq!(refusal.ends_with(": no x"), is_refused, "{until}: {refusal}");
    }
}
