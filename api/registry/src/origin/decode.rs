//! Reading an origin back.
//!
//! Invariant: whatever the bytes are, reading them ends with what could be read or with nothing.

use uuid::Uuid;

use super::{FORMAT, KNOWN_GROUPS, Origin, OriginUser, Tag};
use crate::Propagation;

/// The codes of propagation policies. A place is never given away again.
const POLICIES: [Propagation; 3] =
    [Propagation::Background, Propagation::Foreground, Propagation::Orphan];

/// The code of a propagation policy.
pub(super) fn propagation_code(policy: Propagation) -> u8 {
    let place = POLICIES.iter().position(|known| *known == policy);
    place.and_then(|place| u8::try_from(place).ok()).unwrap_or(u8::MAX)
}

impl Origin {
    /// Reads an origin; `None` when there is none, or it is in another form. Of fields that occur
    /// twice the last one counts.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (&format, mut rest) = bytes.split_first()?;
        if format != FORMAT {
            return None;
        }
        let mut origin = Self::default();
        while let Some((tag, value, after)) = next(rest) {
            origin.read(tag, value);
            rest = after;
        }
        Some(origin)
    }

    fn read(&mut self, tag: u8, value: &[u8]) {
        let text = || String::from_utf8_lossy(value).into_owned();
        let known = || value.first().and_then(|place| KNOWN_GROUPS.get(usize::from(*place)));
        match tag {
            tag if tag == Tag::UserName as u8 => self.user.name = text(),
            tag if tag == Tag::UserUid as u8 => self.user.uid = text(),
            tag if tag == Tag::UserGroup as u8 => self.user.groups.push(text()),
            tag if tag == Tag::UserKnownGroup as u8 => {
                self.user.groups.extend(known().map(|group| (*group).to_owned()));
            }
            tag if tag == Tag::UserExtra as u8 => self.user.add_extra(&text()),
            tag if tag == Tag::ImpersonatorName as u8 => self.impersonator.name = text(),
            tag if tag == Tag::ImpersonatorUid as u8 => self.impersonator.uid = text(),
            tag if tag == Tag::ImpersonatorGroup as u8 => self.impersonator.groups.push(text()),
            tag if tag == Tag::ImpersonatorKnownGroup as u8 => {
                self.impersonator.groups.extend(known().map(|group| (*group).to_owned()));
            }
            tag if tag == Tag::UserAgent as u8 => self.user_agent = text(),
            tag if tag == Tag::AuditId as u8 => self.audit_id = text(),
            tag if tag == Tag::AuditUuid as u8 => {
                self.audit_id = Uuid::from_slice(value).map(|id| id.to_string()).unwrap_or_default()
            }
            tag if tag == Tag::Verb as u8 => self.verb = text(),
            tag if tag == Tag::Subresource as u8 => self.subresource = text(),
            tag if tag == Tag::Manager as u8 => self.manager = text(),
            tag if tag == Tag::Source as u8 => self.source = text(),
            tag if tag == Tag::Force as u8 => self.force = true,
            tag if tag == Tag::Propagation as u8 => {
                let policy = value.first().and_then(|code| POLICIES.get(usize::from(*code)));
                self.propagation = policy.copied();
            }
            tag if tag == Tag::GraceSeconds as u8 => {
                self.grace_seconds = value.try_into().ok().map(i64::from_le_bytes);
            }
            tag if tag == Tag::Truncated as u8 => self.truncated = true,
            _ => {}
        }
    }
}

impl OriginUser {
    /// Whether no user is meant.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        self.name.is_empty() && self.uid.is_empty()
    }

    fn add_extra(&mut self, pair: &str) {
        let (key, value) = pair.split_once('\0').unwrap_or((pair, ""));
        match self.extra.last_mut() {
            Some((last, values)) if last == key => values.push(value.to_owned()),
            _ => self.extra.push((key.to_owned(), vec![value.to_owned()])),
        }
    }
}

/// The first field: its tag, its value, and what comes after it. `None` at the end, also where a
/// field has no end.
fn next(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, mut rest) = bytes.split_first()?;
    let (mut length, mut shift) = (0_usize, 0);
    loop {
        let (&byte, after) = rest.split_first()?;
        rest = after;
        length |= usize::from(byte & 0x7f).checked_shl(shift)?;
        shift += 7;
        if byte & 0x80 == 0 {
            break;
        }
        if shift > 21 {
            return None;
        }
    }
    let (value, after) = rest.split_at_checked(length)?;
    Some((tag, value, after))
}
