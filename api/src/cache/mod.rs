//! What requests share beside the store: encodings of watch events, each made once for all watchers, and the moments at which these go on.

mod beat;
mod fanout;

pub(crate) use beat::{Beat, Counted, SHORTEST as SHORTEST_BEAT};
pub use fanout::Fanout;
pub(crate) use fanout::{EventKey, Run, RunKey, Seat};
