//! The order of versions in discovery: stable before beta before alpha, then higher numbers first.
//!
//! Invariant: the order is total; names that are no such version come last, by name.

use std::cmp::{Ordering, Reverse};

/// Compares two version names; the lesser one comes first in discovery.
#[must_use]
pub fn compare(left: &str, right: &str) -> Ordering {
    match (parse(left), parse(right)) {
        (Some(left), Some(right)) => Reverse(left).cmp(&Reverse(right)),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => left.cmp(right),
    }
}

/// The version that clients use when they name none: the first one in discovery.
pub fn preferred<'v>(versions: impl IntoIterator<Item = &'v str>) -> Option<&'v str> {
    versions.into_iter().min_by(|left, right| compare(left, right))
}

/// Stability, major and minor number; `None` for a name that is no such version.
fn parse(version: &str) -> Option<(u8, u64, u64)> {
    let rest = version.strip_prefix('v')?;
    for (stability, word) in [(0, "alpha"), (1, "beta")] {
        if let Some((major, minor)) = rest.split_once(word) {
            return Some((stability, number(major)?, number(minor)?));
        }
    }
    Some((2, number(rest)?, 0))
}

fn number(text: &str) -> Option<u64> {
    let is_number = !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_in_the_order_of_discovery() {
        let expect = [
            "v10",
            "v2",
            "v1",
            "v11beta2",
            "v10beta3",
            "v3beta1",
            "v12alpha1",
            "v11alpha2",
            "foo1",
            "foo10",
            "v01",
        ];
        let mut versions = expect;
        versions.reverse();
        versions.sort_by(|left, right| compare(left, right));
        assert_eq!(versions, expect);
        assert_eq!(preferred(["v1beta1", "v1alpha1", "v1"]), Some("v1"));
        assert_eq!(preferred([]), None);
    }
}
