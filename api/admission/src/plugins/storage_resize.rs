//! Expansion of PersistentVolumeClaims: a bound claim grows only where its StorageClass allows it
//! (`allowVolumeExpansion`).
//!
//! Not here: the expansion of the volume, which is the storage driver's.

use quorate_meta::{Quantity, Value};

use super::storage_class::class_of;
use crate::plugin::Plugin;
use crate::snapshot_view::{SnapshotView, forbidden};
use quorate_registry::error::Error;
use quorate_registry::{Attributes, Terms};

/// The plugin that checks claims that grow.
pub(super) struct PersistentVolumeClaimResize;

impl Plugin for PersistentVolumeClaimResize {
    fn validate(
        &self,
        view: &SnapshotView<'_>,
        attributes: &Attributes<'_>,
        new: &Value,
        _: &mut Terms,
    ) -> Result<(), Error> {
        let Some(old) = attributes.old.filter(|old| size(new) > size(old)) else {
            return Ok(());
        };
        if old.str_at(&["status", "phase"]) != Some("Bound") {
            return Err(forbidden(
                attributes,
                "Only bound persistent volume claims can be expanded",
            ));
        }
        if !may_grow(view, old, new)? {
            let why = "only dynamically provisioned pvc can be resized and \
                       the storageclass that provisions the pvc must support resize";
            return Err(forbidden(attributes, why));
        }
        Ok(())
    }
}

fn size(claim: &Value) -> Quantity {
    let asked = claim.str_at(&["spec", "resources", "requests", "storage"]);
    asked.and_then(Quantity::parse).unwrap_or(Quantity::ZERO)
}

/// Whether the StorageClass of a claim, which must not have changed, allows expansion.
fn may_grow(view: &SnapshotView<'_>, old: &Value, new: &Value) -> Result<bool, Error> {
    let (before, name) = (class_of(view.names, old), class_of(view.names, new));
    let Some(name) = name.filter(|name| !name.is_empty() && before == Some(*name)) else {
        return Ok(false);
    };
    let Some(classes) = view.resource("storage", "v1", "storageclasses") else {
        return Ok(false);
    };
    let class = view.get(classes, None, name)?;
    Ok(class.is_some_and(|class| {
        class.at(&["allowVolumeExpansion"]).and_then(Value::as_bool) == Some(true)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sizes() {
        let claim = |size: &str| {
            Value::from(json!({"spec": {"resources": {"requests": {"storage": size}}}}))
        };
        let check = |one: &str, other: &str, grows: bool| {
            assert_eq!(size(&claim(other)) > size(&claim(one)), grows)
        };
        check("1Gi", "2Gi", true);
        check("1Gi", "1024Mi", false);
        check("2Gi", "1Gi", false);
        assert_eq!(size(&Value::Null), Quantity::ZERO);
    }
}
