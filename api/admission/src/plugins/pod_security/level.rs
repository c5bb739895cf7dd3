//! Pod Security levels, their versions and modes, as the labels of a namespace set them.
//!
//! Invariants: an invalid level counts as `restricted` in the mode `enforce` and as `privileged` in
//! `warn` and `audit`; an invalid version counts as `latest`.
//!
//! Not here: what a level forbids ([`super::checks`]).

use std::fmt;

use quorate_meta::{Cause, Names, Path, Value};

const NOT_A_LEVEL: &str = "must be one of privileged, baseline, restricted";
const NOT_A_VERSION: &str = "must be \"latest\" or \"v1.x\"";
/// The suffix of a mode's label that sets its version.
const OF_VERSION: &str = "-version";
/// The modes in the order in which they are read, each with the level that replaces an invalid one.
const MODES: [(&str, Level); 3] =
    [("enforce", Level::Restricted), ("audit", Level::Privileged), ("warn", Level::Privileged)];

/// A level of the Pod Security Standards, from the least strict upwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// `privileged`: nothing is forbidden.
    Privileged,
    /// `baseline`: known privilege escalations are forbidden.
    Baseline,
    /// `restricted`: pods are hardened by current best practice.
    Restricted,
}

impl Level {
    fn parse(text: &str) -> Option<Self> {
        [Self::Privileged, Self::Baseline, Self::Restricted]
            .into_iter()
            .find(|level| level.as_str() == text)
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Privileged => "privileged",
            Self::Baseline => "baseline",
            Self::Restricted => "restricted",
        }
    }
}

/// The version of the Pod Security Standards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    /// `latest`.
    Latest,
    /// `v1.N`; a future minor release counts as `latest`.
    Minor(i64),
}

impl Version {
    fn parse(text: &str) -> Option<Self> {
        if text == "latest" {
            return Some(Self::Latest);
        }
        let digits = text.strip_prefix("v1.")?;
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit())
            && (digits == "0" || !digits.starts_with('0'));
        digits.parse::<i64>().ok().filter(|_| plain).map(Self::Minor)
    }

    /// Whether a rule of a minor release is part of this version.
    pub(super) fn has(self, minor: i64) -> bool {
        match self {
            Self::Latest => true,
            Self::Minor(own) => own >= minor,
        }
    }
}

/// A level in one of its versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Standard {
    pub(super) level: Level,
    pub(super) version: Version,
}

impl Standard {
    const NONE: Self = Self { level: Level::Privileged, version: Version::Latest };

    /// Whether a pod that meets the other standard may violate this one.
    pub(super) fn may_forbid_more_than(self, other: Self) -> bool {
        let relaxed = self.version == other.version && self.level <= other.level;
        self.level != Level::Privileged && !relaxed
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latest => f.write_str("latest"),
            Self::Minor(minor) => write!(f, "v1.{minor}"),
        }
    }
}

impl fmt::Display for Standard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.level.as_str(), self.version)
    }
}

/// The standards that a namespace sets for its pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Policy {
    /// The mode `enforce`: pods that violate it are refused.
    pub(super) enforce: Standard,
    /// The mode `warn`: clients get warnings; the enforced standard, unless a label sets another.
    pub(super) warn: Standard,
}

impl Policy {
    /// The policy of a namespace without labels.
    pub(super) const NONE: Self = Self { enforce: Standard::NONE, warn: Standard::NONE };

