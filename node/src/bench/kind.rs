//! The kinds of measurements, as the command line names them.

use std::fmt;

use clap::ValueEnum;

/// What can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// Create objects.
    Create,
    /// Replace objects.
    Update,
    /// Apply objects on the server side, each time with one change.
    Apply,
    /// Read objects, most recent.
    Get,
    /// Read objects, any version.
    GetAny,
    /// List all objects.
    List,
    /// List all objects page by page; one operation is a page.
    Page,
    /// List the sixteenth of the objects that a label selects.
    Select,
    /// List the few objects that a label selects: the share that --share names.
    SelectPart,
    /// List what a field selects: the pods of a node where the sample has `nodeName: node-$(part)`,
    /// else one object by its name.
    SelectField,
    /// Watch all objects while they change; one operation is an event delivered to a watcher.
    Watch,
    /// Write at a fixed rate while many watchers see a share of the objects, or all; one operation is
    /// an event delivered.
    Fanout,
    /// Let many informers lose their connections and begin anew at once; one operation is an
    /// informer that has all objects again.
    Herd,
    /// Read all objects as the initial events of a watch, in turn with lists; one operation is an
    /// object.
    WatchList,
    /// Measure reads, writes, memory and the start of a cluster of its own at several numbers of
    /// objects.
    Curve,
    /// Open watches that nothing happens to; one operation is a watch, and the memory that is added
    /// is theirs.
    Idle,
    /// Apply many definitions made from those of --definitions; one operation is a definition that
    /// all servers serve and describe.
    Definitions,
    /// Read objects as many identities, without and with one that has many connections; one
    /// operation is a read of one of the others while that one is there.
    Overload,
}

impl Kind {
    /// Whether it lists by a selector.
    pub(super) fn selects(self) -> bool {
        matches!(self, Self::Select | Self::SelectPart | Self::SelectField)
    }

    /// The continue token in the head of a list, for the measurement that follows it; else nothing.
    pub(super) fn next_page(self, head: &[u8]) -> String {
        const MARK: &[u8] = br#""continue":""#;
        if self != Self::Page {
            return String::new();
        }
        let token = memchr::memmem::find(head, MARK).map(|at| &head[at + MARK.len()..]);
        let token = token.and_then(|rest| rest.split(|byte| *byte == b'"').next());
        token.map(|token| String::from_utf8_lossy(token).into_owned()).unwrap_or_default()
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.to_possible_value().expect("no measurement is hidden").get_name())
    }
}
