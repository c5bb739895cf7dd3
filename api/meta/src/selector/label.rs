//! Label selectors as requirements that must all hold, and how they match.

use std::fmt;

use super::SelectorError;
use crate::{Cause, name};

/// The operator of a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LabelOperator {
    /// The label is there with one of the values (`=`, `==`, `in`).
    In,
    /// The label is missing or has none of the values (`!=`, `notin`).
    NotIn,
    /// The label is there.
    Exists,
    /// The label is missing (`!`).
    Missing,
    /// The label is an integer above the value (`>`).
    Above,
    /// The label is an integer below the value (`<`).
    Below,
}

/// One condition on one label.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LabelRequirement {
    key: String,
    operator: LabelOperator,
    values: Vec<String>,
    bound: i64,
}

/// Requirements that must all hold; without any, everything matches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LabelSelector {
    requirements: Vec<LabelRequirement>,
}

impl LabelSelector {
    /// A selector of the given requirements.
    pub fn new(requirements: Vec<LabelRequirement>) -> Self {
        Self { requirements }
    }

    /// Reads the text of a `labelSelector` parameter; empty text selects everything.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        super::label_parse::parse(text).map(Self::new).map_err(SelectorError)
    }

    /// Whether everything matches.
    pub fn is_everything(&self) -> bool {
        self.requirements.is_empty()
    }

    /// The requirements.
    pub fn requirements(&self) -> &[LabelRequirement] {
        &self.requirements
    }

    /// Whether labels, given as pairs with unique keys in any order, meet every requirement.
    pub fn matches<'a>(&self, labels: impl Iterator<Item = (&'a str, &'a str)> + Clone) -> bool {
        self.requirements.iter().all(|requirement| {
            let mut labels = labels.clone();
            requirement
                .holds(labels.find(|(key, _)| *key == requirement.key).map(|(_, value)| value))
        })
    }

    /// The value that the label `key` must have, when one requirement leaves only that value.
    pub fn requires_exact(&self, key: &str) -> Option<&str> {
        self.requirements.iter().find_map(|requirement| match requirement.values.as_slice() {
            [value] if requirement.operator == LabelOperator::In && requirement.key == key => {
                Some(value.as_str())
            }
            _ => None,
        })
    }
}

impl LabelRequirement {
    /// A checked requirement. `values` may come in any order: one or more for `In` and `NotIn`,
    /// none for `Exists` and `Missing`, one integer for `Above` and `Below`.
    pub fn new(
        key: &str,
        operator: LabelOperator,
        mut values: Vec<String>,
    ) -> Result<Self, SelectorError> {
        check_key(key).map_err(SelectorError)?;
        values.sort();
        values.dedup();
        let bound = check_values(operator, &values).map_err(SelectorError)?;
        for (index, value) in values.iter().enumerate() {
            if let Some(message) = name::label_value(value).first() {
                let cause = Cause::invalid(
                    format!("values[{index}][{key}]").as_str(),
                    value.as_str(),
                    message,
                );
                return Err(SelectorError(cause.text()));
            }
        }
        Ok(Self { key: key.to_owned(), operator, values, bound })
    }

    /// The key of the label.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The operator.
    pub fn operator(&self) -> LabelOperator {
        self.operator
    }

    /// The values, sorted.
    pub fn values(&self) -> &[String] {
        &self.values
    }

    /// Whether a label with this value, or its absence, meets the requirement.
    pub fn holds(&self, value: Option<&str>) -> bool {
        let listed =
            |value: &str| self.values.binary_search_by(|other| other.as_str().cmp(value)).is_ok();
        let integer = |value: &str| value.parse::<i64>().ok();
        match self.operator {
            LabelOperator::In => value.is_some_and(listed),
            LabelOperator::NotIn => !value.is_some_and(listed),
            LabelOperator::Exists => value.is_some(),
            LabelOperator::Missing => value.is_none(),
            LabelOperator::Above => value.and_then(integer).is_some_and(|value| value > self.bound),
            LabelOperator::Below => value.and_then(integer).is_some_and(|value| value < self.bound),
        }
    }
}

/// Refuses a malformed label key, with the message of Kubernetes.
pub(super) fn check_key(key: &str) -> Result<(), String> {
    match name::qualified_name(key).first() {
        None => Ok(()),
        Some(message) => Err(Cause::invalid("<nil>", key, message).text()),
    }
}

/// Checks the number of values; returns the bound of `Above` and `Below`, zero for the others.
fn check_values(operator: LabelOperator, values: &[String]) -> Result<i64, String> {
    match (operator, values) {
        (LabelOperator::In | LabelOperator::NotIn, []) => {
            let detail = "for 'in', 'notin' operators, values set can't be empty";
            Err(Cause::invalid("values", Vec::<String>::new(), detail).text())
        }
        (LabelOperator::Above | LabelOperator::Below, [value]) => value.parse().map_err(|_| {
            let detail = "for 'Gt', 'Lt' operators, the value must be an integer";
            Cause::invalid("values[0]", value.as_str(), detail).text()
        }),
        (LabelOperator::Above | LabelOperator::Below, many) => {
            let detail = "for 'Gt', 'Lt' operators, exactly one value is required";
            Err(Cause::invalid("values", many.to_vec(), detail).text())
        }
        (LabelOperator::Exists | LabelOperator::Missing, [_, ..]) => {
            let detail = "values set must be empty for exists and does not exist";
            Err(Cause::invalid("values", values.to_vec(), detail).text())
        }
        _ => Ok(0),
    }
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, requirement) in self.requirements.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(f, "{comma}{requirement}")?;
        }
        Ok(())
    }
}

impl fmt::Display for LabelRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (key, values) = (&self.key, self.values.join(","));
        match (self.operator, self.values.len()) {
            (LabelOperator::Exists, _) => write!(f, "{key}"),
            (LabelOperator::Missing, _) => write!(f, "!{key}"),
            (LabelOperator::In, 1) => write!(f, "{key}={values}"),
            (LabelOperator::NotIn, 1) => write!(f, "{key}!={values}"),
            (LabelOperator::In, _) => write!(f, "{key} in ({values})"),
            (LabelOperator::NotIn, _) => write!(f, "{key} notin ({values})"),
            (LabelOperator::Above, _) => write!(f, "{key}>{values}"),
            (LabelOperator::Below, _) => write!(f, "{key}<{values}"),
        }
    }
}
