//! Field errors of object metadata: name, labels, annotations, finalizers.

use super::{label_value, qualified_name};
use crate::{Cause, Path};

/// Most bytes that all annotation keys and values of an object may have together: 256 KiB.
pub const MAX_ANNOTATIONS_BYTES: usize = 256 * 1024;

/// `Invalid value` field errors at `path` for every message of `check(name)`.
pub fn object_name(path: &Path, name: &str, check: fn(&str) -> Vec<String>) -> Vec<Cause> {
    check(name).iter().map(|message| Cause::invalid(path, name, message)).collect()
}

/// Checks keys and values of labels.
pub fn labels<'a>(path: &Path, labels: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<Cause> {
    let mut causes = Vec::new();
    for (key, value) in labels {
        causes.extend(qualified_name(key).iter().map(|message| Cause::invalid(path, key, message)));
        causes
            .extend(label_value(value).iter().map(|message| Cause::invalid(path, value, message)));
    }
    causes
}

/// Checks keys (upper case is allowed here) and the total size of annotations.
pub fn annotations<'a>(
    path: &Path,
    annotations: impl Iterator<Item = (&'a str, &'a str)>,
) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut bytes = 0;
    for (key, value) in annotations {
        bytes += key.len() + value.len();
        let wrong = qualified_name(&key.to_lowercase());
        causes.extend(wrong.iter().map(|message| Cause::invalid(path, key, message)));
    }
    if bytes > MAX_ANNOTATIONS_BYTES {
        causes.push(Cause::too_long(path, MAX_ANNOTATIONS_BYTES));
    }
    causes
}

/// Checks one finalizer name.
pub fn finalizer(path: &Path, name: &str) -> Vec<Cause> {
    object_name(path, name, qualified_name)
}
