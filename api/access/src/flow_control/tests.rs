//! Tests of priority levels at work: waiting, giving up and giving back, changes of the
//! configuration, borrowing, and overload.

use std::collections::HashMap;
use std::time::Duration;

use futures::FutureExt;
use imbl::OrdMap;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::flow_schema::FlowSchema;
use super::level_config::{LevelConfig, LimitResponse, Queuing};
use super::*;

/// Priority levels without objects.
struct Levels {
    levels: PriorityLevels,
    origin: Instant,
}

impl Levels {
    fn new(seats: u32, configs: &[(&str, LevelConfig)]) -> Self {
        let origin = Instant::now();
        let levels = PriorityLevels::new(seats, origin, Arc::new(NoFlowControlMetrics));
        let mut levels = Self { levels, origin };
        levels.configure(configs);
        levels
    }

    fn configure(&mut self, configs: &[(&str, LevelConfig)]) {
        let configs: OrdMap<_, _> = configs
            .iter()
            .map(|(name, config)| (Arc::from(*name), Arc::new(config.clone())))
            .collect();
        self.levels.configure(since(self.origin, Instant::now()), &configs);
    }

    fn adjust(&mut self) {
        self.levels.adjust(since(self.origin, Instant::now()));
    }

    fn status(&self, name: &str) -> Option<LevelStatus> {
        self.levels.statuses().into_iter().find(|status| &*status.name == name)
    }

    /// The flows of a schema that leads to this level.
    fn schema(&self, level: &str) -> Arc<MatchedSchema> {
        let (level, widest) = self.levels.get(level).unwrap();
        let schema = FlowSchema::compile("s", &quorate_meta::Value::Null);
        Arc::new(MatchedSchema {
            name: "s".into(),
            schema: Arc::new(schema),
            level: level.clone(),
            uids: None,
            widest,
            metrics: Arc::new(NoFlowControlMetrics),
        })
    }
}

fn reject(shares: u32) -> LevelConfig {
    LevelConfig { shares, ..LevelConfig::default() }
}

fn queue(shares: u32, queue_length_limit: u32) -> LevelConfig {
    let queuing = Queuing { queues: 128, hand_size: 6, queue_length_limit };
    LevelConfig { response: LimitResponse::Queue(queuing), ..reject(shares) }
}

/// Asks for a seat and waits for it so long.
async fn admit(
    schema: &Arc<MatchedSchema>,
    hash: u64,
    estimate: WorkEstimate,
    wait: Duration,
) -> Result<ExecutingRequest, RejectReason> {
    let request = AdmissionRequest { schema: schema.clone(), hash, estimate, is_watch: false };
    let now = Instant::now();
    request.admit(now, now + wait, RequestDetails::default).await
}

const WAIT: Duration = Duration::from_secs(15);

