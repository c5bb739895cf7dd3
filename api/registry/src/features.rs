//! Feature gates: one row for each feature that can be switched, and the set of enabled ones.
//!
//! A gate is named on the command line (`--feature-gates`); the code behind it asks [`Gates::has`],
//! and a field that belongs to a feature names it ([`crate::GatedFields`]). A further gate is a
//! further [`Feature`] and a further row of [`FEATURES`].
//!
//! Invariants: the rows are in the order of the enum; a locked feature keeps its default; an
//! enabled feature has its prerequisites enabled.
//!
//! Not here: what a feature does.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A feature with a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    /// Compression of large gets and lists.
    ApiResponseCompression,
    /// Forced deletion of objects that cannot be read (KEP-3926).
    AllowUnsafeMalformedObjectDeletion,
    /// CBOR in requests and answers (KEP-4222). Objects are stored as JSON all the same.
    CborServingAndStorage,
    /// The ClusterTrustBundle resource (KEP-3257).
    ClusterTrustBundle,
    /// Stop signals of containers (KEP-4960).
    ContainerStopSignals,
    /// Strategy and preferred holder of leases: coordinated leader election (KEP-4355).
    CoordinatedLeaderElection,
    /// Consumable capacity: devices that several requests share (KEP-5075).
    DraConsumableCapacity,
    /// Taints of devices, and requests that tolerate them (KEP-5055).
    DraDeviceTaints,
    /// Dynamic resource allocation: claims for devices (KEP-4381).
    DynamicResourceAllocation,
    /// References of pods to workloads (KEP-4671).
    GenericWorkload,
    /// `maxUnavailable` of StatefulSets (KEP-961).
    MaxUnavailableStatefulSet,
    /// Policies that change objects (KEP-3962).
    MutatingAdmissionPolicy,
}

/// The maturity of a feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Alpha: may change or be removed at any time.
    Alpha,
    /// Beta: well tested; details may change.
    Beta,
    /// GA: the feature stays, the gate will be removed.
    Stable,
    /// Deprecated: the feature will be removed.
    Deprecated,
}

/// A row of [`FEATURES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeatureRow {
    /// The name on the command line.
    pub name: &'static str,
    /// The feature.
    pub feature: Feature,
    /// Its stage.
    pub stage: Stage,
    /// The release since which it has that stage.
    pub since: &'static str,
    /// Whether it is enabled by default.
    pub default: bool,
    /// Whether the command line cannot change that.
    pub locked: bool,
    /// The features that must be on where this one is.
    pub prerequisites: &'static [Feature],
}

const fn row(
    name: &'static str,
    feature: Feature,
    stage: Stage,
    since: &'static str,
    default: bool,
) -> FeatureRow {
    FeatureRow { name, feature, stage, since, default, locked: false, prerequisites: &[] }
}

const DEVICES: &[Feature] = &[Feature::DynamicResourceAllocation];

/// Every feature with a gate.
pub const FEATURES: [FeatureRow; 12] = [
    row("APIResponseCompression", Feature::ApiResponseCompression, Stage::Beta, "1.16", true),
    row(
        "AllowUnsafeMalformedObjectDeletion",
        Feature::AllowUnsafeMalformedObjectDeletion,
        Stage::Alpha,
        "1.32",
        false,
    ),
    row("CBORServingAndStorage", Feature::CborServingAndStorage, Stage::Alpha, "1.32", false),
    // Enabled by default, other than in the release.
    row("ClusterTrustBundle", Feature::ClusterTrustBundle, Stage::Beta, "1.33", true),
    row("ContainerStopSignals", Feature::ContainerStopSignals, Stage::Alpha, "1.33", false),
    row(
        "CoordinatedLeaderElection",
        Feature::CoordinatedLeaderElection,
        Stage::Beta,
        "1.33",
        false,
    ),
    FeatureRow {
        prerequisites: DEVICES,
        ..row("DRAConsumableCapacity", Feature::DraConsumableCapacity, Stage::Alpha, "1.34", false)
    },
    FeatureRow {
        prerequisites: DEVICES,
        ..row("DRADeviceTaints", Feature::DraDeviceTaints, Stage::Alpha, "1.33", false)
    },
    FeatureRow {
        locked: true,
        ..row(
            "DynamicResourceAllocation",
            Feature::DynamicResourceAllocation,
            Stage::Stable,
            "1.34",
            true,
        )
    },
    row("GenericWorkload", Feature::GenericWorkload, Stage::Alpha, "1.35", false),
    row(
        "MaxUnavailableStatefulSet",
        Feature::MaxUnavailableStatefulSet,
        Stage::Beta,
        "1.35",
        false,
    ),
    row("MutatingAdmissionPolicy", Feature::MutatingAdmissionPolicy, Stage::Beta, "1.34", false),
];

impl Feature {
    /// The row of the feature.
    #[must_use]
    pub fn row(self) -> &'static FeatureRow {
        &FEATURES[self as usize]
    }

    fn bit(self) -> u64 {
        1 << self as u64
    }
}

/// The enabled features, a bit for each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gates(u64);

/// The reason why a text is no list of features and states.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InvalidGates {
    /// There is no such feature.
    #[error("unknown feature gate {name:?}: there are {known}")]
    Unknown {
        /// The name in the text.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// The text is not a feature and its state.
    #[error("{0:?} is not of the form Feature=true or Feature=false")]
    Malformed(String),
    /// The feature keeps its default.
    #[error("cannot set feature gate {name} to {asked}, feature is locked to {default}", default = !asked)]
    Locked {
        /// Its name.
        name: &'static str,
        /// The state in the text.
        asked: bool,
    },
    /// A feature is on and one of its prerequisites is off.
    #[error("{name} is enabled, but depends on features that are disabled: [{missing}]")]
    Dependency {
        /// Its name.
        name: &'static str,
        /// The names of the prerequisites that are off.
        missing: String,
    },
}