    /// The policy in the labels of a namespace, and what is wrong with the labels.
    pub(super) fn of<'l>(
        names: &Names,
        labels: impl Iterator<Item = (&'l str, &'l str)>,
    ) -> (Self, Vec<Cause>) {
        let mut said = [[None; 2]; MODES.len()];
        for (key, value) in labels {
            if let Some((mode, of_version)) = parse_key(names, key) {
                said[mode][usize::from(of_version)] = Some(value);
            }
        }
        let mut wrong = Vec::new();
        let [enforce, _, mut warn] =
            [0, 1, 2].map(|mode| read(names, MODES[mode], said[mode], &mut wrong));
        let [[level, _], _, [level_of_warnings, version_of_warnings]] = said;
        // A client that creates a workload is warned of what will be refused of its pods.
        if level_of_warnings.is_none()
            && level.and_then(Level::parse).is_some_and(|level| level > warn.level)
        {
            warn.level = enforce.level;
            if version_of_warnings.is_none() {
                warn.version = enforce.version;
            }
        }
        (Self { enforce, warn }, wrong)
    }

    /// The policy in the labels of a namespace object.
    pub(super) fn of_object(names: &Names, namespace: &Value) -> (Self, Vec<Cause>) {
        let labels = namespace.at(&["metadata", "labels"]).and_then(Value::as_map);
        let labels = labels.into_iter().flat_map(|map| map.iter());
        Self::of(names, labels.filter_map(|(key, value)| Some((key, value.as_str()?))))
    }
}

/// The mode that a label sets, and whether the label is the one of its version.
fn parse_key(names: &Names, key: &str) -> Option<(usize, bool)> {
    let rest = key.strip_prefix("pod-security.")?.strip_prefix(names.domain)?.strip_prefix('/')?;
    let mode = rest.strip_suffix(OF_VERSION);
    let at = MODES.iter().position(|(name, _)| *name == mode.unwrap_or(rest))?;
    Some((at, mode.is_some()))
}

