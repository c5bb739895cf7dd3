//! What the checks of a container look up in the pod around it.

use std::collections::{HashMap, HashSet};

use quorate_meta::Names;

use crate::field::Field;

/// What a volume is made of, as far as containers depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VolumeType {
    /// A claim, or the template of one.
    Claim,
    EmptyDir,
    Other,
}

/// The names that containers of a pod may refer to, and settings of the pod that bind them.
pub(super) struct PodContext<'a> {
    pub(super) names: &'a Names,
    /// The pod's volumes, by name.
    pub(super) volumes: HashMap<String, VolumeType>,
    /// The names of the pod's resource claims.
    pub(super) claims: HashSet<String>,
    /// Whether the pod has the users of the host.
    pub(super) host_users: bool,
    /// Whether the pod never restarts.
    pub(super) never_restarts: bool,
}

impl<'a> PodContext<'a> {
    /// The context of a specification; `further` are names of claims that its pods get as volumes.
    pub(super) fn of(names: &'a Names, spec: &Field<'_>, further: Vec<&str>) -> Self {
        let (volumes, claims) = (spec.get("volumes"), spec.get("resourceClaims"));
        let volumes = volumes.items().map(|volume| {
            let is = |field: &str| volume.get(field).is_set();
            let kind = if is("persistentVolumeClaim") || is("ephemeral") {
                VolumeType::Claim
            } else if is("emptyDir") {
                VolumeType::EmptyDir
            } else {
                VolumeType::Other
            };
            (volume.get("name").text().to_owned(), kind)
        });
        let further = further.into_iter().map(|name| (name.to_owned(), VolumeType::Claim));
        Self {
            names,
            volumes: volumes.chain(further).collect(),
            claims: claims.items().map(|claim| claim.get("name").text().to_owned()).collect(),
            host_users: spec.get("hostUsers").value().as_bool() != Some(false),
            never_restarts: spec.get("restartPolicy").text() == "Never",
        }
    }
}