#[tokio::test(start_paused = true)]
async fn a_request_waits_for_its_time_and_leaves_nothing_behind() {
    let levels = Levels::new(1, &[("l", queue(1, 50))]);
    let schema = levels.schema("l");
    let ask = |wait| admit(&schema, 1, WorkEstimate::ONE_SEAT, wait);
    let first = ask(WAIT).now_or_never().unwrap().unwrap();
    let before = Instant::now();
    assert_eq!(ask(WAIT).await.unwrap_err(), RejectReason::TimeOut);
    assert_eq!(before.elapsed(), WAIT);
    // One whose client leaves while it waits.
    let mut left = Box::pin(ask(WAIT));
    assert!(left.as_mut().now_or_never().is_none());
    drop(left);
    // One that is called and does not look any more.
    let mut called = Box::pin(ask(WAIT));
    assert!(called.as_mut().now_or_never().is_none());
    let mut last = Box::pin(ask(WAIT));
    assert!(last.as_mut().now_or_never().is_none());
    drop(first);
    drop(called);
    let last = last.now_or_never().unwrap().unwrap();
    assert_eq!(levels.status("l").unwrap().executing_seats, 1);
    drop(last);
    assert!(levels.status("l").unwrap().is_idle);
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_and_a_level_without_queues_reject_at_once() {
    let check = async |config: LevelConfig, expect: RejectReason| {
        let levels = Levels::new(1, &[("l", config)]);
        let schema = levels.schema("l");
        let (mut executing, mut waiting) = (Vec::new(), Vec::new());
        let rejected = loop {
            let mut asked = Box::pin(admit(&schema, 1, WorkEstimate::ONE_SEAT, WAIT));
            match asked.as_mut().now_or_never() {
                Some(Err(reason)) => break reason,
                Some(Ok(request)) => executing.push(request),
                None => waiting.push(asked),
            }
        };
        assert_eq!((rejected, executing.len()), (expect, 1));
    };
    check(reject(1), RejectReason::ConcurrencyLimit).await;
    check(queue(1, 2), RejectReason::QueueFull).await;
}

#[tokio::test(start_paused = true)]
async fn a_write_keeps_its_seats_while_watchers_are_told() {
    let levels = Levels::new(10, &[("l", queue(1, 50))]);
    let schema = levels.schema("l");
    let estimate = WorkEstimate::of_write(1000, 10);
    let write = admit(&schema, 1, estimate, WAIT).await.unwrap();
    assert_eq!(levels.status("l").unwrap().executing_seats, 10);
    drop(write);
    let before = Instant::now();
    let next = admit(&schema, 2, WorkEstimate::ONE_SEAT, WAIT).await.unwrap();
    assert_eq!(before.elapsed().as_millis(), 50);
    drop(next);
    assert!(levels.status("l").unwrap().is_idle);
}

#[tokio::test(start_paused = true)]
async fn a_deleted_level_drains_before_its_seats_are_divided() {
    let mut levels = Levels::new(10, &[("a", queue(1, 50)), ("b", queue(1, 50))]);
    let schema = levels.schema("b");
    let running = admit(&schema, 1, WorkEstimate::ONE_SEAT, WAIT).await.unwrap();
    levels.configure(&[("a", queue(1, 50))]);
    let status = levels.status("b").unwrap();
    assert_eq!((status.is_quiescing, status.limits.nominal), (true, 5));
    assert_eq!(levels.status("a").unwrap().limits.nominal, 5);
    // It comes back and is what it was.
    levels.configure(&[("a", queue(1, 50)), ("b", queue(1, 50))]);
    let status = levels.status("b").unwrap();
    assert_eq!((status.is_quiescing, status.executing_requests), (false, 1));
    levels.configure(&[("a", queue(1, 50))]);
    drop(running);
    levels.adjust();
    assert_eq!(levels.status("b"), None);
    assert_eq!(levels.status("a").unwrap().limits.nominal, 10);
}

#[tokio::test(start_paused = true)]
async fn a_level_borrows_what_others_lend_and_gives_it_back() {
    let lending = LevelConfig { lendable_percent: 60, ..queue(1, 50) };
    let mut levels = Levels::new(20, &[("a", lending.clone()), ("b", lending)]);
    let current =
        |levels: &Levels| ["a", "b"].map(|name| levels.status(name).unwrap().current_limit);
    assert_eq!(current(&levels), [10, 10]);
    let hold = async |schema: &Arc<MatchedSchema>, count: u64| {
        let all = (0..count).map(|hash| {
            let schema = schema.clone();
            tokio::spawn(async move {
                let held = admit(&schema, hash, WorkEstimate::ONE_SEAT, WAIT * 100).await;
                sleep(WAIT * 4).await;
                drop(held);
            })
        });
        let all: Vec<JoinHandle<()>> = all.collect();
        sleep(Duration::from_millis(1)).await;
        all
    };
    let greedy = hold(&levels.schema("a"), 30).await;
    assert_eq!(levels.status("a").unwrap().executing_seats, 10);
    sleep(ADJUSTMENT_PERIOD).await;
    levels.adjust();
    assert_eq!(current(&levels), [16, 4]);
    assert_eq!(levels.status("a").unwrap().executing_seats, 16, "those that waited run");
    // The other one needs its own again; what runs is not interrupted.
    let own = hold(&levels.schema("b"), 30).await;
    sleep(ADJUSTMENT_PERIOD).await;
    levels.adjust();
    assert_eq!(current(&levels), [10, 10]);
    assert_eq!(levels.status("a").unwrap().executing_seats, 16);
    assert_eq!(levels.status("b").unwrap().executing_seats, 10);
    for task in greedy.into_iter().chain(own) {
        task.await.unwrap();
    }
    let idle = ["a", "b"].map(|name| levels.status(name).unwrap().is_idle);
    assert_eq!(idle, [true, true]);
}

/// How the requests of one identity did.
#[derive(Debug, Clone, Copy, Default)]
struct Served {
    count: u32,
    rejected: u32,
    longest: Duration,
}

/// Sends one request after the other for a minute, each of which executes for 20 ms.
async fn client(schema: Arc<MatchedSchema>, hash: u64) -> Served {
    let (begin, mut served) = (Instant::now(), Served::default());
    while begin.elapsed() < Duration::from_secs(60) {
        let asked = Instant::now();
        match admit(&schema, hash, WorkEstimate::ONE_SEAT, WAIT).await {
            Ok(executing) => {
                served.count += 1;
                served.longest = served.longest.max(asked.elapsed());
                sleep(Duration::from_millis(20)).await;
                drop(executing);
            }
            Err(_) => {
                served.rejected += 1;
                sleep(Duration::from_secs(1)).await;
            }
        }
    }
    served
}

#[tokio::test(start_paused = true)]
async fn forty_identities_one_of_them_greedy() {
    // The same requests by user name as the filter would sort them.
    let levels = Levels::new(12, &[("l", queue(1, 20))]);
    let schema = levels.schema("l");
    let clients = |identity: u64| if identity == 0 { 200 } else { 1 };
    let tasks: Vec<_> = (0..40_u64)
        .flat_map(|identity| (0..clients(identity)).map(move |_| identity))
        .map(|identity| {
            let hash = identity.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            (identity, tokio::spawn(client(schema.clone(), hash)))
        })
        .collect();
    let mut all: HashMap<u64, Served> = HashMap::new();
    for (identity, task) in tasks {
        let (served, sum) = (task.await.unwrap(), all.entry(identity).or_default());
        sum.count += served.count;
        sum.rejected += served.rejected;
        sum.longest = sum.longest.max(served.longest);
    }
    let greedy = all.remove(&0).unwrap();
    // There is room for 600 requests a second, some 15 for each identity.
    assert!(greedy.count > 0 && greedy.rejected > 0, "{greedy:?}");
    for (identity, served) in all {
        assert_eq!(served.rejected, 0, "{identity}");
        assert!(served.longest < Duration::from_millis(200), "{identity}: {served:?}");
        assert!(served.count > 400, "{identity}: {served:?}");
    }
    assert!(levels.status("l").unwrap().is_idle);
}
