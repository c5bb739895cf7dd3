//! Webhook authorization against a scripted server, with a clock that the test moves.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use quorate_meta::Naming;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::*;
use crate::authorization::{Operator, Requirement, ResourceAction};

const TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
struct Script {
    /// What is answered in this order; afterwards nothing ever is.
    answers: Mutex<VecDeque<Result<Bytes, ReviewError>>>,
    asked: Mutex<Vec<Value>>,
}

#[async_trait]
impl Reviewer for Script {
    async fn review(&self, review: Bytes) -> Result<Bytes, ReviewError> {
        self.asked.lock().push(serde_json::from_slice(&review).unwrap());
        let next = self.answers.lock().pop_front();
        match next {
            Some(answer) => answer,
            None => std::future::pending().await,
        }
    }
}

#[derive(Debug, Default)]
struct Time(AtomicU64);

impl Clock for Time {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

struct Setting {
    script: Arc<Script>,
    clock: Arc<Time>,
    webhook: Webhook,
}

impl Setting {
    fn new(change: impl FnOnce(&mut WebhookOptions)) -> Self {
        let (script, clock) = (Arc::<Script>::default(), Arc::<Time>::default());
        clock.0.store(1_000_000, Ordering::Relaxed);
        let mut options = WebhookOptions {
            reviewer: script.clone(),
            clock: clock.clone(),
            authorized_ttl: Duration::from_secs(300),
            unauthorized_ttl: Duration::from_secs(30),
            timeout: TIMEOUT,
            on_failure: Verdict::NoOpinion,
        };
        change(&mut options);
        Self { script, clock, webhook: Webhook::new(Naming::Svc.names(), options) }
    }

    fn answers(&self, answer: Result<Bytes, ReviewError>) {
        self.script.answers.lock().push_back(answer);
    }

    fn says(&self, status: Value) {
        let review = json!({"apiVersion": "authorization.svc.io/v1", "kind": "SubjectAccessReview", "status": status});
        self.answers(Ok(review.to_string().into()));
    }

    async fn decide(&self, user: &str, name: &str) -> Decision {
        let on = ResourceAction {
            verb: "get",
            resource: "pods",
            name: name.to_owned().into(),
            ..ResourceAction::default()
        };
        self.webhook.decide(&User::new(user, []), &Action::Resource(on)).await
    }

    fn count(&self) -> usize {
        self.script.asked.lock().len()
    }

    fn wait(&self, seconds: u64) {
        self.clock.0.fetch_add(seconds * 1000, Ordering::Relaxed);
    }
}

fn failed(why: &str) -> Result<Bytes, ReviewError> {
    Err(ReviewError::Transient(why.to_owned()))
}

#[tokio::test]
async fn the_status_is_the_answer() {
    let check = async |status: Value, verdict: Verdict, reason: &str| {
        let setting = Setting::new(|_| {});
        setting.says(status.clone());
        let decision = setting.decide("joe", "a").await;
        assert_eq!((decision.verdict, decision.reason.as_str()), (verdict, reason), "{status}");
    };
    check(json!({"allowed": true, "reason": "ok"}), Verdict::Allow, "ok").await;
    check(json!({"allowed": false, "denied": true, "reason": "no"}), Verdict::Deny, "no").await;
    check(json!({"allowed": false, "reason": "who?"}), Verdict::NoOpinion, "who?").await;
    check(json!({}), Verdict::NoOpinion, "").await;
    check(json!({"allowed": true, "denied": true}), Verdict::Deny, "").await;
    check(json!({"allowed": true, "reason": "x".repeat(5000)}), Verdict::Allow, &"x".repeat(1024))
        .await;
}

#[tokio::test]
async fn what_is_no_answer_counts_as_none() {
    let check = async |answer: Value| {
        for (on_failure, expect) in [
            (Verdict::NoOpinion, Verdict::NoOpinion),
            (Verdict::Deny, Verdict::Deny),
            (Verdict::Allow, Verdict::NoOpinion),
        ] {
            let setting = Setting::new(|options| options.on_failure = on_failure);
            setting.answers(Ok(answer.to_string().into()));
            let decision = setting.decide("joe", "a").await;
            assert_eq!(decision.verdict, expect, "{answer}");
            assert!(decision.error.contains("does not answer"), "{answer}: {decision:?}");
            assert_eq!(setting.count(), 1, "it would be the same again");
        }
    };
    let version = "authorization.svc.io/v1";
    check(json!("what?")).await;
    check(json!({"apiVersion": version, "kind": "SubjectAccessReview"})).await;
    check(json!({"apiVersion": version, "kind": "Status", "status": {"allowed": true}})).await;
    check(json!({"apiVersion": "v1", "kind": "SubjectAccessReview", "status": {"allowed": true}}))
        .await;
    check(
        json!({"apiVersion": version, "kind": "SubjectAccessReview", "status": {"allowed": "yes"}}),
    )
    .await;
}

#[tokio::test]
async fn servers_may_answer_in_the_names_of_the_other_profile() {
    let setting = Setting::new(|_| {});
    let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "status": {"allowed": true}});
    setting.answers(Ok(review.to_string().into()));
    assert!(setting.decide("joe", "a").await.is_allowed());
}

