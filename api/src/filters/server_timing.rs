//! The `Server-Timing` header (W3C Server Timing): for a client that sends a header of this name,
//! how long its request took in all and up to each milestone, and what it has waited for in
//! admission.
//!
//! Invariants: times are milliseconds; a client that does not ask gets no header. What was asked
//! side by side took its time at the same time, so that the parts may be more than the whole.

use std::fmt::Write;
use std::time::Duration;

use http::header::{HeaderName, HeaderValue};
use http::{HeaderMap, Response};
use quorate_registry::{AdmissionWait, Notes};

use super::Exchange;
use crate::body::Body;
use crate::request_record::Milestone;

/// The header, in requests and responses.
const HEADER: HeaderName = HeaderName::from_static("server-timing");
/// Waits that are told at most.
const MAX_WAITS: usize = 100;

/// Writes the header if the client asks for it.
pub(super) fn write_header(x: &Exchange<'_>, response: &mut Response<Body>) {
    if !is_asked(&x.headers) {
        return;
    }
    let milestones = [
        ("admitted", Milestone::Admitted),
        ("read", Milestone::BodyRead),
        ("handled", Milestone::Handled),
    ];
    let reached = milestones.map(|(name, milestone)| (name, x.record.time_to(milestone)));
    let text = text(&reached, x.record.age(), &x.record.notes());
    if let Ok(value) = HeaderValue::try_from(text) {
        response.headers_mut().insert(HEADER, value);
    }
}

fn is_asked(headers: &HeaderMap) -> bool {
    headers.contains_key(HEADER)
}

fn text(reached: &[(&str, Option<Duration>)], total: Duration, notes: &Notes) -> String {
    let mut text = String::new();
    let mut add = |name: &str, description: &str, took: Duration| {
        let separator = if text.is_empty() { "" } else { ", " };
        let description = match description {
            "" => String::new(),
            // Names of objects have neither quotes nor backslashes.
            text => format!(";desc=\"{text}\""),
        };
        let millis = took.as_secs_f64() * 1000.0;
        // A string grows.
        let _ = write!(text, "{separator}{name}{description};dur={millis:.3}");
    };
    for (name, took) in reached {
        if let Some(took) = took {
            add(name, "", *took);
        }
    }
    for AdmissionWait { part, name, took } in notes.waits.iter().take(MAX_WAITS) {
        add(part, name, *took);
    }
    add("total", "", total);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_before_the_whole() {
        let check = |waits: Vec<AdmissionWait>, expect: &str| {
            let reached = [("admitted", Some(Duration::from_micros(1500))), ("read", None)];
            let notes = Notes { waits, ..Notes::default() };
            assert_eq!(text(&reached, Duration::from_millis(20), &notes), expect);
        };
        check(Vec::new(), "admitted;dur=1.500, total;dur=20.000");
        let wait = AdmissionWait {
            part: "webhook",
            name: "config/hook.example.com".to_owned(),
            took: Duration::from_millis(12),
        };
        check(
            vec![wait],
            "admitted;dur=1.500, webhook;desc=\"config/hook.example.com\";dur=12.000, total;dur=20.000",
        );
    }
}
