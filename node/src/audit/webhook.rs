//! The audit webhook: events as `EventList`s, sent to a server that the operator names.
//!
//! Invariant: one list at a time; the audit writer sends a list again that the server did not take.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use quorate_api::audit::{Lines, Sink};
use quorate_env::Network;
use quorate_meta::Names;
use tokio::time::{Duration, timeout};

use crate::error::Error;
use crate::webhook::Webhook;

/// How long the server may take for one list.
const LIMIT: Duration = Duration::from_secs(30);

/// The sink that sends to the server.
pub(super) struct WebhookSink {
    webhook: Webhook,
    api_version: String,
}

impl WebhookSink {
    /// Reads the file that says where lists go.
    pub(super) fn new(
        file: &Path,
        names: &Names,
        network: Arc<dyn Network>,
    ) -> Result<Self, Error> {
        Ok(Self {
            webhook: Webhook::new(file, network)?,
            api_version: format!("{}/v1", names.group_audit),
        })
    }
}

#[async_trait]
impl Sink for WebhookSink {
    fn name(&self) -> &'static str {
        "webhook"
    }

    async fn write(&mut self, events: &Lines) -> Result<(), String> {
        let answer = timeout(LIMIT, self.webhook.post(list(&self.api_version, events))).await;
        let answer = answer.map_err(|_| "no answer in time".to_owned())?;
        let (status, _) = answer.map_err(|error| error.to_string())?;
        if status.is_success() { Ok(()) } else { Err(format!("the server answers {status}")) }
    }
}

/// An `EventList` of these events.
fn list(api_version: &str, events: &Lines) -> Bytes {
    let items: Vec<&[u8]> =
        events.iter().map(|event| event.strip_suffix(b"\n").unwrap_or(event)).collect();
    let head =
        format!(r#"{{"kind":"EventList","apiVersion":"{api_version}","metadata":{{}},"items":["#);
    [head.as_bytes(), &items.join(&b','), b"]}"].concat().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_holds_every_event() {
        let text = list("audit.svc.io/v1", &Lines::from_iter(["{\"a\":1}\n", "{}\n"]));
        let value: serde_json::Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(value["items"], serde_json::json!([{"a": 1}, {}]));
        assert_eq!(value["kind"], "EventList");
    }
}
