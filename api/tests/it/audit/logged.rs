//! Log lines at every level: none has a secret or a token.

use std::fmt::{Debug, Write};
use std::sync::Arc;

use parking_lot::Mutex;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Metadata, Subscriber};

use super::private::{server, whisper};

/// Everything that is logged, of whatever level.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<String>>);

impl Visit for Log {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        writeln!(self.0.lock(), "{field}={value:?}").unwrap();
    }
}

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        attributes.record(&mut self.clone());
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut self.clone());
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn no_secret_and_no_token_is_logged() {
    let log = Log::default();
    // A place in the source asks only once whether a subscriber listens. With two subscribers
    // it asks them, and not the dispatcher of the first thread that comes by.
    let listeners = [Dispatch::new(log.clone()), Dispatch::new(log.clone())];
    let listening = tracing::dispatcher::set_default(&listeners[0]);
    let server = server();
    server.namespace("a").await;
    let private = whisper(&server).await;
    drop(listening);
    let log = log.0.lock();
    assert!(log.contains("a bearer token was refused"), "{log}");
    for secret in &private {
        assert!(!log.contains(secret), "{secret} in {log}");
    }
}
