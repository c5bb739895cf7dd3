//! The events of a watch, one after the other.

use http_body_util::BodyExt;
use quorate_api::body::Body;
use serde_json::Value;
use tokio::time::timeout;

use super::PATIENCE;

/// The events of a watch.
pub(crate) struct Events {
    body: Body,
    rest: Vec<u8>,
}

impl Events {
    /// The events in the body of an answer.
    pub(super) fn of(body: Body) -> Self {
        Self { body, rest: Vec::new() }
    }

    /// The next event; `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                return Some(serde_json::from_slice(&line).unwrap());
            }
            let frame = timeout(PATIENCE, self.body.frame()).await.expect("an event or the end")?;
            self.rest.extend_from_slice(&frame.unwrap().into_data().unwrap());
        }
    }

    /// The next events as `TYPE name`.
    pub(crate) async fn brief(&mut self, count: usize) -> Vec<String> {
        let mut brief = Vec::new();
        for _ in 0..count {
            let event = self.next().await.expect("a further event");
            brief.push(short(&event));
        }
        brief
    }

    /// All events up to the end of the stream.
    pub(crate) async fn all(&mut self) -> Vec<String> {
        let mut all = Vec::new();
        while let Some(event) = self.next().await {
            all.push(short(&event));
        }
        all
    }
}

fn short(event: &Value) -> String {
    let object = &event["object"];
    let name = object["metadata"]["name"].as_str().or(object["reason"].as_str()).unwrap_or("-");
    format!("{} {name}", event["type"].as_str().unwrap())
}
