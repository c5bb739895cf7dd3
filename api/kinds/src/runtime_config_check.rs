//! What a runtime configuration asks for, held against the API versions that there are.
//!
//! Not here: how it is read, and what it switches (`builtin`).

use quorate_meta::{GroupVersionKind, Names};
use quorate_registry::features::Gates;
use quorate_registry::release::Release;
use quorate_registry::runtime_config::{ApiSetting, RuntimeConfig, Stability};
use quorate_schema::Graph;
use thiserror::Error;

use crate::api_versions::ApiVersion;
use crate::builtin;

/// The reason why a runtime configuration cannot be followed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UnservableApi {
    /// There is no such group.
    #[error("unknown api groups {0}")]
    Group(String),
    /// The group has no such version.
    #[error("group version {0} that has not been registered")]
    Version(String),
    /// The version has no such resource.
    #[error("runtime-config names a resource that is not known: {0}")]
    Resource(String),
    /// The release has it, and this server does not.
    #[error("runtime-config cannot switch on {0}: not implemented here")]
    NotImplemented(String),
    /// A later release than the emulated one has it.
    #[error(
        "runtime-config cannot switch on {0}: introduced in {1}, after the emulated version {2}"
    )]
    TooNew(String, Release, Release),
}

/// What the operator should know of a configuration that can be followed.
pub fn check(
    graph: &Graph,
    gates: &Gates,
    config: &RuntimeConfig,
) -> Result<Vec<String>, UnservableApi> {
    let rows = ApiVersion::all();
    let release = gates.release();
    let mut warnings = Vec::new();
    for (setting, on) in config.settings() {
        let named = rows_of(graph.names(), &rows, setting)?;
        if on {
            let what = Asked { graph, gates, release, setting };
            warnings.extend(what.check(&named)?);
        }
    }
    Ok(warnings)
}

/// The versions that a setting is about; for a stage, and for all, those of the release.
fn rows_of<'r>(
    names: &Names,
    rows: &'r [ApiVersion],
    setting: &ApiSetting,
) -> Result<Vec<&'r ApiVersion>, UnservableApi> {
    let group_of = |row: &&ApiVersion| match row.group {
        "core" => String::new(),
        group => names.group(group),
    };
    let (group, version, plural) = match setting {
        ApiSetting::All => return Ok(rows.iter().filter(|row| row.resource.is_some()).collect()),
        ApiSetting::Stability(stability) => {
            let own = |row: &&ApiVersion| {
                row.resource.is_some() && Stability::of(row.version) == *stability
            };
            return Ok(rows.iter().filter(own).collect());
        }
        ApiSetting::Version(group, version) => (group, version, None),
        ApiSetting::Resource(group, version, plural) => (group, version, Some(plural)),
    };
    let of_group: Vec<_> = rows.iter().filter(|row| group_of(row) == *group).collect();
    if of_group.is_empty() {
        return Err(UnservableApi::Group(group.clone()));
    }
    let of_version: Vec<_> = of_group.into_iter().filter(|row| row.version == version).collect();
    if of_version.is_empty() {
        return Err(UnservableApi::Version(format!("{group}/{version}")));
    }
    let Some(plural) = plural else { return Ok(of_version) };
    let own = |row: &&ApiVersion| row.resource == Some(plural);
    let of_resource: Vec<_> = of_version.into_iter().filter(own).collect();
    if of_resource.is_empty() {
        return Err(UnservableApi::Resource(setting.to_string()));
    }
    Ok(of_resource)
}

/// A setting that switches on.
struct Asked<'a> {
    graph: &'a Graph,
    gates: &'a Gates,
    release: Release,
    setting: &'a ApiSetting,
}

