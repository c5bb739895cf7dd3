//! The peer protocol's version: which messages between members a build understands.
//!
//! Every call says it in a header, as `OLDEST-NEWEST`; a build that says none speaks 1. Two builds
//! understand each other when their ranges meet: the one that is called refuses everything else, by
//! name of both ranges, before the message is read. A message may be sent in the form of a newer
//! version only after every member speaks it, so a release raises [`NEWEST`] first and sends the new
//! form in the next one; [`OLDEST`] follows when that old a build can no longer be a member.
//! Invariant: what is wrong with a header is refused, never guessed. Formats on disk are not here.

use std::fmt;
use std::str::FromStr;

use tonic::Status;
use tonic::metadata::{Ascii, MetadataMap, MetadataValue};

/// The newest version that this build speaks.
///
/// - 1: the first.
/// - 2: calls say which versions their caller speaks.
/// - 3: administrative errors name the last voter.
pub(crate) const NEWEST: u32 = 3;
/// The oldest version that this build still speaks.
pub(crate) const OLDEST: u32 = 1;
/// From this version on a caller knows the administrative errors that name a reason.
pub(crate) const NAMED_REASONS: u32 = 3;

/// What a build speaks that says nothing.
const UNSAID: ProtocolRange = ProtocolRange { oldest: 1, newest: 1 };
/// The header of the range.
const HEADER: &str = "quorate-protocols";

/// The versions that a build speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ProtocolRange {
    oldest: u32,
    newest: u32,
}

/// This build's.
const OURS: ProtocolRange = ProtocolRange { oldest: OLDEST, newest: NEWEST };

impl ProtocolRange {
    fn meets(self, other: Self) -> bool {
        self.oldest <= other.newest && other.oldest <= self.newest
    }
}

impl fmt::Display for ProtocolRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.oldest, self.newest)
    }
}

impl FromStr for ProtocolRange {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (oldest, newest) = text.split_once('-').ok_or(())?;
        let number = |text: &str| text.parse::<u32>().map_err(|_| ());
        let range = Self { oldest: number(oldest)?, newest: number(newest)? };
        (range.oldest <= range.newest).then_some(range).ok_or(())
    }
}

/// The header's value for outgoing calls.
pub(super) fn header_value() -> MetadataValue<Ascii> {
    OURS.to_string().parse().expect("digits are a metadata value")
}

/// Puts the header on an outgoing call.
pub(super) fn announce(metadata: &mut MetadataMap, value: &MetadataValue<Ascii>) {
    metadata.insert(HEADER, value.clone());
}

/// The versions that the caller speaks.
fn theirs(metadata: &MetadataMap) -> Result<ProtocolRange, Status> {
    match metadata.get(HEADER) {
        None => Ok(UNSAID),
        Some(value) => value.to_str().ok().and_then(|text| text.parse().ok()).ok_or_else(|| {
            Status::invalid_argument("the caller's protocol versions cannot be understood")
        }),
    }
}

/// Whether the caller understands answers of this version.
pub(crate) fn understands(metadata: &MetadataMap, version: u32) -> bool {
    theirs(metadata).is_ok_and(|theirs| theirs.newest >= version)
}

/// Refuses a call of a build that this one does not understand.
pub(crate) fn check(metadata: &MetadataMap) -> Result<(), Status> {
    let theirs = theirs(metadata)?;
    if OURS.meets(theirs) {
        return Ok(());
    }
    Err(Status::failed_precondition(format!(
        "this node ({}) speaks the peer protocols {OURS}, the caller {theirs}: upgrade one release \
         at a time",
        env!("CARGO_PKG_VERSION")
    )))
}

#[cfg(test)]
mod tests {
    use tonic::Code;

    use super::*;

    #[test]
    fn builds_whose_versions_meet_understand_each_other() {
        let check = |header: Option<&str>, expect: Option<Code>| {
            let mut metadata = MetadataMap::new();
            if let Some(header) = header {
                metadata.insert(HEADER, header.parse().unwrap());
            }
            assert_eq!(check(&metadata).err().map(|refusal| refusal.code()), expect, "{header:?}");
        };
        let next = NEWEST + 1;
        check(None, None);
        check(Some("1-1"), None);
        check(Some(&OURS.to_string()), None);
        check(Some(&format!("{NEWEST}-{next}")), None);
        check(Some("1-4294967295"), None);
        check(Some(&format!("{next}-{next}")), Some(Code::FailedPrecondition));
        check(Some("0-0"), Some(Code::FailedPrecondition));
        for wrong in ["", "2", "-", "2-", "2-1", "a-b", "1-2-3", "1-4294967296", " 1-2"] {
            check(Some(wrong), Some(Code::InvalidArgument));
        }
    }

    #[test]
    fn answers_are_in_a_version_that_the_caller_knows() {
        let check = |header: Option<&str>, expect: bool| {
            let mut metadata = MetadataMap::new();
            if let Some(header) = header {
                metadata.insert(HEADER, header.parse().unwrap());
            }
            assert_eq!(understands(&metadata, NAMED_REASONS), expect, "{header:?}");
        };
        check(None, false);
        check(Some("1-2"), false);
        check(Some("1-3"), true);
        check(Some("3-9"), true);
        check(Some("wrong"), false);
    }

    #[test]
    fn calls_say_what_their_caller_speaks() {
        let mut metadata = MetadataMap::new();
        announce(&mut metadata, &header_value());
        assert_eq!(metadata.get(HEADER).unwrap(), &OURS.to_string());
    }
}