/// The standard of one mode from its two labels.
fn read(
    names: &Names,
    mode: (&str, Level),
    said: [Option<&str>; 2],
    wrong: &mut Vec<Cause>,
) -> Standard {
    let mut refuse = |key_end: &str, value: &str, why: &str| {
        let key = format!("pod-security.{}/{}{key_end}", names.domain, mode.0);
        wrong.push(Cause::invalid(Path::new("metadata.labels").key(&key), value, why));
    };
    let [level, version] = said;
    let mut standard = Standard::NONE;
    if let Some(text) = level {
        standard.level = Level::parse(text).unwrap_or_else(|| {
            refuse("", text, NOT_A_LEVEL);
            mode.1
        });
    }
    if let Some(text) = version {
        standard.version = Version::parse(text).unwrap_or_else(|| {
            refuse(OF_VERSION, text, NOT_A_VERSION);
            Version::Latest
        });
    }
    standard
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Naming;
    use serde_json::json;

    fn policy(labels: serde_json::Value) -> (Policy, Vec<Cause>) {
        Policy::of_object(Naming::Svc.names(), &json!({"metadata": {"labels": labels}}).into())
    }

    #[test]
    fn labels() {
        let check = |labels: serde_json::Value, enforce: &str, warn: &str| {
            let (policy, wrong) = policy(labels);
            assert_eq!(
                (policy.enforce.to_string(), policy.warn.to_string()),
                (enforce.to_owned(), warn.to_owned())
            );
            assert!(wrong.is_empty(), "{wrong:?}");
        };
        let nothing = "privileged:latest";
        check(json!(null), nothing, nothing);
        check(json!({"a": "b", "pod-security.kubernetes.io/enforce": "odd"}), nothing, nothing);
        check(
            json!({"pod-security.svc.io/enforce": "baseline"}),
            "baseline:latest",
            "baseline:latest",
        );
        let old = json!({"pod-security.svc.io/enforce": "restricted", "pod-security.svc.io/enforce-version": "v1.20"});
        check(old.clone(), "restricted:v1.20", "restricted:v1.20");
        let mut told = old;
        told["pod-security.svc.io/warn-version"] = json!("v1.30");
        check(told, "restricted:v1.20", "restricted:v1.30");
        let silent = json!({"pod-security.svc.io/enforce": "baseline", "pod-security.svc.io/warn": "privileged"});
        check(silent, "baseline:latest", nothing);
        check(
            json!({"pod-security.svc.io/enforce": "restricted", "pod-security.svc.io/enforce-version": "v1.0",
                "pod-security.svc.io/warn": "baseline", "pod-security.svc.io/warn-version": "latest"}),
            "restricted:v1.0",
            "baseline:latest",
        );
        check(json!({"pod-security.svc.io/audit": "restricted"}), nothing, nothing);
        check(json!({"pod-security.svc.io/enforce-version": "v1.99"}), "privileged:v1.99", nothing);
    }

    #[test]
    fn labels_of_the_other_profile() {
        let labels = [
            ("pod-security.kubernetes.io/enforce", "baseline"),
            ("pod-security.svc.io/warn", "baseline"),
        ];
        let (policy, wrong) = Policy::of(Naming::Kubernetes.names(), labels.into_iter());
        assert_eq!(
            (policy.enforce.level, policy.warn.level, wrong),
            (Level::Baseline, Level::Baseline, Vec::new())
        );
        let labels = [("pod-security.svc.io/warn", "baseline")];
        assert_eq!(Policy::of(Naming::Kubernetes.names(), labels.into_iter()).0, Policy::NONE);
    }

    #[test]
    fn labels_that_cannot_be_read() {
        let check = |labels: serde_json::Value, enforce: &str, warn: &str, expect: &[&str]| {
            let (policy, wrong) = policy(labels);
            assert_eq!(
                (policy.enforce.to_string(), policy.warn.to_string()),
                (enforce.to_owned(), warn.to_owned())
            );
            assert_eq!(wrong.iter().map(Cause::text).collect::<Vec<_>>(), expect);
        };
        let nothing = "privileged:latest";
        let level = r#"Invalid value: "odd": must be one of privileged, baseline, restricted"#;
        let version = r#"Invalid value: "odd": must be "latest" or "v1.x""#;
        let of =
            |key: &str, why: &str| format!("metadata.labels[pod-security.svc.io/{key}]: {why}");
        let wrong = of("enforce", level);
        check(
            json!({"pod-security.svc.io/enforce": "odd"}),
            "restricted:latest",
            nothing,
            &[wrong.as_str()],
        );
        let all = json!({"pod-security.svc.io/audit": "odd", "pod-security.svc.io/audit-version": "odd",
            "pod-security.svc.io/enforce": "baseline", "pod-security.svc.io/enforce-version": "odd",
            "pod-security.svc.io/warn": "odd", "pod-security.svc.io/warn-version": "odd"});
        let wrong = [
            of("enforce-version", version),
            of("audit", level),
            of("audit-version", version),
            of("warn", level),
            of("warn-version", version),
        ];
        check(all, "baseline:latest", nothing, &wrong.each_ref().map(String::as_str));
    }

    #[test]
    fn versions() {
        let check = |text: &str, expect: Option<Version>| {
            assert_eq!(Version::parse(text), expect, "{text}")
        };
        check("latest", Some(Version::Latest));
        for (text, minor) in [("v1.0", 0), ("v1.7", 7), ("v1.35", 35), ("v1.1000", 1000)] {
            check(text, Some(Version::Minor(minor)));
        }
        for text in [
            "",
            "v1",
            "v1.",
            "1.2",
            "v2.0",
            "v1.07",
            "v1.+7",
            "v1.-7",
            "v1.7.0",
            "Latest",
            "v1.99999999999999999999",
        ] {
            check(text, None);
        }
        assert!(
            Version::Minor(7).has(7) && !Version::Minor(7).has(8) && Version::Latest.has(i64::MAX)
        );
    }

    #[test]
    fn what_may_forbid_more() {
        let standard = |text: &str| {
            let (level, version) = text.split_once(':').unwrap();
            Standard {
                level: Level::parse(level).unwrap(),
                version: Version::parse(version).unwrap(),
            }
        };
        let check = |new: &str, old: &str, expect: bool| {
            assert_eq!(standard(new).may_forbid_more_than(standard(old)), expect, "{new} {old}");
        };
        check("baseline:latest", "privileged:latest", true);
        check("baseline:latest", "baseline:latest", false);
        check("baseline:latest", "restricted:latest", false);
        check("baseline:latest", "restricted:v1.30", true);
        check("baseline:v1.30", "baseline:latest", true);
        check("privileged:v1.30", "privileged:latest", false);
    }
}
