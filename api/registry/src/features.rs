//! Switches of features that are not general yet (document 002, "Feature gate lifecycle").
//!
//! A gate is named on the command line; what is behind it asks [`Gates::has`]. A further gate is a further [`Feature`] and
//! a line in its table.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A feature with a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feature {
    /// Compression of large gets and lists.
    ApiResponseCompression,
    /// Forced deletion of objects that cannot be read.
    AllowUnsafeMalformedObjectDeletion,
    /// CBOR in requests and answers. Objects are stored as JSON all the same.
    CborServingAndStorage,
    /// The resource of trust bundles.
    ClusterTrustBundle,
}

/// Name of each feature, and whether it is on unless somebody says otherwise.
const TABLE: [(Feature, &str, bool); 4] = [
    (Feature::ApiResponseCompression, "APIResponseCompression", true),
    (Feature::AllowUnsafeMalformedObjectDeletion, "AllowUnsafeMalformedObjectDeletion", false),
    (Feature::CborServingAndStorage, "CBORServingAndStorage", false),
    (Feature::ClusterTrustBundle, "ClusterTrustBundle", true),
];

/// Which features are on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gates(BTreeSet<Feature>);

/// Why a text does not say which features are on.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InvalidGates {
    /// There is no such feature.
    #[error("unknown feature gate {name:?}: there are {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// Something else than a feature and its state.
    #[error("{0:?} is not of the form Feature=true or Feature=false")]
    Malformed(String),
}

impl Default for Gates {
    fn default() -> Self {
        Self(TABLE.iter().filter(|(_, _, on)| *on).map(|(feature, ..)| *feature).collect())
    }
}

impl Gates {
    /// Whether a feature is on.
    #[must_use]
    pub fn has(&self, feature: Feature) -> bool {
        self.0.contains(&feature)
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
            let known = || TABLE.map(|(_, name, _)| name).join(", ");
            let unknown = || InvalidGates::Unknown { name: name.to_owned(), known: known() };
            let (feature, ..) = TABLE.iter().find(|(_, own, _)| *own == name).ok_or_else(unknown)?;
            if on {
                gates.0.insert(*feature)
            } else {
                gates.0.remove(feature)
            };
        }
        Ok(gates)
    }
}

impl fmt::Display for Gates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let states = TABLE.map(|(feature, name, _)| format!("{name}={}", self.has(feature)));
        f.write_str(&states.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_are_read_and_written() {
        let check = |text: &str, expect: Result<&str, &str>| {
            let got = text.parse::<Gates>().map(|gates| gates.to_string()).map_err(|error| error.to_string());
            assert_eq!(got, expect.map(str::to_owned).map_err(str::to_owned), "{text}");
        };
        let states = |compression, cbor, bundle| {
            format!(
                "APIResponseCompression={compression},AllowUnsafeMalformedObjectDeletion=false,CBORServingAndStorage={cbor},ClusterTrustBundle={bundle}"
            )
        };
        check("", Ok(&states(true, false, true)));
        check("ClusterTrustBundle=false, ", Ok(&states(true, false, false)));
        check("APIResponseCompression=false,CBORServingAndStorage=true", Ok(&states(false, true, true)));
        let malformed = |text| format!("{text:?} is not of the form Feature=true or Feature=false");
        check("ClusterTrustBundle", Err(&malformed("ClusterTrustBundle")));
        check("ClusterTrustBundle=on", Err(&malformed("ClusterTrustBundle=on")));
        let known =
            "APIResponseCompression, AllowUnsafeMalformedObjectDeletion, CBORServingAndStorage, ClusterTrustBundle";
        check("Flying=true", Err(&format!("unknown feature gate \"Flying\": there are {known}")));
        let gates: Gates = "ClusterTrustBundle=false".parse().unwrap();
        assert_eq!(gates.to_string().parse(), Ok(gates));
    }
}
