//! The parts that a watch is started with.

use bytes::Bytes;
use quorate_access::flow_control::CountedWatch;
use quorate_store::{Snapshot, Watch};

use super::end::ResourceEnd;
use super::starting_hold::StartingHold;
use crate::handlers::options::Selection;
use crate::handlers::render::Renderer;
use crate::metrics::WatchMeter;

/// What a watch is started with.
pub(super) struct Parts {
    pub(super) watch: Watch,
    pub(super) initial: Option<Initial>,
    pub(super) selection: Option<Selection>,
    pub(super) renderer: Renderer,
    pub(super) end: ResourceEnd,
    pub(super) bookmarks: bool,
    pub(super) timeout: Option<u64>,
    /// Counts the watch for the cost of writes.
    #[expect(dead_code, reason = "kept for its end")]
    pub(super) counted: CountedWatch,
    pub(super) meter: WatchMeter,
    /// The first object of a stream of tables brings the columns, unless one has brought them.
    pub(super) first: bool,
}

/// The state that is told first, as additions.
pub(super) struct Initial {
    pub(super) snapshot: Snapshot,
    pub(super) prefix: Bytes,
    /// The key of the last object that was told.
    pub(super) cursor: Option<Bytes>,
    /// The annotations of the bookmark that marks its end; none, and there is no such bookmark.
    pub(super) end: &'static [&'static str],
    /// Whether all objects have been told, and only that end is left.
    pub(super) is_told: bool,
    /// What the watch holds until this is told.
    pub(super) hold: StartingHold,
}

impl Initial {
    pub(super) fn new(
        snapshot: Snapshot,
        prefix: Bytes,
        end: &'static [&'static str],
        hold: StartingHold,
    ) -> Self {
        Self { snapshot, prefix, cursor: None, end, is_told: false, hold }
    }
}
