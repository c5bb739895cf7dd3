//! The names of the objects of a repository.
//!
//! Invariant: a name says all that the order of objects depends on, so that a list of names is enough
//! to know what there is.

use std::fmt;

use quorate_env::Entropy;
use quorate_store::Revision;
use serde::{Deserialize, Serialize};

/// The header.
pub(crate) const HEADER: &str = "quorate-backup";
/// The index.
pub(crate) const INDEX: &str = "index";
const BASES: &str = "bases/";
const SEGMENTS: &str = "segments/";
const MANIFEST: &str = "manifest";

/// Names a base: printed as its revision and random bits, so that two runs never share names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct BaseId {
    /// The revision whose state it is.
    pub revision: Revision,
    random: u32,
}

/// Names a part within its base: where it stands, and random bits of the run that wrote it. A base
/// that two runs wrote at one time has the parts of both, and its manifest names those that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct PartId {
    pub(crate) position: u32,
    pub(crate) run: u32,
}

/// Names a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SegmentId {
    /// The revision before its first transaction.
    pub after: Revision,
    /// Up to which it has every transaction.
    pub last: Revision,
    random: u32,
}

/// A name taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Name {
    Header,
    Index,
    Part(BaseId, PartId),
    Manifest(BaseId),
    Segment(SegmentId),
}

impl BaseId {
    /// A new name.
    pub(crate) fn new(revision: Revision, entropy: &dyn Entropy) -> Self {
        Self { revision, random: random(entropy) }
    }

    pub(crate) fn part(self, part: PartId) -> String {
        format!("{BASES}{self}/{:06}-{:08x}", part.position, part.run)
    }

    pub(crate) fn manifest(self) -> String {
        format!("{BASES}{self}/{MANIFEST}")
    }
}

impl SegmentId {
    /// A new name.
    pub(crate) fn new(after: Revision, last: Revision, entropy: &dyn Entropy) -> Self {
        Self { after, last, random: random(entropy) }
    }

    pub(crate) fn name(self) -> String {
        format!("{SEGMENTS}{self}")
    }
}

impl Name {
    /// What a name means; `None` for one that no object of a repository has.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            HEADER => return Some(Self::Header),
            INDEX => return Some(Self::Index),
            _ => {}
        }
        if let Some(segment) = text.strip_prefix(SEGMENTS) {
            let mut parts = segment.split('-');
            let (after, last, random) = (parts.next()?, parts.next()?, parts.next()?);
            let id = SegmentId {
                after: revision(after)?,
                last: revision(last)?,
                random: hex(random, 8)?,
            };
            return (parts.next().is_none() && id.after < id.last).then_some(Self::Segment(id));
        }
        let (base, object) = text.strip_prefix(BASES)?.split_once('/')?;
        let (at, random) = base.split_once('-')?;
        let id = BaseId { revision: revision(at)?, random: hex(random, 8)? };
        if object == MANIFEST {
            return Some(Self::Manifest(id));
        }
        let (position, run) = object.split_once('-')?;
        let digits = position.len() == 6 && position.bytes().all(|byte| byte.is_ascii_digit());
        let part =
            PartId { position: position.parse().ok().filter(|_| digits)?, run: hex(run, 8)? };
        Some(Self::Part(id, part))
    }
}

/// Random bits of a name.
pub(crate) fn random(entropy: &dyn Entropy) -> u32 {
    let mut bytes = [0; 4];
    entropy.fill(&mut bytes);
    u32::from_le_bytes(bytes)
}

fn revision(text: &str) -> Option<Revision> {
    let lower = text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    let number = (text.len() == 16 && lower).then(|| u64::from_str_radix(text, 16).ok());
    number.flatten().map(Revision::new)
}

fn hex(text: &str, digits: usize) -> Option<u32> {
    let lower = text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    (text.len() == digits && lower).then(|| u32::from_str_radix(text, 16).ok()).flatten()
}

impl fmt::Display for BaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}-{:08x}", self.revision.get(), self.random)
    }
}

impl fmt::Display for SegmentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}-{:016x}-{:08x}", self.after.get(), self.last.get(), self.random)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        let base = BaseId { revision: Revision::new(0x1a2b), random: 7 };
        let (after, last) = (Revision::new(3), Revision::new(9));
        let segment = SegmentId { after, last, random: 0xffff_ffff };
        let check =
            |text: &str, expect: Option<Name>| assert_eq!(Name::parse(text), expect, "{text}");
        let part = PartId { position: 12, run: 5 };
        check(&base.part(part), Some(Name::Part(base, part)));
        check(&base.manifest(), Some(Name::Manifest(base)));
        check(&segment.name(), Some(Name::Segment(segment)));
        check(HEADER, Some(Name::Header));
        check(INDEX, Some(Name::Index));
        for other in [
            "",
            "bases/x",
            "bases/0000000000001a2b-00000007/12-00000005",
            "bases/0000000000001A2B-00000007/000012-00000005",
            "segments/0000000000000009-0000000000000003-00000007",
            "segments/0000000000000003-0000000000000009-00000007-1",
            "bases/+000000000001a2b-00000007/manifest",
        ] {
            check(other, None);
        }
    }
}