#[tokio::test]
async fn a_question_says_who_and_what() {
    let setting = Setting::new(|_| {});
    let user = User {
        name: "joe".into(),
        uid: "u".into(),
        groups: vec!["g".into()],
        extra: vec![("k".into(), vec!["v".into()])],
    };
    let requirement = |operator, values: &[&str]| Requirement {
        key: "a".into(),
        operator,
        values: values.iter().map(|v| (*v).into()).collect(),
    };
    let on = ResourceAction {
        verb: "list",
        group: "apps",
        version: "v1",
        resource: "deployments",
        subresource: "scale",
        namespace: "n",
        name: "x".into(),
        fields: vec![requirement(Operator::In, &["b"])],
        labels: vec![requirement(Operator::Exists, &[])],
    };
    setting.says(json!({}));
    setting.webhook.decide(&user, &Action::Resource(on)).await;
    setting.says(json!({}));
    setting.webhook.decide(&User::new("ann", []), &Action::Path { verb: "get", path: "/x" }).await;
    let spec = json!({
        "user": "joe", "uid": "u", "groups": ["g"], "extra": {"k": ["v"]},
        "resourceAttributes": {
            "verb": "list", "group": "apps", "version": "v1", "resource": "deployments", "subresource": "scale",
            "namespace": "n", "name": "x",
            "fieldSelector": {"requirements": [{"key": "a", "operator": "In", "values": ["b"]}]},
            "labelSelector": {"requirements": [{"key": "a", "operator": "Exists"}]},
        }
    });
    let expect = |spec: Value| {
        json!({
            "apiVersion": "authorization.svc.io/v1", "kind": "SubjectAccessReview", "metadata": {}, "spec": spec,
            "status": {"allowed": false}
        })
    };
    let path = json!({"user": "ann", "groups": ["system:authenticated"], "nonResourceAttributes": {"path": "/x", "verb": "get"}});
    assert_eq!(*setting.script.asked.lock(), [expect(spec), expect(path)]);
}

#[tokio::test(start_paused = true)]
async fn what_may_pass_is_tried_again_and_what_will_not_is_not() {
    let setting = Setting::new(|_| {});
    (0..MAX_TRIES - 1).for_each(|_| setting.answers(failed("busy")));
    setting.says(json!({"allowed": true}));
    assert!(setting.decide("joe", "a").await.is_allowed());
    assert_eq!(setting.count(), MAX_TRIES as usize);
    (0..MAX_TRIES).for_each(|_| setting.answers(failed("busy")));
    assert!(setting.decide("ann", "a").await.error.contains("busy"));
    assert_eq!(setting.count(), 2 * MAX_TRIES as usize);
    setting.answers(Err(ReviewError::Permanent("no".to_owned())));
    assert!(setting.decide("eve", "a").await.error.ends_with(": no"));
    assert_eq!(setting.count(), 2 * MAX_TRIES as usize + 1);
}

