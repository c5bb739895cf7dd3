//! What is counted of evaluations.
//!
//! A version that is newer than the release counts as `future`: clients choose among few values.

use quorate_registry::release::Release;
use quorate_registry::{AdmissionOperation, Attributes};

use super::level::{Standard, Version};
use crate::metrics::{PodSecurityResult, PodSecurityTarget};
use crate::snapshot_view::SnapshotView;

/// The write whose evaluations are counted.
pub(super) struct CountedEvaluation<'c> {
    pub(super) view: &'c SnapshotView<'c>,
    pub(super) attributes: &'c Attributes<'c>,
    /// `pod` or `controller`.
    pub(super) resource: &'static str,
}

impl CountedEvaluation<'_> {
    /// A standard was evaluated in a mode.
    pub(super) fn evaluated(&self, mode: &'static str, standard: Standard, allows: bool) {
        let version = match standard.version {
            Version::Minor(minor) if minor > i64::from(Release::CURRENT.minor) => {
                "future".to_owned()
            }
            version => version.to_string(),
        };
        self.view.metrics.pod_security_evaluated(&PodSecurityResult {
            mode,
            level: standard.level.as_str(),
            version: &version,
            allows,
            target: target(self.attributes, self.resource),
        });
    }
}

/// The standards of a namespace could not be read.
pub(super) fn failed(
    view: &SnapshotView<'_>,
    attributes: &Attributes<'_>,
    resource: &'static str,
    is_refused: bool,
) {
    view.metrics.pod_security_failed(&target(attributes, resource), is_refused);
}

fn target<'a>(attributes: &'a Attributes<'_>, resource: &'static str) -> PodSecurityTarget<'a> {
    let is_new = attributes.operation == AdmissionOperation::Create;
    let operation = if is_new { "create" } else { "update" };
    PodSecurityTarget { operation, resource, subresource: attributes.subresource }
}
