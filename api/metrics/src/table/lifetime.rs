//! The end of a metric's life: deprecated, then hidden, then removed.
//!
//! Invariant: a metric is hidden a number of releases after its deprecation that its stability
//! level says, and shown again only by the option for that; what is removed is in no release after.

use quorate_registry::release::Release;

use super::{MetricRow, StabilityLevel};

/// Whether a metric is exposed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exposure {
    /// It is.
    Shown,
    /// Only with the option that shows hidden ones.
    Hidden,
    /// No more, whatever the options.
    Removed,
}

impl StabilityLevel {
    /// How many releases after its deprecation a metric of this level is hidden.
    #[must_use]
    pub fn releases_until_hidden(self) -> u16 {
        match self {
            Self::Stable => 3,
            Self::Beta => 1,
            Self::Alpha | Self::Internal | Self::Unnamed => 0,
        }
    }
}

impl MetricRow {
    /// The first release that hides it.
    #[must_use]
    pub fn hidden_from(&self) -> Option<Release> {
        let deprecated = self.deprecated?;
        let minor = deprecated.minor + self.level.releases_until_hidden();
        Some(Release::new(deprecated.major, minor))
    }

    /// Whether a release exposes it.
    #[must_use]
    pub fn exposure(&self, release: Release) -> Exposure {
        let reached = |begin: Option<Release>| begin.is_some_and(|begin| begin <= release);
        if reached(self.removed) {
            Exposure::Removed
        } else if reached(self.hidden_from()) {
            Exposure::Hidden
        } else {
            Exposure::Shown
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::read;

    #[test]
    fn metrics_are_hidden_and_removed() {
        let check = |row: &'static str, expect: [Exposure; 5]| {
            let row = read(row).unwrap();
            let found = [31, 32, 33, 34, 35].map(|minor| row.exposure(Release::new(1, minor)));
            assert_eq!(found, expect, "{row:?}");
        };
        let (shown, hidden, removed) = (Exposure::Shown, Exposure::Hidden, Exposure::Removed);
        check("a gauge stable | - | - | - | A.", [shown; 5]);
        check("a gauge stable | - | - | - 1.31 | A.", [shown, shown, shown, hidden, hidden]);
        check("a gauge stable | - | - | - 1.31 1.35 | A.", [shown, shown, shown, hidden, removed]);
        check("a gauge beta | - | - | - 1.31 | A.", [shown, hidden, hidden, hidden, hidden]);
        check(
            "a gauge alpha | - | - | - 1.31 1.32 | A.",
            [hidden, removed, removed, removed, removed],
        );
    }
}
