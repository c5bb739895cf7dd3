//! Tests of the record of a request.

use http::Method;
use quorate_meta::Naming;

use super::*;

/// A request line.
fn line() -> (Uri, RequestInfo) {
    let uri = Uri::from_static("/api/v1/namespaces/a/configmaps?limit=1");
    let info = RequestInfo::parse(Naming::Svc.names(), &Method::GET, &uri);
    (uri, info)
}

fn record((uri, info): &(Uri, RequestInfo)) -> RequestRecord<'_> {
    RequestRecord::new(HeaderValue::from_static("id"), uri, info, 7)
}

#[tokio::test(start_paused = true)]
async fn milestones_tell_how_long_it_took_to_reach_them() {
    let line = line();
    let mut record = record(&line);
    tokio::time::advance(Duration::from_secs(2)).await;
    record.reach(Milestone::Admitted);
    tokio::time::advance(Duration::from_secs(3)).await;
    record.reach(Milestone::Handled);
    let check = |milestone, expect: Option<u64>| {
        assert_eq!(record.time_to(milestone), expect.map(Duration::from_secs), "{milestone:?}");
    };
    check(Milestone::Admitted, Some(2));
    check(Milestone::BodyRead, None);
    check(Milestone::Handled, Some(5));
}

#[tokio::test]
async fn an_impersonated_user_takes_the_place_of_the_authenticated_one() {
    let line = line();
    let mut record = record(&line);
    let name = |user: Option<&Arc<User>>| user.map(|user| user.name.clone());
    assert_eq!((name(record.user()), name(record.original_user())), (None, None));
    record.authenticated(Arc::new(User::new("ann", [])));
    assert_eq!((name(record.user()), name(record.original_user())), (Some("ann".into()), None));
    record.impersonated(Arc::new(User::new("bob", [])));
    assert_eq!(
        (name(record.user()), name(record.original_user())),
        (Some("bob".into()), Some("ann".into()))
    );
}

#[tokio::test]
async fn a_later_decision_counts_more_and_the_first_name_stays() {
    let line = line();
    let mut record = record(&line);
    assert_eq!(record.decision(), None);
    record.decided(Decision::allow("by the old rules"));
    assert_eq!(record.decision(), Some(&Decision::allow("by the old rules")));
    record.decided_again(Decision::default());
    assert_eq!(record.decision(), Some(&Decision::default()));
    record.named("first");
    record.named("second");
    record.issued("JTI=1".into());
    assert_eq!((record.object_name(), record.credential_id()), (Some("first"), Some("JTI=1")));
}

#[tokio::test]
async fn a_request_without_a_status_has_not_ended() {
    let line = line();
    let mut record = record(&line);
    assert_eq!(
        (record.status(), record.response_bytes(), record.has_panicked()),
        (None, None, false)
    );
    record.panicked();
    record.failed(Status::default());
    record.answered(StatusCode::INTERNAL_SERVER_ERROR, Some(9));
    assert_eq!(record.status(), Some(StatusCode::INTERNAL_SERVER_ERROR));
    assert_eq!((record.response_bytes(), record.has_panicked()), (Some(9), true));
    assert_eq!(record.failure(), Some(&Status::default()));
}
