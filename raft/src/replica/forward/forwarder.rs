//! The forwarder of a follower: the stream to the current leader, made when the first request for
//! that leader comes.
//!
//! Invariant: at most one open session; when the leader changes, the old session takes no more
//! requests, waits for its responses, and ends.

use std::sync::Arc;

use parking_lot::Mutex;

use super::message::{ForwardRequest, ForwardResponse};
use super::session::{ForwardError, ForwardSession};
use crate::network::links::{Links, Purpose};

/// The follower's end of forwarding.
#[derive(Debug)]
pub(crate) struct Forwarder {
    links: Arc<Links>,
    session: Mutex<Option<(String, ForwardSession)>>,
}

impl Forwarder {
    /// No session yet.
    pub(crate) fn new(links: Arc<Links>) -> Self {
        Self { links, session: Mutex::new(None) }
    }

    /// Asks the leader at this address.
    pub(crate) async fn ask(
        &self,
        leader: &str,
        request: ForwardRequest,
    ) -> Result<ForwardResponse, ForwardError> {
        self.session(leader).ask(request).await
    }

    fn session(&self, leader: &str) -> ForwardSession {
        let mut current = self.session.lock();
        match &*current {
            Some((address, session)) if address == leader && session.is_open() => session.clone(),
            _ => {
                let session = ForwardSession::start(self.links.link(leader, Purpose::Forward));
                *current = Some((leader.to_owned(), session.clone()));
                session
            }
        }
    }
}
