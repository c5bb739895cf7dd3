//! The configuration of a priority level, read from its object.
//!
//! Invariant: what an object says that no server would admit is brought within its bounds here, so
//! that no stored object can make a level without an end or one that divides by nothing.

use http::HeaderValue;
use quorate_meta::Value;

use super::flow_schemas::uid;

/// The default of `nominalConcurrencyShares`.
const DEFAULT_SHARES: u32 = 30;
/// Queues that a level has at most; more of them would cost memory and tell flows apart no better.
const MAX_QUEUES: u32 = 4096;
/// Queues that one flow may use at most.
const MAX_HAND: u32 = 16;
/// Requests in one queue at most.
const MAX_QUEUE_LENGTH: u32 = 10_000;
/// Shares of one level at most, so that sums stay exact.
const MAX_SHARES: u32 = 1_000_000;

/// The configuration of a priority level.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LevelConfig {
    /// `None` when it has none that a header can hold.
    pub(super) uid: Option<HeaderValue>,
    pub(super) shares: u32,
    pub(super) lendable_percent: u32,
    /// `None` is no limit.
    pub(super) borrowing_percent: Option<u32>,
    pub(super) response: LimitResponse,
}

/// What becomes of a request that finds no seat.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum LimitResponse {
    /// The level is exempt: every request has a seat.
    Exempt,
    /// It is refused.
    #[default]
    Reject,
    /// It waits in a queue.
    Queue(Queuing),
}

/// The queues of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Queuing {
    pub(super) queues: u32,
    /// How many of them one flow may use.
    pub(super) hand_size: u32,
    /// Requests that wait in one of them.
    pub(super) queue_length_limit: u32,
}

impl LevelConfig {
    pub(super) fn read(object: &Value) -> Self {
        let is_exempt = object.str_at(&["spec", "type"]) == Some("Exempt");
        let part = if is_exempt { "exempt" } else { "limited" };
        let number = |field: &[&str]| {
            let path = [&["spec", part], field].concat();
            let number = object.at(&path).and_then(Value::as_i64)?;
            Some(u32::try_from(number.max(0)).unwrap_or(u32::MAX))
        };
        let own_shares = if is_exempt { 0 } else { DEFAULT_SHARES };
        Self {
            uid: uid(object),
            shares: number(&["nominalConcurrencyShares"]).unwrap_or(own_shares).min(MAX_SHARES),
            lendable_percent: number(&["lendablePercent"]).unwrap_or_default().min(100),
            borrowing_percent: number(&["borrowingLimitPercent"]),
            response: if is_exempt {
                LimitResponse::Exempt
            } else if object.str_at(&["spec", part, "limitResponse", "type"]) == Some("Queue") {
                let queuing = |field| number(&["limitResponse", "queuing", field]);
                LimitResponse::Queue(Queuing::bounded(
                    queuing("queues").unwrap_or(64),
                    queuing("handSize").unwrap_or(8),
                    queuing("queueLengthLimit").unwrap_or(50),
                ))
            } else {
                LimitResponse::Reject
            },
        }
    }

    /// The most seats that one request of the level may take: a flow of such requests still finds
    /// a seat for each queue of its hand.
    pub(super) fn widest_request(&self, nominal: u32, limit: u32) -> u32 {
        match self.response {
            LimitResponse::Queue(queuing) => limit.min(nominal / queuing.hand_size).max(1),
            LimitResponse::Reject | LimitResponse::Exempt => limit,
        }
    }
}

impl Queuing {
    fn bounded(queues: u32, hand_size: u32, queue_length_limit: u32) -> Self {
        let queues = queues.clamp(1, MAX_QUEUES);
        Self {
            queues,
            hand_size: hand_size.clamp(1, queues.min(MAX_HAND)),
            queue_length_limit: queue_length_limit.clamp(1, MAX_QUEUE_LENGTH),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_are_read() {
        let check = |spec: serde_json::Value, expect: LevelConfig| {
            let object = Value::from(json!({"spec": spec}));
            assert_eq!(LevelConfig::read(&object), expect, "{spec}");
        };
        let config = LevelConfig::default();
        let exempt = LevelConfig { response: LimitResponse::Exempt, ..config.clone() };
        check(json!({"type": "Exempt"}), exempt.clone());
        let shares = json!({"nominalConcurrencyShares": 7, "lendablePercent": 50});
        check(
            json!({"type": "Exempt", "exempt": shares}),
            LevelConfig { shares: 7, lendable_percent: 50, ..exempt },
        );
        check(
            json!({"type": "Limited", "limited": {"borrowingLimitPercent": 0}}),
            LevelConfig { shares: DEFAULT_SHARES, borrowing_percent: Some(0), ..config.clone() },
        );
        let queue = |queuing: serde_json::Value| {
            let response = json!({"type": "Queue", "queuing": queuing});
            json!({"type": "Limited", "limited": {"limitResponse": response}})
        };
        let queued = |queues, hand_size, queue_length_limit| LevelConfig {
            shares: DEFAULT_SHARES,
            response: LimitResponse::Queue(Queuing { queues, hand_size, queue_length_limit }),
            ..config.clone()
        };
        check(
            queue(json!({"queues": 128, "handSize": 6, "queueLengthLimit": 50})),
            queued(128, 6, 50),
        );
        check(queue(json!({})), queued(64, 8, 50));
        check(queue(json!({"queues": 0, "handSize": -1, "queueLengthLimit": 0})), queued(1, 1, 1));
        let huge = json!({"queues": 10_000_000, "handSize": 99, "queueLengthLimit": i64::MAX});
        check(queue(huge), queued(MAX_QUEUES, MAX_HAND, MAX_QUEUE_LENGTH));
        check(json!({}), LevelConfig { shares: DEFAULT_SHARES, ..config });
    }

    #[test]
    fn a_request_takes_no_more_than_its_part_of_a_hand() {
        let check = |response, nominal, expect| {
            let config = LevelConfig { response, ..LevelConfig::default() };
            assert_eq!(config.widest_request(nominal, 10), expect, "{config:?} {nominal}");
        };
        let queue = LimitResponse::Queue(Queuing::bounded(64, 6, 50));
        check(queue, 245, 10);
        check(queue, 49, 8);
        check(queue, 3, 1);
        check(LimitResponse::Reject, 3, 10);
    }
}