#[tokio::test(start_paused = true)]
async fn a_webhook_that_hangs_delays_no_request_for_long() {
    let setting = Setting::new(|options| options.on_failure = Verdict::Deny);
    let started = Instant::now();
    let decision = setting.decide("joe", "a").await;
    assert_eq!((decision.verdict, started.elapsed().as_secs()), (Verdict::Deny, TIMEOUT.as_secs()));
    assert_eq!(setting.count(), 2, "one try gets half of the time");
    assert!(decision.error.ends_with(": no answer in time"), "{decision:?}");
    setting.answers(failed("busy"));
    let decision = setting.decide("ann", "a").await;
    assert!(decision.error.ends_with(": no answer in time"), "{decision:?}");
}

#[tokio::test(start_paused = true)]
async fn when_the_time_is_over_the_last_failure_is_told() {
    let setting = Setting::new(|options| options.timeout = FIRST_WAIT * 2);
    setting.answers(failed("not there"));
    setting.answers(failed("refused"));
    let decision = setting.decide("joe", "a").await;
    assert!(decision.error.ends_with(": refused"), "{decision:?}");
    assert_eq!(setting.count(), 2);
}

#[tokio::test]
async fn answers_are_remembered_for_as_long_as_is_said() {
    let setting = Setting::new(|_| {});
    let check = async |user: &str, name: &str, allowed: bool, asked: usize| {
        let decision = setting.decide(user, name).await;
        assert_eq!((decision.is_allowed(), setting.count()), (allowed, asked), "{user} {name}");
    };
    setting.says(json!({"allowed": true, "reason": "ok"}));
    check("joe", "a", true, 1).await;
    setting.wait(299);
    check("joe", "a", true, 1).await;
    setting.says(json!({"allowed": false}));
    check("ann", "a", false, 2).await;
    setting.says(json!({"allowed": false}));
    check("joe", "b", false, 3).await;
    setting.wait(1);
    setting.says(json!({"allowed": false}));
    check("joe", "a", false, 4).await;
    check("ann", "a", false, 4).await;
    setting.wait(29);
    setting.says(json!({"allowed": true}));
    check("ann", "a", true, 5).await;
    check("joe", "a", false, 5).await;
}

#[tokio::test]
async fn some_answers_are_not_remembered() {
    let setting = Setting::new(|options| options.unauthorized_ttl = Duration::ZERO);
    for turn in 1..=2 {
        setting.says(json!({"allowed": false}));
        setting.decide("joe", "a").await;
        assert_eq!(setting.count(), turn, "for no time");
    }
    for turn in 3..=4 {
        setting.says(json!({"allowed": true}));
        setting.decide("joe", &"x".repeat(MAX_CHOSEN)).await;
        assert_eq!(setting.count(), turn, "too long");
    }
    setting.answers(Err(ReviewError::Permanent("no".to_owned())));
    assert!(!setting.decide("joe", "b").await.error.is_empty());
    setting.says(json!({"allowed": true}));
    assert!(setting.decide("joe", "b").await.is_allowed(), "no answer is not remembered");
}

#[test]
fn memory_is_bounded() {
    let answers = DecisionCache::default();
    let keys: Vec<_> = (0..20_000_u32).map(|number| hash(&number.to_le_bytes())).collect();
    for key in &keys {
        answers.insert(*key, Decision::allow(""), 0, Duration::from_secs(1));
        assert!(answers.get(&keys[0], 0).is_some(), "what is asked for stays");
    }
    assert!(answers.len() <= 8192 && answers.get(&keys[1], 0).is_none());
    assert!(answers.get(&keys[0], 1000).is_none());
    answers.insert(keys[1], Decision::allow(""), 5000, Duration::from_secs(1));
    assert!(answers.get(&keys[1], 4999).is_none(), "a clock that was set back");
}
