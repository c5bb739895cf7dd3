//! The formats: which versions of everything that is stored or sent this build writes and reads.
//!
//! One list, for `quorate version` and the operator's guide. Each format's file says what its
//! versions are.

use crate::network::protocol;
use crate::{log, state_machine};

/// A format's versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// What has this format.
    pub name: &'static str,
    /// The version that is written.
    pub written: u32,
    /// The oldest version that is read.
    pub oldest: u32,
}

/// All of this crate.
pub const FORMATS: [Format; 5] = [
    Format { name: "peer protocol", written: protocol::NEWEST, oldest: protocol::OLDEST },
    Format { name: "log", written: log::FORMAT, oldest: log::FORMAT },
    Format {
        name: "state",
        written: state_machine::FORMAT_VERSION,
        oldest: state_machine::OLDEST_FORMAT,
    },
    Format {
        name: "snapshot stream",
        written: state_machine::STREAM_VERSION,
        oldest: state_machine::OLDEST_STREAM_VERSION,
    },
    Format { name: "archive", written: quorate_archive::FORMAT, oldest: quorate_archive::FORMAT },
];