impl Default for Gates {
    fn default() -> Self {
        let mut gates = Self(0);
        FEATURES.iter().for_each(|row| gates.set(row.feature, row.default));
        gates
    }
}

impl Gates {
    /// Whether a feature is on.
    #[must_use]
    pub fn has(&self, feature: Feature) -> bool {
        self.0 & feature.bit() != 0
    }

    fn set(&mut self, feature: Feature, on: bool) {
        if on { self.0 |= feature.bit() } else { self.0 &= !feature.bit() }
    }

    fn check_prerequisites(self) -> Result<Self, InvalidGates> {
        for row in FEATURES.iter().filter(|row| self.has(row.feature)) {
            let off = row.prerequisites.iter().filter(|feature| !self.has(**feature));
            let missing = off.map(|feature| feature.row().name).collect::<Vec<_>>().join(" ");
            if !missing.is_empty() {
                return Err(InvalidGates::Dependency { name: row.name, missing });
            }
        }
        Ok(self)
    }
}

impl FromStr for Gates {
    type Err = InvalidGates;

    /// Reads `Feature=true,Other=false`; what is not named stays as it is by default.
    fn from_str(text: &str) -> Result<Self, InvalidGates> {
        let mut gates = Self::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let malformed = || InvalidGates::Malformed(part.to_owned());
            let (name, state) = part.split_once('=').ok_or_else(malformed)?;
            let on = state.parse().map_err(|_| malformed())?;
            let known = || FEATURES.map(|row| row.name).join(", ");
            let unknown = || InvalidGates::Unknown { name: name.to_owned(), known: known() };
            let row = FEATURES.iter().find(|row| row.name == name).ok_or_else(unknown)?;
            if row.locked && on != row.default {
                return Err(InvalidGates::Locked { name: row.name, asked: on });
            }
            gates.set(row.feature, on);
        }
        gates.check_prerequisites()
    }
}

impl fmt::Display for Gates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let states = FEATURES.map(|row| format!("{}={}", row.name, self.has(row.feature)));
        f.write_str(&states.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The states of a text, of the gates that it changes.
    #[track_caller]
    fn check(text: &str, expect: Result<&[(&str, bool)], &str>) {
        let states = |gates: Gates| FEATURES.map(|row| (row.name, gates.has(row.feature)));
        let expect = expect.map_err(str::to_owned).map(|changed| {
            states(Gates::default()).map(|(name, on)| {
                *changed.iter().find(|(own, _)| *own == name).unwrap_or(&(name, on))
            })
        });
        assert_eq!(
            text.parse::<Gates>().map(states).map_err(|error| error.to_string()),
            expect,
            "{text}"
        );
    }

    #[test]
    fn gates_are_read_and_written() {
        check("", Ok(&[]));
        check("ClusterTrustBundle=false, ", Ok(&[("ClusterTrustBundle", false)]));
        check(
            "APIResponseCompression=false,CBORServingAndStorage=true",
            Ok(&[("APIResponseCompression", false), ("CBORServingAndStorage", true)]),
        );
        let malformed = |text| format!("{text:?} is not of the form Feature=true or Feature=false");
        check("ClusterTrustBundle", Err(&malformed("ClusterTrustBundle")));
        check("ClusterTrustBundle=on", Err(&malformed("ClusterTrustBundle=on")));
        let known = FEATURES.map(|row| row.name).join(", ");
        check("Flying=true", Err(&format!("unknown feature gate \"Flying\": there are {known}")));
        for text in ["", "ClusterTrustBundle=false,DRADeviceTaints=true"] {
            let gates: Gates = text.parse().unwrap();
            assert_eq!(gates.to_string().parse(), Ok(gates));
        }
        let shown = Gates::default().to_string();
        assert!(
            shown.starts_with(
                "APIResponseCompression=true,AllowUnsafeMalformedObjectDeletion=false,"
            ),
            "{shown}"
        );
    }

    #[test]
    fn locked_features_keep_their_default() {
        check("DynamicResourceAllocation=true", Ok(&[]));
        check(
            "DynamicResourceAllocation=false",
            Err(
                "cannot set feature gate DynamicResourceAllocation to false, feature is locked to true",
            ),
        );
    }

    #[test]
    fn a_feature_needs_its_prerequisites() {
        let mut gates = Gates::default();
        gates.set(Feature::DraDeviceTaints, true);
        assert_eq!(gates.clone().check_prerequisites(), Ok(gates.clone()));
        gates.set(Feature::DynamicResourceAllocation, false);
        let why = "DRADeviceTaints is enabled, but depends on features that are disabled: [DynamicResourceAllocation]";
        assert_eq!(
            gates.check_prerequisites().map_err(|error| error.to_string()),
            Err(why.to_owned())
        );
    }

    #[test]
    fn rows_are_in_order_and_consistent() {
        for (index, row) in FEATURES.iter().enumerate() {
            assert_eq!((row.feature as usize, row.feature.row().name), (index, row.name));
            assert!(
                row.stage != Stage::Alpha || !row.default,
                "{}: alpha features are off by default",
                row.name
            );
            assert!(
                !row.locked || row.stage == Stage::Stable || row.stage == Stage::Deprecated,
                "{}",
                row.name
            );
            for needed in row.prerequisites {
                assert!(
                    !row.default || needed.row().default,
                    "{}: on by default, {needed:?} is not",
                    row.name
                );
            }
        }
        let names = FEATURES.map(|row| row.name);
        let unique: std::collections::BTreeSet<_> = names.into_iter().collect();
        assert_eq!(unique.len(), names.len());
    }
}
