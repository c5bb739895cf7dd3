//! The table of API versions: when each was introduced, is deprecated and goes, read from
//! `api_versions.table`.
//!
//! Invariant: a row is never taken away: what is removed stays, with the release that removed it.
//!
//! Not here: what is served, which also depends on defaults and the operator (`builtin`).

#[cfg(test)]
mod tests;

use quorate_meta::Names;
use quorate_registry::Deprecation;
use quorate_registry::release::Release;

const TABLE: &str = include_str!("api_versions.table");

/// A kind in a version of its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApiVersion {
    /// The neutral name of the group.
    pub group: &'static str,
    /// For example `v1beta1`.
    pub version: &'static str,
    /// The kind.
    pub kind: &'static str,
    /// The plural name in paths; `None` where the release has no such path.
    pub resource: Option<&'static str>,
    /// The first release that has it; `None` where that is not recorded.
    pub introduced: Option<Release>,
    /// The first release that warns of its use.
    pub deprecated: Option<Release>,
    /// The first release without it.
    pub removed: Option<Release>,
    /// Neutral group and version, and the kind, of what to use in its place.
    pub replacement: Option<(&'static str, &'static str, &'static str)>,
}

impl ApiVersion {
    /// Every row.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let rows = TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        rows.map(|row| read(row).expect("every row of the table is well formed")).collect()
    }

    /// Whether a release has it.
    #[must_use]
    pub fn is_in(&self, release: Release) -> bool {
        self.introduced.is_none_or(|introduced| introduced <= release)
            && self.removed.is_none_or(|removed| release < removed)
    }

    /// What a release says to those that use it; `None` before it is deprecated.
    #[must_use]
    pub fn deprecation(&self, names: &Names, release: Release) -> Option<Deprecation> {
        let since = self.deprecated.filter(|since| *since <= release)?;
        let own = api_version(names, self.group, self.version);
        let mut warning = format!("{own} {} is deprecated in v{since}+", self.kind);
        if let Some(removed) = self.removed {
            warning = format!("{warning}, unavailable in v{removed}+");
        }
        if let Some((group, version, kind)) = self.replacement {
            warning = format!("{warning}; use {} {kind}", api_version(names, group, version));
        }
        Some(Deprecation { warning, removed_release: self.removed })
    }
}

fn api_version(names: &Names, group: &str, version: &str) -> String {
    match group {
        "core" => version.to_owned(),
        _ => format!("{}/{version}", names.group(group)),
    }
}

/// Reads `GROUP/VERSION KIND RESOURCE | RELEASES [| REPLACEMENT]`.
pub(crate) fn read(row: &'static str) -> Option<ApiVersion> {
    let mut columns = row.split(" | ");
    let mut words = columns.next()?.split(' ');
    let (group, version) = words.next()?.split_once('/')?;
    let (kind, resource) = (words.next()?, words.next()?);
    let mut releases = columns.next()?.split(' ').map(|text| text.parse().ok());
    let replacement = columns.next().map(|text| {
        let (place, kind) = text.split_once(' ')?;
        let (group, version) = place.split_once('/')?;
        Some((group, version, kind))
    });
    Some(ApiVersion {
        group,
        version,
        kind,
        resource: Some(resource).filter(|resource| *resource != "-"),
        introduced: releases.next()?,
        deprecated: releases.next().flatten(),
        removed: releases.next().flatten(),
        replacement: match replacement {
            Some(read) => Some(read?),
            None => None,
        },
    })
}
