//! Pages about API Priority and Fairness at this node, for its operators.

use http::Response;
use http::header::{CONTENT_TYPE, HeaderValue};

use crate::Api;
use crate::body::Body;
use quorate_access::flow_control::LevelStatus;

/// The page that says how each priority level stands.
const PRIORITY_LEVELS: &str = "/debug/api_priority_and_fairness/dump_priority_levels";

/// Its columns.
const COLUMNS: [&str; 10] = [
    "PriorityLevelName",
    "ActiveQueues",
    "IsIdle",
    "IsQuiescing",
    "WaitingRequests",
    "ExecutingRequests",
    "DispatchedRequests",
    "RejectedRequests",
    "TimedoutRequests",
    "CancelledRequests",
];

/// Whether there is a page at a path.
pub(super) fn is_page(api: &Api, path: &str) -> bool {
    path == PRIORITY_LEVELS && api.flow_control.is_limiting()
}

pub(super) fn handle(api: &Api) -> Response<Body> {
    let levels = api.flow_control.levels();
    let mut response = Response::new(Body::full(table(&levels)));
    let text = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, text);
    response
}

/// A line for each level; every cell but the last one ends with a comma.
fn table(levels: &[LevelStatus]) -> String {
    let mut lines = vec![COLUMNS.map(str::to_owned)];
    lines.extend(levels.iter().map(cells));
    let width = |column: usize| lines.iter().map(|line| line[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..COLUMNS.len()).map(width).collect();
    let mut text = String::new();
    for line in lines {
        for (at, cell) in line.iter().enumerate() {
            if at + 1 == COLUMNS.len() {
                text.push_str(cell);
            } else {
                text.push_str(&format!("{:<1$}", format!("{cell},"), widths[at] + 2));
            }
        }
        text.push('\n');
    }
    text
}

fn cells(level: &LevelStatus) -> [String; COLUMNS.len()] {
    [
        level.name.to_string(),
        level.active_queues.to_string(),
        level.is_idle.to_string(),
        level.is_quiescing.to_string(),
        level.waiting_requests.to_string(),
        level.executing_requests.to_string(),
        level.counts.dispatched.to_string(),
        level.counts.rejected.to_string(),
        level.counts.timed_out.to_string(),
        level.counts.cancelled.to_string(),
    ]
}
