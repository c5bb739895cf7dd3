//! Which metrics an operator wants to see, and which values of their labels.
//!
//! Invariant: hidden metrics can be shown for the release before this one only, so that the option
//! is given anew, and thought of, with each release.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use quorate_registry::release::Release;
use thiserror::Error;

use crate::table::MetricRow;

/// The choices of an operator.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MetricsOptions {
    show_hidden: bool,
    disabled: BTreeSet<String>,
    allowed: Vec<AllowedLabels>,
}

/// The values that one label of one metric may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedLabels {
    metric: String,
    label: String,
    values: BTreeSet<String>,
}

/// An option that cannot be followed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum OptionsError {
    /// Hidden metrics of another release than the last one.
    #[error(
        "--show-hidden-metrics-for-version must be omitted or have the value '{0}'. Only the previous minor version is allowed"
    )]
    OtherRelease(Release),
    /// A name that no metric can have.
    #[error("--disabled-metrics must be names of metrics, and {0:?} is none")]
    NoMetricName(String),
    /// A text that does not say metric, label and values.
    #[error(
        "--allow-metric-labels must have the form METRIC,LABEL=VALUE,VALUE,..., and {0:?} has not"
    )]
    NoAllowedLabels(String),
}

impl MetricsOptions {
    /// What the options come to.
    ///
    /// # Errors
    /// Names the option that cannot be followed.
    pub fn new(
        show_hidden_for: &str,
        disabled: &[String],
        allowed: Vec<AllowedLabels>,
    ) -> Result<Self, OptionsError> {
        let previous = Release::new(Release::CURRENT.major, Release::CURRENT.minor - 1);
        let show_hidden = match show_hidden_for {
            "" => false,
            text if text == previous.to_string() => true,
            _ => return Err(OptionsError::OtherRelease(previous)),
        };
        if let Some(wrong) = disabled.iter().find(|name| !is_name(name, true)) {
            return Err(OptionsError::NoMetricName(wrong.clone()));
        }
        Ok(Self { show_hidden, disabled: disabled.iter().cloned().collect(), allowed })
    }

    /// Whether hidden metrics are shown.
    pub(crate) fn shows_hidden(&self) -> bool {
        self.show_hidden
    }

    /// Whether a metric is switched off.
    pub(crate) fn disables(&self, name: &str) -> bool {
        self.disabled.contains(name)
    }

    /// The labels of a metric, by their place, that may have some values only.
    pub(crate) fn allowed(&self, row: &MetricRow) -> Vec<(usize, BTreeSet<String>)> {
        let mut found: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
        for allowed in self.allowed.iter().filter(|allowed| allowed.metric == row.name) {
            if let Some(place) = row.labels.iter().position(|label| *label == allowed.label) {
                found.entry(place).or_default().extend(allowed.values.iter().cloned());
            }
        }
        found.into_iter().collect()
    }
}

impl AllowedLabels {
    /// From the key `METRIC,LABEL` and the values, separated by commas.
    ///
    /// # Errors
    /// The key is none.
    pub fn of(key: &str, values: &str) -> Result<Self, OptionsError> {
        let wrong = || OptionsError::NoAllowedLabels(format!("{key}={values}"));
        let (metric, label) = key.split_once(',').ok_or_else(wrong)?;
        if !is_name(metric, true) || !is_name(label, false) {
            return Err(wrong());
        }
        let values =
            values.trim_matches(['\'', '"']).split(',').map(|value| value.trim().to_owned());
        Ok(Self { metric: metric.to_owned(), label: label.to_owned(), values: values.collect() })
    }
}

impl FromStr for AllowedLabels {
    type Err = OptionsError;

    fn from_str(text: &str) -> Result<Self, OptionsError> {
        let (key, values) =
            text.split_once('=').ok_or_else(|| OptionsError::NoAllowedLabels(text.to_owned()))?;
        Self::of(key, values)
    }
}

impl std::fmt::Display for AllowedLabels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let values = self.values.iter().cloned().collect::<Vec<_>>().join(",");
        write!(f, "{},{}={values}", self.metric, self.label)
    }
}

/// Whether a text can be the name of a metric, or of a label.
fn is_name(text: &str, of_metric: bool) -> bool {
    let fits =
        |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || (of_metric && byte == b':');
    text.bytes().all(fits) && text.bytes().next().is_some_and(|first| !first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_checked() {
        let check = |show: &str, disabled: &[&str], expect: Result<bool, &str>| {
            let disabled: Vec<String> = disabled.iter().map(|&name| name.to_owned()).collect();
            let found = MetricsOptions::new(show, &disabled, Vec::new());
            let found =
                found.map(|options| options.shows_hidden()).map_err(|error| error.to_string());
            assert_eq!(found, expect.map_err(str::to_owned), "{show} {disabled:?}");
        };
        check("", &[], Ok(false));
        check("1.34", &["a:b_2"], Ok(true));
        let why = "--show-hidden-metrics-for-version must be omitted or have the value '1.34'. Only the previous minor version is allowed";
        for other in ["1.33", "1.35", "v1.34", "1.34.0", "x"] {
            check(other, &[], Err(why));
        }
        check(
            "",
            &["a", "b-c"],
            Err("--disabled-metrics must be names of metrics, and \"b-c\" is none"),
        );
        check("", &[""], Err("--disabled-metrics must be names of metrics, and \"\" is none"));
        check("", &["1a"], Err("--disabled-metrics must be names of metrics, and \"1a\" is none"));
    }

    #[test]
    fn allowed_labels_are_read() {
        let check = |text: &str, expect: Option<&str>| {
            let found = text.parse::<AllowedLabels>().ok().map(|allowed| allowed.to_string());
            assert_eq!(found.as_deref(), expect, "{text}");
        };
        check("m,l=a,b", Some("m,l=a,b"));
        check("m:x,l='b, a'", Some("m:x,l=a,b"));
        check("m,l=", Some("m,l="));
        for wrong in ["", "m", "m,l", "m=l", ",l=a", "m,=a", "m-n,l=a", "m,l:x=a", "m,1=a"] {
            check(wrong, None);
        }
    }
}
