//! VolumeAttachment: the intent and state of attaching a volume to a node.

use quorate_meta::{Cause, Map, Names, Value, name};

use crate::core::check_inline_volume;
use crate::field::Field;
use crate::rules;
use quorate_registry::{Part, Strategy};

/// Bytes of an attach or detach error, at most.
const MAX_MESSAGE: usize = 1024;
/// Bytes of the attachment metadata, at most.
const MAX_METADATA: usize = 262_144;
const ONE_SOURCE: &str = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";

/// The strategy of VolumeAttachment.
#[derive(Debug)]
pub(super) struct VolumeAttachment;

impl Strategy for VolumeAttachment {
    fn checks_structure(&self) -> bool {
        false
    }

    fn unconditional_update(&self) -> bool {
        false
    }

    fn has_status(&self) -> bool {
        true
    }

    fn status_keeps_metadata(&self) -> bool {
        true
    }

    fn prepare_create(&self, _: &Names, object: &mut Value) {
        object.set_at(&["status"], Map::from([("attached", false)]));
    }

    fn validate(&self, _: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let (spec, status) = (Field::root(object).get("spec"), Field::root(object).get("status"));
        rules::csi_driver_name(&spec.get("attacher"), &mut causes);
        let node = spec.get("nodeName");
        let wrong = name::dns_subdomain(node.text());
        causes.extend(wrong.iter().map(|why| Cause::invalid(node.path(), node.text(), why)));
        let source = spec.get("source");
        let (volume, inline) = (source.get("persistentVolumeName"), source.get("inlineVolumeSpec"));
        match (volume.is_set(), inline.is_set()) {
            (false, false) => causes.push(source.required(ONE_SOURCE)),
            (true, true) => causes.push(source.forbidden(ONE_SOURCE)),
            (true, false) => rules::name(&volume, name::dns_subdomain, &mut causes),
            (false, true) => check_inline_volume(&inline, &mut causes),
        }
        for field in ["attachError", "detachError"] {
            let message = status.get(field).get("message");
            if message.text().len() > MAX_MESSAGE {
                // Kubernetes reports the limit of the metadata here.
                causes.push(Cause::too_long(message.path(), MAX_METADATA));
            }
        }
        let metadata = status.get("attachmentMetadata");
        if metadata.entries().map(|(key, value)| key.len() + value.text().len()).sum::<usize>()
            > MAX_METADATA
        {
            causes.push(Cause::too_long(metadata.path(), MAX_METADATA));
        }
        causes
    }

    fn validate_update(&self, _: &Names, _: Part, old: &Value, new: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        rules::immutable(&Field::root(old).get("spec"), &Field::root(new).get("spec"), &mut causes);
        causes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::{patched, shown};
    use quorate_meta::Naming;
    use serde_json::{Value as Json, json};

    fn attachment() -> Json {
        json!({"spec": {"attacher": "x.example.com", "nodeName": "n", "source": {"persistentVolumeName": "v"}}, "status": {"attached": true}})
    }

    #[test]
    fn attachments() {
        let check = |pointer: &str, value: Json, expect: &[&str]| {
            let object = patched(&attachment(), &[(pointer, value)]);
            assert_eq!(
                shown(&VolumeAttachment.validate(Naming::Svc.names(), &object)),
                expect,
                "{pointer}"
            );
        };
        check("/status/attached", json!(false), &[]);
        check("/spec/attacher", json!(""), &["Required spec.attacher"]);
        check("/spec/attacher", json!("A b"), &["Invalid spec.attacher"]);
        check("/spec/nodeName", json!(""), &["Invalid spec.nodeName"]);
        check("/spec/source", json!({}), &["Required spec.source"]);
        check("/spec/source/inlineVolumeSpec", json!({"csi": {}}), &["Forbidden spec.source"]);
        let inline =
            json!({"csi": {"driver": "d", "volumeHandle": "h"}, "accessModes": ["ReadWriteOnce"]});
        check("/spec/source", json!({"inlineVolumeSpec": inline.clone()}), &[]);
        check("/spec/source/inlineVolumeSpec", inline, &["Forbidden spec.source"]);
        const AT: &str = "spec.source.inlineVolumeSpec";
        check(
            "/spec/source",
            json!({"inlineVolumeSpec": {}}),
            &[
                &format!("Required {AT}.csi"),
                &format!("Required {AT}.accessModes"),
                &format!("Required {AT}"),
            ],
        );
        let metadata = |bytes: usize| json!({"k": "v".repeat(bytes)});
        check("/status/attachmentMetadata", metadata(262_143), &[]);
        check(
            "/status/attachmentMetadata",
            metadata(262_144),
            &["TooLong status.attachmentMetadata"],
        );
        let error = |bytes: usize| json!({"message": "m".repeat(bytes)});
        check("/status/attachError", error(1024), &[]);
        check("/status/detachError", error(1025), &["TooLong status.detachError.message"]);
    }

    #[test]
    fn the_spec_stays_and_the_driver_writes_the_status() {
        let names = Naming::Svc.names();
        let mut object = attachment().into();
        VolumeAttachment.prepare_create(names, &mut object);
        assert_eq!(object.get("status"), Some(&json!({"attached": false}).into()));
        let other = patched(&attachment(), &[("/spec/nodeName", json!("other"))]);
        let change =
            |part| VolumeAttachment.validate_update(names, part, &attachment().into(), &other);
        assert_eq!(shown(&change(Part::Main)), ["Invalid spec"]);
        let mut new = other.clone();
        VolumeAttachment.prepare_update(names, Part::Status, &object, &mut new);
        assert_eq!((new.get("spec"), new.get("status")), (object.get("spec"), other.get("status")));
    }
}
