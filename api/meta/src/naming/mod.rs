//! The naming profiles: every name that differs between them, in one table. No other file spells
//! such a name.
//!
//! A cluster is created with one profile and keeps it. In the `svc` profile the server also accepts
//! names of the `kubernetes` profile which clients hard-code (`Names::edge_group`,
//! `Names::is_protobuf`).

use std::fmt;
use std::str::FromStr;

mod table;
#[cfg(test)]
mod tests;
pub(crate) mod well_known;

pub use table::Names;

/// Groups whose name ends in the profile's suffix; all others are the same in both profiles.
const SUFFIXED_GROUPS: [&str; 22] = [
    "admission",
    "admissionregistration",
    "apidiscovery",
    "apiextensions",
    "apiregistration",
    "audit",
    "authentication",
    "authorization",
    "certificates",
    "coordination",
    "discovery",
    "events",
    "flowcontrol.apiserver",
    "internal.apiserver",
    "meta",
    "networking",
    "node",
    "rbac.authorization",
    "resource",
    "scheduling",
    "storage",
    "storagemigration",
];

/// The naming profile of a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Naming {
    /// Neutral names, with the domain `svc.io`.
    #[default]
    Svc,
    /// The names that unmodified Kubernetes clients expect.
    Kubernetes,
}

impl Naming {
    /// The table of names of this profile.
    pub fn names(self) -> &'static Names {
        match self {
            Self::Svc => &table::SVC,
            Self::Kubernetes => &table::KUBERNETES,
        }
    }

    /// The profile's name on the command line and in the node file: `svc` or `kubernetes`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Svc => "svc",
            Self::Kubernetes => "kubernetes",
        }
    }
}

impl fmt::Display for Naming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A profile name that is neither `svc` nor `kubernetes`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown naming profile {0:?}: use svc or kubernetes")]
pub struct UnknownNaming(pub String);

impl FromStr for Naming {
    type Err = UnknownNaming;

    fn from_str(text: &str) -> Result<Self, UnknownNaming> {
        [Self::Svc, Self::Kubernetes]
            .into_iter()
            .find(|naming| naming.as_str() == text)
            .ok_or_else(|| UnknownNaming(text.to_owned()))
    }
}

impl Names {
    /// The full group name of a neutral one: `rbac.authorization` becomes
    /// `rbac.authorization.svc.io`; `apps` and the empty core group stay as they are.
    pub fn group(&self, base: &str) -> String {
        if SUFFIXED_GROUPS.contains(&base) {
            format!("{base}.{}", self.group_suffix)
        } else {
            base.to_owned()
        }
    }

    /// The neutral name of a full group name of this profile; names without a neutral form stay.
    pub fn neutral<'a>(&self, group: &'a str) -> &'a str {
        let base = group.strip_suffix(self.group_suffix).and_then(|head| head.strip_suffix('.'));
        base.filter(|base| SUFFIXED_GROUPS.contains(base)).unwrap_or(group)
    }

    /// The group of this profile for a group name of the other profile in a request: in `svc`,
    /// `meta.k8s.io` means `meta.svc.io`. `None` when the name is no such alias.
    pub fn edge_group(&self, asked: &str) -> Option<String> {
        if self.naming == Naming::Kubernetes {
            return None;
        }
        let other = table::KUBERNETES.neutral(asked);
        (other.len() != asked.len()).then(|| self.group(other))
    }

    /// The annotations that mark the end of a watch's initial events (KEP-3157). Kubernetes clients
    /// only know that of their profile, so for them both are set.
    pub fn initial_events_end(&self, for_kubernetes: bool) -> &'static [&'static str] {
        const BOTH: &[&str] = &[
            table::KUBERNETES.annotation_initial_events_end,
            table::SVC.annotation_initial_events_end,
        ];
        match (self.naming, for_kubernetes) {
            (Naming::Kubernetes, _) => &BOTH[..1],
            (Naming::Svc, false) => &BOTH[1..],
            (Naming::Svc, true) => BOTH,
        }
    }

    /// `apiVersion` of Status, Table and metadata-only bodies: `meta.svc.io/v1`.
    pub fn meta_api_version(&self) -> String {
        format!("{}/v1", self.group_meta)
    }

    /// Whether `media_type` (without parameters) is protobuf, under this profile's name or its edge
    /// alias.
    pub fn is_protobuf(&self, media_type: &str) -> bool {
        self.protobuf_media_type(media_type).is_some()
    }

    /// `media_type` itself when it is protobuf, under this profile's name or its edge alias.
    pub fn protobuf_media_type(&self, media_type: &str) -> Option<&'static str> {
        [self.media_protobuf, table::KUBERNETES.media_protobuf]
            .into_iter()
            .find(|name| *name == media_type)
    }

    /// An OpenAPI extension, given its neutral name: `list-type`, `list-map-keys`, `map-type`,
    /// `int-or-string`, `preserve-unknown-fields`, `validations`, `embedded-type`,
    /// `group-version-kind`, `action`, `patch-strategy`, `patch-merge-key`, ...
    pub fn extension(&self, name: &str) -> String {
        if name == "embedded-type" {
            return self.extension_embedded.to_owned();
        }
        format!("{}{name}", self.extension_prefix)
    }

    /// A label, annotation or secret type under the profile's own domain: `tls` becomes
    /// `svc.io/tls`.
    pub fn domain_key(&self, name: &str) -> String {
        format!("{}/{name}", self.domain)
    }

    /// The key of a taint for a node condition: `not-ready` becomes `node.svc.io/not-ready`. It is
    /// in the domain, not in the group with the same first name.
    pub fn node_taint(&self, condition: &str) -> String {
        format!("node.{}", self.domain_key(condition))
    }

    /// A user extra key of the authentication domain: `pod-name`, `credential-id`, ...
    pub fn user_extra(&self, name: &str) -> String {
        format!("{}{name}", self.user_extra_prefix)
    }
}
