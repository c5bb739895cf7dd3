//! What requests share beside the store: encodings of watch events, each made once for all watchers, and the beat at
//! which busy watches send them.

mod beat;
mod fanout;

pub(crate) use beat::Beat;
pub use fanout::Fanout;
pub(crate) use fanout::{EventKey, Run, RunKey, Seat};
