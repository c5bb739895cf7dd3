//! Name validation: names, label keys and values, annotations; and generated names.
//!
//! A check returns a message for everything wrong, in the words of Kubernetes; none for a valid
//! text. Which check a kind's name needs is decided by its strategy.

mod generate;
mod metadata;
#[cfg(test)]
mod tests;

pub use generate::{GENERATED_SUFFIX_LEN, MAX_GENERATED_PREFIX_LEN, generate};
pub use metadata::{MAX_ANNOTATIONS_BYTES, annotations, finalizer, labels, object_name};

/// Longest DNS label and longest label value or name part of a key, in bytes.
pub const MAX_LABEL_LEN: usize = 63;
/// Longest DNS subdomain, in bytes.
pub const MAX_SUBDOMAIN_LEN: usize = 253;

const LABEL_TEXT: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
    start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN_TEXT: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
    '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const OLD_LABEL_TEXT: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
    alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
    validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const NAME_PART_TEXT: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
    alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE_TEXT: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or \
    '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used \
    for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// A DNS-1123 label: namespaces and other names that become host names.
pub fn dns_label(text: &str) -> Vec<String> {
    let mut wrong = too_long("", text, MAX_LABEL_LEN, "characters");
    if !is_dns_label(text.as_bytes()) {
        wrong.push(LABEL_TEXT.to_owned());
    }
    wrong
}

/// A DNS-1035 label: names of services.
pub fn dns_1035_label(text: &str) -> Vec<String> {
    let mut wrong = too_long("", text, MAX_LABEL_LEN, "characters");
    if !(is_dns_label(text.as_bytes()) && text.as_bytes()[0].is_ascii_lowercase()) {
        wrong.push(OLD_LABEL_TEXT.to_owned());
    }
    wrong
}

/// A DNS-1123 subdomain: the names of most kinds.
pub fn dns_subdomain(text: &str) -> Vec<String> {
    let mut wrong = too_long("", text, MAX_SUBDOMAIN_LEN, "characters");
    if !is_dns_subdomain(text) {
        wrong.push(SUBDOMAIN_TEXT.to_owned());
    }
    wrong
}

/// A path segment: names of roles and bindings.
pub fn path_segment(text: &str) -> Vec<String> {
    if text == "." || text == ".." {
        return vec![format!("may not be '{text}'")];
    }
    ['/', '%']
        .into_iter()
        .filter(|char| text.contains(*char))
        .map(|char| format!("may not contain '{char}'"))
        .collect()
}

/// A label or annotation key, finalizer, condition type: `name` or `prefix.example.com/name`.
pub fn qualified_name(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let name = match text.split_once('/') {
        None => text,
        Some((_, name)) if name.contains('/') => {
            let text = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![format!("a qualified name {NAME_PART_TEXT} {text}")];
        }
        Some((prefix, name)) => {
            if prefix.is_empty() {
                wrong.push("prefix part must be non-empty".to_owned());
            } else {
                wrong.extend(
                    dns_subdomain(prefix).into_iter().map(|text| format!("prefix part {text}")),
                );
            }
            name
        }
    };
    if name.is_empty() {
        wrong.push("name part must be non-empty".to_owned());
    }
    wrong.extend(too_long("name part ", name, MAX_LABEL_LEN, "bytes"));
    if !is_name_part(name.as_bytes()) {
        wrong.push(format!("name part {NAME_PART_TEXT}"));
    }
    wrong
}

/// A label value; may be empty.
pub fn label_value(text: &str) -> Vec<String> {
    let mut wrong = too_long("", text, MAX_LABEL_LEN, "bytes");
    if !text.is_empty() && !is_name_part(text.as_bytes()) {
        wrong.push(LABEL_VALUE_TEXT.to_owned());
    }
    wrong
}

/// The unit differs between checks, as in Kubernetes.
fn too_long(part: &str, text: &str, max: usize, unit: &str) -> Vec<String> {
    if text.len() > max {
        vec![format!("{part}must be no more than {max} {unit}")]
    } else {
        Vec::new()
    }
}

fn is_dns_label(text: &[u8]) -> bool {
    let inner = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
    matches!(text, [first, .., last] if *first != b'-' && *last != b'-' && text.iter().all(inner))
        || matches!(text, [only] if *only != b'-' && inner(only))
}

fn is_dns_subdomain(text: &str) -> bool {
    text.split('.').all(|label| is_dns_label(label.as_bytes()))
}

fn is_name_part(text: &[u8]) -> bool {
    let inner = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let (Some(first), Some(last)) = (text.first(), text.last()) else {
        return false;
    };
    first.is_ascii_alphanumeric() && last.is_ascii_alphanumeric() && text.iter().all(inner)
}
