//! The runtime configuration: which versions and resources of the API an operator has switched on
//! or off (`--runtime-config`).
//!
//! Invariant: the most specific setting wins: a resource over its version, a version over its
//! stage, a stage over all; of two settings of one key, the later.
//!
//! Not here: which versions there are, and what is served by default.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The settings of `--runtime-config`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuntimeConfig(BTreeMap<ApiSetting, bool>);

/// What one setting is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ApiSetting {
    /// Everything: `api/all`.
    All,
    /// Every version of a stage: `api/ga`, `api/beta`, `api/alpha`.
    Stability(Stability),
    /// A group version; the core group is empty.
    Version(String, String),
    /// A resource of a group version.
    Resource(String, String, String),
}

/// The maturity of an API version, which its name tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stability {
    /// For example `v1`.
    Ga,
    /// For example `v1beta1`.
    Beta,
    /// For example `v1alpha1`.
    Alpha,
}

/// The reason why a text is no runtime configuration.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InvalidRuntimeConfig {
    /// The key is neither a stage, nor a version, nor a resource.
    #[error("runtime-config invalid key {0}")]
    Key(String),
    /// The resource of a key is not written as it is in paths.
    #[error(
        "invalid key {key}: group/version/resource and resource is always lowercase plural, not {resource:?}"
    )]
    Resource {
        /// The whole key.
        key: String,
        /// The resource in it.
        resource: String,
    },
    /// The value is neither true nor false.
    #[error("invalid value of {0}: {1}, must be true or false")]
    Value(String, String),
    /// Nothing would be served.
    #[error("invalid key with only api/all=false")]
    Nothing,
}

impl Stability {
    /// The stage of a version.
    #[must_use]
    pub fn of(version: &str) -> Self {
        if version.contains("alpha") {
            Self::Alpha
        } else if version.contains("beta") {
            Self::Beta
        } else {
            Self::Ga
        }
    }
}

impl RuntimeConfig {
    /// Whether a resource of a group version is served, when it is by default or not.
    #[must_use]
    pub fn serves(&self, group: &str, version: &str, plural: &str, default: bool) -> bool {
        let resource =
            ApiSetting::Resource(group.to_owned(), version.to_owned(), plural.to_owned());
        let keys = [
            resource,
            ApiSetting::Version(group.to_owned(), version.to_owned()),
            ApiSetting::Stability(Stability::of(version)),
            ApiSetting::All,
        ];
        keys.iter().find_map(|key| self.0.get(key)).copied().unwrap_or(default)
    }

    /// The settings of several lists together; of two of one key, that of the later list.
    pub fn merged(lists: &[Self]) -> Result<Self, InvalidRuntimeConfig> {
        let settings: BTreeMap<_, _> = lists.iter().flat_map(|list| list.0.clone()).collect();
        if settings.len() == 1 && settings.get(&ApiSetting::All) == Some(&false) {
            return Err(InvalidRuntimeConfig::Nothing);
        }
        Ok(Self(settings))
    }

    /// The settings, the general ones first.
    pub fn settings(&self) -> impl Iterator<Item = (&ApiSetting, bool)> {
        self.0.iter().map(|(key, on)| (key, *on))
    }

    /// Reads one `KEY[=VALUE]`; without a value it switches on.
    fn read(&mut self, text: &str) -> Result<(), InvalidRuntimeConfig> {
        let (key, value) = text.split_once('=').unwrap_or((text, "true"));
        let invalid = || InvalidRuntimeConfig::Value(key.to_owned(), value.to_owned());
        let on = value.parse().map_err(|_| invalid())?;
        // A name of the first releases for the versions before groups; there is none left.
        if key != "api/legacy" {
            self.0.insert(key.parse()?, on);
        }
        Ok(())
    }
}

impl FromStr for ApiSetting {
    type Err = InvalidRuntimeConfig;

    fn from_str(text: &str) -> Result<Self, InvalidRuntimeConfig> {
        let version = |group: &str, version: &str| Self::Version(group.into(), version.into());
        let parts: Vec<&str> = text.split('/').collect();
        match *parts {
            ["api", "all"] => Ok(Self::All),
            ["api", "ga"] => Ok(Self::Stability(Stability::Ga)),
            ["api", "beta"] => Ok(Self::Stability(Stability::Beta)),
            ["api", "alpha"] => Ok(Self::Stability(Stability::Alpha)),
            // The core group: its name is empty, and its path is `/api/v1`.
            ["v1"] | ["api" | "", "v1"] => Ok(version("", "v1")),
            ["v1", plural] | ["api" | "", "v1", plural] => resource(text, "", "v1", plural),
            [group, own] if !group.is_empty() && own.starts_with('v') => Ok(version(group, own)),
            [group, own, plural] if !group.is_empty() && own.starts_with('v') => {
                resource(text, group, own, plural)
            }
            _ => Err(InvalidRuntimeConfig::Key(text.to_owned())),
        }
    }
}

