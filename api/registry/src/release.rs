//! Releases of the API: minor versions, such as 1.35.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A minor version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release {
    /// The major version.
    pub major: u16,
    /// The minor version.
    pub minor: u16,
}

/// A text is no release.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0:?} is no release such as 1.35")]
pub struct InvalidRelease(String);

impl Release {
    /// The release that this server is.
    pub const CURRENT: Self = Self::new(1, 35);
    /// The oldest release that it can behave like.
    pub const OLDEST_EMULATED: Self = Self::new(1, 32);

    /// A release.
    #[must_use]
    pub const fn new(major: u16, minor: u16) -> Self {
        Self { major, minor }
    }

    /// How many minor releases it comes after another one of its major version; 0 when it does
    /// not.
    #[must_use]
    pub fn minors_since(self, earlier: Self) -> u16 {
        if self.major == earlier.major { self.minor.saturating_sub(earlier.minor) } else { 0 }
    }
}

impl FromStr for Release {
    type Err = InvalidRelease;

    fn from_str(text: &str) -> Result<Self, InvalidRelease> {
        let parts = text.split_once('.');
        let release = parts
            .and_then(|(major, minor)| Some(Self::new(major.parse().ok()?, minor.parse().ok()?)));
        release.ok_or_else(|| InvalidRelease(text.to_owned()))
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_read_and_compared() {
        let check = |text: &str, expect: Option<Release>| {
            assert_eq!(text.parse::<Release>().ok(), expect, "{text}");
        };
        check("1.35", Some(Release::CURRENT));
        check("1.9", Some(Release::new(1, 9)));
        for text in ["", "1", "1.", "v1.2", "1.2.3", "1.-1"] {
            check(text, None);
        }
        assert!(Release::new(1, 9) < Release::new(1, 10));
        assert_eq!(Release::CURRENT.minors_since(Release::new(1, 33)), 2);
        assert_eq!(Release::new(1, 33).minors_since(Release::CURRENT), 0);
    }
}
