//! Pages about API Priority and Fairness at this node, for its operators: how the priority levels
//! stand, their queues, and what waits in these.
//!
//! The paths and columns are those of kube-apiserver, so that its operators' scripts read them; a
//! page costs nothing until it is asked for.

use std::time::Duration;

use http::Response;
use http::header::{CONTENT_TYPE, HeaderValue};
use quorate_meta::Time;

use crate::Api;
use crate::body::Body;
use crate::handlers::Request;
use quorate_access::flow_control::{LevelStatus, QueueStatus, WaitingStatus};

/// The parameter that asks for the details of waiting requests.
const DETAILS: &str = "includeRequestDetails";

const LEVEL_COLUMNS: &[&str] = &[
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

const QUEUE_COLUMNS: &[&str] = &[
    "PriorityLevelName",
    "Index",
    "PendingRequests",
    "ExecutingRequests",
    "SeatsInUse",
    "NextDispatchR",
    "InitialSeatsSum",
    "MaxSeatsSum",
    "TotalWorkSum",
];

const REQUEST_COLUMNS: &[&str] = &[
    "PriorityLevelName",
    "FlowSchemaName",
    "QueueIndex",
    "RequestIndexInQueue",
    "FlowDistingsher",
    "ArriveTime",
    "InitialSeats",
    "FinalSeats",
    "AdditionalLatency",
];

const DETAIL_COLUMNS: &[&str] =
    &["UserName", "Verb", "APIPath", "Namespace", "Name", "APIVersion", "Resource", "SubResource"];

/// A page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FlowControlPage {
    /// A line for each priority level.
    Levels,
    /// A line for each queue.
    Queues,
    /// A line for each waiting request.
    Requests,
}

impl FlowControlPage {
    /// The page of a path.
    pub(super) fn find(api: &Api, path: &str) -> Option<Self> {
        let page = match path.strip_prefix("/debug/api_priority_and_fairness/")? {
            "dump_priority_levels" => Self::Levels,
            "dump_queues" => Self::Queues,
            "dump_requests" => Self::Requests,
            _ => return None,
        };
        api.flow_control.is_limiting().then_some(page)
    }
}

pub(super) fn handle(api: &Api, request: &Request<'_>, page: FlowControlPage) -> Response<Body> {
    let text = match page {
        FlowControlPage::Levels => {
            table(LEVEL_COLUMNS, api.flow_control.levels().iter().map(of_level))
        }
        FlowControlPage::Queues => {
            let levels = api.flow_control.queues();
            let rows = levels.iter().flat_map(|(level, queues)| {
                queues.iter().enumerate().map(|(at, queue)| of_queue(level, at, queue))
            });
            table(QUEUE_COLUMNS, rows)
        }
        FlowControlPage::Requests => {
            let with_details = !request.info.query.text(DETAILS).is_empty();
            let columns = if with_details {
                [REQUEST_COLUMNS, DETAIL_COLUMNS].concat()
            } else {
                REQUEST_COLUMNS.to_vec()
            };
            let levels = api.flow_control.waiting();
            let rows = levels.iter().flat_map(|(level, waiting)| {
                waiting.iter().map(|waiting| of_request(level, waiting, with_details))
            });
            table(&columns, rows)
        }
    };
    let mut response = Response::new(Body::full(text));
    let content_type = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}

/// A line for each row; every cell but the last one ends with a comma.
fn table(columns: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut lines: Vec<Vec<String>> = vec![columns.iter().map(|&name| name.to_owned()).collect()];
    lines.extend(rows);
    let width = |column: usize| lines.iter().map(|line| line[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    let mut text = String::new();
    for line in lines {
        for (at, cell) in line.iter().enumerate() {
            if at + 1 == columns.len() {
                text.push_str(cell);
            } else {
                text.push_str(&format!("{:<1$}", format!("{cell},"), widths[at] + 2));
            }
        }
        text.push('\n');
    }
    text
}

fn of_level(level: &LevelStatus) -> Vec<String> {
    vec![
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

fn of_queue(level: &str, at: usize, queue: &QueueStatus) -> Vec<String> {
    vec![
        level.to_owned(),
        at.to_string(),
        queue.waiting.to_string(),
        queue.executing.to_string(),
        queue.seats_in_use.to_string(),
        seat_seconds(queue.next_dispatch),
        queue.initial_seats.to_string(),
        queue.max_seats.to_string(),
        seat_seconds(queue.work),
    ]
}

fn of_request(level: &str, waiting: &WaitingStatus, with_details: bool) -> Vec<String> {
    let (estimate, details) = (&waiting.estimate, &waiting.details);
    let mut cells = vec![
        level.to_owned(),
        waiting.flow_schema.to_string(),
        waiting.queue.to_string(),
        waiting.place.to_string(),
        details.distinguisher.clone(),
        Time::from_ms(details.received_ms).microseconds(),
        estimate.initial_seats.to_string(),
        estimate.final_seats.to_string(),
        millis(estimate.additional_latency),
    ];
    if with_details {
        cells.extend([
            details.user.clone(),
            details.verb.clone(),
            details.path.clone(),
            details.namespace.clone(),
            details.name.clone(),
            details.api_version.clone(),
            details.resource.clone(),
            details.subresource.clone(),
        ]);
    }
    cells
}

/// Seats times nanoseconds, in seats times seconds.
fn seat_seconds(work: i128) -> String {
    const PER_SECOND: i128 = 1_000_000_000;
    let sign = if work < 0 { "-" } else { "" };
    let (whole, rest) = (work.abs() / PER_SECOND, work.abs() % PER_SECOND);
    format!("{sign}{whole}.{:08}ss", rest / 10)
}

fn millis(time: Duration) -> String {
    if time.is_zero() { "0s".to_owned() } else { format!("{}ms", time.as_millis()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_told_in_seats_times_seconds() {
        let check = |work: i128, expect: &str| assert_eq!(seat_seconds(work), expect, "{work}");
        check(0, "0.00000000ss");
        check(3_000_000, "0.00300000ss");
        check(12_500_000_019, "12.50000001ss");
        check(-3_000_000, "-0.00300000ss");
    }

    #[test]
    fn cells_stand_below_each_other() {
        let rows = [vec!["system".to_owned(), "1".to_owned()]];
        let text = table(&["Name", "Index"], rows.into_iter());
        assert_eq!(text, "Name,   Index\nsystem, 1\n");
    }
}
