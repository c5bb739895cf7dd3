//! Feature gates: the features that can be switched here, and the set of enabled ones.
//!
//! A gate is named on the command line (`--feature-gates`); the code behind it asks [`Gates::has`],
//! and a field that belongs to a feature names it ([`crate::GatedFields`]). A further feature is a
//! further [`Feature`], and `here` in its row of `release.table`, which has every gate of the
//! release.
//!
//! Not here: what a feature does.

mod settings;
mod table;
#[cfg(test)]
mod tests;

use std::str::FromStr;

pub use settings::{GateSettings, InvalidGates, Resolved};
pub use table::{Gate, GateState, Stage, Usage, help};

use crate::release::Release;

/// A feature with a gate that switches it.
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
    /// Rules beside the fields are run too, and compared (KEP-5073).
    DeclarativeValidation,
    /// The rules beside the fields decide (KEP-5073).
    DeclarativeValidationTakeover,
    /// Consumable capacity: devices that several requests share (KEP-5075).
    DraConsumableCapacity,
    /// Taints of devices, and requests that tolerate them (KEP-5055).
    DraDeviceTaints,
    /// Dynamic resource allocation: claims for devices (KEP-4381).
    DynamicResourceAllocation,
    /// References of pods to workloads (KEP-4671).
    GenericWorkload,
    /// Snapshots of the past in memory answer exact lists (KEP-4988).
    ListFromCacheSnapshot,
    /// `maxUnavailable` of StatefulSets (KEP-961).
    MaxUnavailableStatefulSet,
    /// Policies that change objects (KEP-3962).
    MutatingAdmissionPolicy,
}

impl Feature {
    /// Every feature.
    pub const ALL: [Self; 15] = [
        Self::ApiResponseCompression,
        Self::AllowUnsafeMalformedObjectDeletion,
        Self::CborServingAndStorage,
        Self::ClusterTrustBundle,
        Self::ContainerStopSignals,
        Self::CoordinatedLeaderElection,
        Self::DeclarativeValidation,
        Self::DeclarativeValidationTakeover,
        Self::DraConsumableCapacity,
        Self::DraDeviceTaints,
        Self::DynamicResourceAllocation,
        Self::GenericWorkload,
        Self::ListFromCacheSnapshot,
        Self::MaxUnavailableStatefulSet,
        Self::MutatingAdmissionPolicy,
    ];

    /// The name of its gate.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ApiResponseCompression => "APIResponseCompression",
            Self::AllowUnsafeMalformedObjectDeletion => "AllowUnsafeMalformedObjectDeletion",
            Self::CborServingAndStorage => "CBORServingAndStorage",
            Self::ClusterTrustBundle => "ClusterTrustBundle",
            Self::ContainerStopSignals => "ContainerStopSignals",
            Self::CoordinatedLeaderElection => "CoordinatedLeaderElection",
            Self::DeclarativeValidation => "DeclarativeValidation",
            Self::DeclarativeValidationTakeover => "DeclarativeValidationTakeover",
            Self::DraConsumableCapacity => "DRAConsumableCapacity",
            Self::DraDeviceTaints => "DRADeviceTaints",
            Self::DynamicResourceAllocation => "DynamicResourceAllocation",
            Self::GenericWorkload => "GenericWorkload",
            Self::ListFromCacheSnapshot => "ListFromCacheSnapshot",
            Self::MaxUnavailableStatefulSet => "MaxUnavailableStatefulSet",
            Self::MutatingAdmissionPolicy => "MutatingAdmissionPolicy",
        }
    }

    /// Whether it is on by default, other than in the release.
    const fn is_on_by_default_here(self) -> bool {
        matches!(self, Self::ClusterTrustBundle)
    }

    fn bit(self) -> u64 {
        1 << self as u64
    }
}

/// The enabled features of a release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gates {
    release: Release,
    /// A bit for each feature.
    on: u64,
}

impl Default for Gates {
    fn default() -> Self {
        let resolved = GateSettings::default().resolve(Release::CURRENT);
        resolved.expect("what a gate that is on by default depends on is on by default").gates
    }
}

impl Gates {
    fn none(release: Release) -> Self {
        Self { release, on: 0 }
    }

    /// The release that the server behaves like.
    #[must_use]
    pub fn release(&self) -> Release {
        self.release
    }

    /// Whether a feature is on.
    #[must_use]
    pub fn has(&self, feature: Feature) -> bool {
        self.on & feature.bit() != 0
    }

    fn set(&mut self, feature: Feature, on: bool) {
        if on { self.on |= feature.bit() } else { self.on &= !feature.bit() }
    }
}

impl FromStr for Gates {
    type Err = InvalidGates;

    /// What `Feature=true,Other=false` comes to in the current release.
    fn from_str(text: &str) -> Result<Self, InvalidGates> {
        Ok(text.parse::<GateSettings>()?.resolve(Release::CURRENT)?.gates)
    }
}
