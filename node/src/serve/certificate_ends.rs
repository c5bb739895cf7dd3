//! What a node tells of the ends of its certificates: two metrics for each, and a line of the log a
//! day for one whose last tenth has begun.
//!
//! Invariant: what is told is what the files hold now. A certificate that the node renews gets here
//! only where that fails; one of another authority, and an authority, when an operator has to act.

use std::collections::BTreeMap;
use std::sync::Arc;

use quorate_metrics::Registry;
use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime};

use super::Parts;
use crate::cli::Tuning;
use crate::pki::{CertificateFile, Validity};

/// How often the same end is told.
const REPEAT: Duration = Duration::days(1);

/// The files with certificates that a node uses.
fn files(parts: &Parts, tuning: &Tuning) -> Arc<[CertificateFile]> {
    let mut files = CertificateFile::of_folder(&parts.dir.pki());
    let proxies = parts.proxies.clone();
    files.extend(proxies.map(|path| CertificateFile::authority("requestheader-client-ca", path)));
    let shown = tuning.kubelets.kubelet_client_certificate.clone();
    files.extend(shown.map(|path| CertificateFile::chain("kubelet-client", path)));
    let trusted = tuning.kubelets.kubelet_certificate_authority.clone();
    files.extend(trusted.map(|path| CertificateFile::authority("kubelet-ca", path)));
    files.into()
}

/// Observes them, and returns them.
pub(super) fn observe(
    registry: &Registry,
    parts: &Parts,
    tuning: &Tuning,
) -> Arc<[CertificateFile]> {
    let files = files(parts, tuning);
    let observe = |name: &str, value: fn(Validity) -> i64| {
        let files = files.clone();
        registry.observe(name, move |to| {
            for file in &*files {
                if let Some(life) = file.validity() {
                    to.add(&[file.name], value(life) as f64);
                }
            }
        });
    };
    observe("quorate_certificate_not_before_timestamp_seconds", |life| life.start);
    observe("quorate_certificate_not_after_timestamp_seconds", |life| life.end);
    files
}

/// Which ends were told, and when.
#[derive(Debug, Default)]
pub(super) struct EndWarnings(BTreeMap<&'static str, (Validity, OffsetDateTime)>);

impl EndWarnings {
    /// Logs the ends that are near and were not told within [`REPEAT`].
    pub(super) fn tell(&mut self, files: &[CertificateFile], now: OffsetDateTime) {
        for file in files {
            let Some(life) = file.validity() else { continue };
            if !self.is_to_be_told(file.name, life, now) {
                continue;
            }
            let (name, ends) = (file.name, life.end().format(&Rfc3339).unwrap_or_default());
            match life.end() > now {
                true => tracing::warn!(name, ends, "the certificate ends soon"),
                false => tracing::error!(name, ends, "the certificate has ended"),
            }
        }
    }

    fn is_to_be_told(&mut self, name: &'static str, life: Validity, now: OffsetDateTime) -> bool {
        if !life.ends_soon(now) {
            self.0.remove(name);
            return false;
        }
        let told = self.0.get(name);
        let is_told = told.is_some_and(|(of, at)| *of == life && now - *at < REPEAT);
        if !is_told {
            self.0.insert(name, (life, now));
        }
        !is_told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_told_once_a_day_until_there_is_another_certificate() {
        let day = |days: i64| OffsetDateTime::UNIX_EPOCH + Duration::days(days);
        let life = |days: i64| Validity { start: 0, end: days * 86_400 };
        let mut warnings = EndWarnings::default();
        let mut check = |life: Validity, now: OffsetDateTime, expect: bool| {
            assert_eq!(warnings.is_to_be_told("server", life, now), expect, "{life:?} {now}");
        };
        check(life(100), day(80), false);
        check(life(100), day(91), true);
        check(life(100), day(91) + Duration::hours(23), false);
        check(life(100), day(92), true);
        check(life(95), day(92), true);
        check(life(1000), day(92), false);
        check(life(95), day(92), true);
    }
}
