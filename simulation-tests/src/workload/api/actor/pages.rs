//! A collection read in pieces, with other nodes and other writes between them.

use std::time::Duration;

use rand::Rng;

use super::Actor;
use crate::api::{ApiReply, ApiRequest, At};

/// Longest pause between two pages, milliseconds.
const BETWEEN_PAGES_MS: u64 = 300;

impl Actor {
    /// Reads page after page, until the end or a failure.
    pub(super) async fn read_pages(&mut self, first: ApiRequest) {
        let mut ask = first;
        loop {
            let Some(reply) = self.ask(ask.clone()).await.filter(ApiReply::is_success) else {
                return;
            };
            let token = reply.body.pointer("/metadata/continue").and_then(|token| token.as_str());
            let Some(token) = token.filter(|token| !token.is_empty()) else {
                return;
            };
            (ask.token, ask.at) = (Some(token.to_owned()), At::MostRecent);
            let pause = self.rng.random_range(0..BETWEEN_PAGES_MS);
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
    }
}