fn resource(
    key: &str,
    group: &str,
    version: &str,
    plural: &str,
) -> Result<ApiSetting, InvalidRuntimeConfig> {
    if plural.is_empty() || plural != plural.to_ascii_lowercase() {
        let (key, resource) = (key.to_owned(), plural.to_owned());
        return Err(InvalidRuntimeConfig::Resource { key, resource });
    }
    Ok(ApiSetting::Resource(group.into(), version.into(), plural.into()))
}

impl FromStr for RuntimeConfig {
    type Err = InvalidRuntimeConfig;

    fn from_str(text: &str) -> Result<Self, InvalidRuntimeConfig> {
        let mut config = Self::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            config.read(part)?;
        }
        Ok(config)
    }
}

impl fmt::Display for ApiSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("api/all"),
            Self::Stability(Stability::Ga) => f.write_str("api/ga"),
            Self::Stability(Stability::Beta) => f.write_str("api/beta"),
            Self::Stability(Stability::Alpha) => f.write_str("api/alpha"),
            Self::Version(group, version) => write!(f, "{group}/{version}"),
            Self::Resource(group, version, plural) => write!(f, "{group}/{version}/{plural}"),
        }
    }
}

impl fmt::Display for RuntimeConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let settings: Vec<String> = self.0.iter().map(|(key, on)| format!("{key}={on}")).collect();
        f.write_str(&settings.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Result<&str, &str>) {
        let read = text.parse::<RuntimeConfig>();
        let shown = read.map(|config| config.to_string()).map_err(|error| error.to_string());
        assert_eq!(shown, expect.map(str::to_owned).map_err(str::to_owned), "{text}");
    }

    #[test]
    fn settings_are_read_and_written() {
        check("", Ok(""));
        check("batch/v1=false", Ok("batch/v1=false"));
        check("batch/v1/jobs=false, batch/v2alpha1", Ok("batch/v2alpha1=true,batch/v1/jobs=false"));
        check("api/beta,api/all=false", Ok("api/all=false,api/beta=true"));
        check("batch/v1,batch/v1=false", Ok("batch/v1=false"));
        for core in ["v1=false", "/v1=false", "api/v1=false"] {
            check(core, Ok("/v1=false"));
        }
        check("api/v1/pods=false,v1/nodes=false", Ok("/v1/nodes=false,/v1/pods=false"));
        check("api/legacy=false", Ok(""));
        let text = "api/ga=false,batch/v1=true,batch/v1/jobs=false";
        assert_eq!(text.parse::<RuntimeConfig>().unwrap().to_string(), text);
    }

    #[test]
    fn what_is_no_setting_is_refused() {
        check("api/all=no", Err("invalid value of api/all: no, must be true or false"));
        check("batch=false", Err("runtime-config invalid key batch"));
        check("batch/1", Err("runtime-config invalid key batch/1"));
        check("a/v1/b/c", Err("runtime-config invalid key a/v1/b/c"));
        check(
            "batch/v1/Jobs",
            Err(
                "invalid key batch/v1/Jobs: group/version/resource and resource is always lowercase plural, not \"Jobs\"",
            ),
        );
    }

    #[test]
    fn lists_add_up() {
        let check = |lists: &[&str], expect: Result<&str, InvalidRuntimeConfig>| {
            let lists: Vec<RuntimeConfig> =
                lists.iter().map(|list| list.parse().unwrap()).collect();
            let merged = RuntimeConfig::merged(&lists).map(|merged| merged.to_string());
            assert_eq!(merged, expect.map(str::to_owned));
        };
        check(&[], Ok(""));
        check(&["batch/v1=false", "apps/v1=false"], Ok("apps/v1=false,batch/v1=false"));
        check(&["batch/v1=false", "batch/v1"], Ok("batch/v1=true"));
        check(&["api/all=false", "batch/v1"], Ok("api/all=false,batch/v1=true"));
        check(&["api/all=false"], Err(InvalidRuntimeConfig::Nothing));
    }

    #[test]
    fn the_most_specific_setting_wins() {
        let check = |text: &str, version: &str, plural: &str, expect: bool| {
            let config: RuntimeConfig = text.parse().unwrap();
            assert_eq!(
                config.serves("batch", version, plural, Stability::of(version) == Stability::Ga),
                expect,
                "{text}: {version} {plural}"
            );
        };
        check("", "v1", "jobs", true);
        check("", "v1beta1", "jobs", false);
        check("api/beta", "v1beta1", "jobs", true);
        check("api/beta", "v1alpha1", "jobs", false);
        check("api/all", "v1alpha1", "jobs", true);
        check("api/all=false,api/ga", "v1", "jobs", true);
        check("api/ga,batch/v1=false", "v1", "jobs", false);
        check("batch/v1=false,batch/v1/jobs", "v1", "jobs", true);
        check("batch/v1=false,batch/v1/jobs", "v1", "cronjobs", false);
        check("batch/v1/jobs=false", "v1", "cronjobs", true);
    }
}
