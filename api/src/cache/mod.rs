//! What requests share beside the store: encodings of watch events, each made once for all watchers.

mod fanout;

pub use fanout::Fanout;
pub(crate) use fanout::{EventKey, Run, RunKey, Seat};
