//! The place of a rehearsal: where its next step goes on.
//!
//! Invariant: a client keeps it between two steps as a text, which is not secret and may be of
//! another node.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use quorate_store::Revision;

/// Where a step begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Among the kept changes.
    Changes {
        /// Before the first change that is looked at; `None` for all that are kept.
        after: Option<Revision>,
        /// Changes before this time are passed over: milliseconds since the Unix epoch.
        since_ms: u64,
    },
    /// Among the objects.
    Objects {
        /// The last key that was looked at; empty at the beginning.
        after: Bytes,
    },
}

/// A text that is no place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no place of a rehearsal")]
pub struct InvalidPlace(pub String);

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changes { after: None, since_ms } => write!(f, "changes.{since_ms}"),
            Self::Changes { after: Some(after), since_ms } => {
                write!(f, "changes.{since_ms}.{}", after.get())
            }
            Self::Objects { after } => write!(f, "objects.{}", URL_SAFE_NO_PAD.encode(after)),
        }
    }
}

impl FromStr for Place {
    type Err = InvalidPlace;

    fn from_str(text: &str) -> Result<Self, InvalidPlace> {
        let parts: Vec<&str> = text.split('.').collect();
        let found = match parts[..] {
            ["changes", since] => {
                since.parse().ok().map(|since_ms| Self::Changes { after: None, since_ms })
            }
            ["changes", since, after] => {
                since.parse().ok().zip(after.parse().ok()).map(|(since_ms, after)| Self::Changes {
                    after: Some(Revision::new(after)),
                    since_ms,
                })
            }
            ["objects", after] => {
                let after = URL_SAFE_NO_PAD.decode(after).ok();
                after.map(|after| Self::Objects { after: after.into() })
            }
            _ => None,
        };
        found.ok_or_else(|| InvalidPlace(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_texts() {
        let check = |place: Place, expect: &str| {
            assert_eq!(place.to_string(), expect);
            assert_eq!(expect.parse(), Ok(place));
        };
        check(Place::Changes { after: None, since_ms: 12 }, "changes.12");
        check(Place::Changes { after: Some(Revision::new(7)), since_ms: 0 }, "changes.0.7");
        check(Place::Objects { after: Bytes::new() }, "objects.");
        check(Place::Objects { after: Bytes::from_static(b"\0a/") }, "objects.AGEv");
        for text in ["", "changes", "changes.x", "changes.1.2.3", "objects", "objects.*"] {
            assert_eq!(text.parse::<Place>(), Err(InvalidPlace(text.to_owned())));
        }
    }
}