impl Asked<'_> {
    fn check(&self, rows: &[&ApiVersion]) -> Result<Option<String>, UnservableApi> {
        let names = |rows: &[&ApiVersion]| {
            let names = rows.iter().map(|row| {
                let what = row.resource.unwrap_or(row.kind);
                format!("{}/{what}", row.version)
            });
            names.collect::<Vec<_>>().join(", ")
        };
        let setting = self.setting;
        let in_release: Vec<_> =
            rows.iter().filter(|row| row.is_in(self.release)).copied().collect();
        let (here, absent): (Vec<&ApiVersion>, Vec<&ApiVersion>) =
            in_release.iter().copied().partition(|row| self.is_implemented(row));
        let is_general = matches!(setting, ApiSetting::All | ApiSetting::Stability(_));
        if in_release.is_empty() && !is_general {
            let introduced = rows.iter().filter_map(|row| row.introduced).min();
            if let Some(introduced) = introduced.filter(|introduced| *introduced > self.release) {
                return Err(UnservableApi::TooNew(setting.to_string(), introduced, self.release));
            }
            let removed = rows.iter().filter_map(|row| row.removed).max();
            let since = removed.map_or(String::new(), |removed| format!(" since {removed}"));
            return Ok(Some(format!("runtime-config {setting}: not served any more{since}")));
        }
        if here.is_empty() && !is_general {
            return Err(UnservableApi::NotImplemented(setting.to_string()));
        }
        let gated: Vec<&ApiVersion> = here.into_iter().filter(|row| !self.has_gate(row)).collect();
        let mut told = Vec::new();
        if !absent.is_empty() {
            told.push(format!("not implemented here: {}", names(&absent)));
        }
        if !gated.is_empty() {
            told.push(format!("the feature gate is off: {}", names(&gated)));
        }
        let text = format!("runtime-config {setting} leaves out: {}", told.join("; "));
        Ok(Some(text).filter(|_| !told.is_empty()))
    }

    fn is_implemented(&self, row: &ApiVersion) -> bool {
        let group = match row.group {
            "core" => String::new(),
            group => self.graph.names().group(group),
        };
        self.graph.kind(&GroupVersionKind::new(group, row.version, row.kind)).is_some()
    }

    fn has_gate(&self, row: &ApiVersion) -> bool {
        builtin::gate_of(row.group, row.kind).is_none_or(|feature| self.gates.has(feature))
    }
}

#[cfg(test)]
mod tests {
    use quorate_meta::Naming;
    use quorate_registry::features::GateSettings;

    use super::*;

    #[track_caller]
    fn check_with(gates: &str, release: &str, config: &str, expect: Result<&[&str], &str>) {
        let graph = Graph::builtin(Naming::Svc.names());
        let settings: GateSettings = gates.parse().unwrap();
        let gates = settings.resolve(release.parse().unwrap()).unwrap().gates;
        let told = super::check(&graph, &gates, &config.parse().unwrap());
        let expect = expect.map(|told| told.iter().map(|text| (*text).to_owned()).collect());
        assert_eq!(
            told.map_err(|error| error.to_string()),
            expect.map_err(str::to_owned),
            "{config}"
        );
    }

    #[track_caller]
    fn check(config: &str, expect: Result<&[&str], &str>) {
        check_with("", "1.35", config, expect);
    }

    #[test]
    fn what_there_is() {
        check("", Ok(&[]));
        check(
            "batch/v1=false,v1/pods=false,autoscaling/v2/horizontalpodautoscalers=false",
            Ok(&[]),
        );
        check("api/ga,api/all=false", Ok(&[]));
        check_with(
            "MutatingAdmissionPolicy=true",
            "1.35",
            "admissionregistration.svc.io/v1beta1/mutatingadmissionpolicies",
            Ok(&[]),
        );
    }

    #[test]
    fn what_there_is_not() {
        check("flights.svc.io/v1", Err("unknown api groups flights.svc.io"));
        // The name of the other profile.
        check("storage.k8s.io/v1=false", Err("unknown api groups storage.k8s.io"));
        check("batch/v3", Err("group version batch/v3 that has not been registered"));
        check(
            "batch/v1/jets=false",
            Err("runtime-config names a resource that is not known: batch/v1/jets"),
        );
        for api in [
            "resource.svc.io/v1beta1",
            "resource.svc.io/v1beta2/resourceclaims",
            "storagemigration.svc.io/v1beta1",
        ] {
            let expect = format!("runtime-config cannot switch on {api}: not implemented here");
            check(api, Err(&expect));
            check(&format!("{api}=false"), Ok(&[]));
        }
        check(
            "extensions/v1beta1",
            Ok(&["runtime-config extensions/v1beta1: not served any more since 1.22"]),
        );
        check_with(
            "",
            "1.33",
            "admissionregistration.svc.io/v1beta1/mutatingadmissionpolicies",
            Err(
                "runtime-config cannot switch on admissionregistration.svc.io/v1beta1/mutatingadmissionpolicies: introduced in 1.34, after the emulated version 1.33",
            ),
        );
    }

    #[test]
    fn what_is_left_out_is_named() {
        check(
            "certificates.svc.io/v1beta1",
            Ok(&[
                "runtime-config certificates.svc.io/v1beta1 leaves out: not implemented here: v1beta1/podcertificaterequests",
            ]),
        );
        check(
            "admissionregistration.svc.io/v1beta1",
            Ok(&[
                "runtime-config admissionregistration.svc.io/v1beta1 leaves out: the feature gate is off: v1beta1/mutatingadmissionpolicies, v1beta1/mutatingadmissionpolicybindings",
            ]),
        );
        let told = super::check(
            &Graph::builtin(Naming::Svc.names()),
            &Gates::default(),
            &"api/alpha".parse().unwrap(),
        );
        let [told] = &*told.unwrap() else { panic!("one line") };
        for name in ["v1alpha2/leasecandidates", "v1alpha1/storageversions", "v1alpha1/workloads"] {
            assert!(told.contains(name), "{told}");
        }
    }
}
