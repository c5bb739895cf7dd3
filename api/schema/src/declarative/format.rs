//! The forms of texts: what is wrong with one.

use quorate_meta::{Cause, Names, name};

use crate::graph::TextFormat;

/// Bytes of the name of a pool, at most.
const MAX_POOL_BYTES: usize = 253;
/// Bytes of the domain of a qualified name, at most.
const MAX_DOMAIN_BYTES: usize = 63;
/// Bytes of the identifier of a qualified name, at most.
const MAX_IDENTIFIER_BYTES: usize = 32;
/// What quotas of an extended resource begin with.
const QUOTA_PREFIX: &str = "requests.";

/// What is wrong with a text at a path.
pub(super) fn check(format: TextFormat, names: &Names, path: &str, text: &str) -> Vec<Cause> {
    let wrong = problems(format, names, text);
    let mut causes: Vec<_> = wrong.iter().map(|why| Cause::invalid(path, text, why)).collect();
    if format == TextFormat::ResourceFullyQualifiedName {
        let (domain, identifier) = text.split_once('/').unwrap_or(("", text));
        let parts = [(domain, MAX_DOMAIN_BYTES), (identifier, MAX_IDENTIFIER_BYTES)];
        let long = parts.into_iter().filter(|(part, max)| part.len() > *max);
        causes.extend(long.map(|(_, max)| Cause::too_long(path, max)));
    }
    if format == TextFormat::ResourcePoolName && text.len() > MAX_POOL_BYTES {
        causes.push(Cause::too_long(path, MAX_POOL_BYTES));
    }
    causes
}

fn problems(format: TextFormat, names: &Names, text: &str) -> Vec<String> {
    match format {
        TextFormat::ShortName => name::dns_label(text),
        TextFormat::LongName => name::dns_subdomain(text),
        TextFormat::LongNameCaseless => name::dns_subdomain(&text.to_lowercase()),
        TextFormat::LabelKey => name::qualified_name(text),
        TextFormat::Uuid if is_uuid(text) => Vec::new(),
        TextFormat::Uuid => vec!["must be a lowercase UUID in 8-4-4-4-12 format".to_owned()],
        TextFormat::ResourceFullyQualifiedName => fully_qualified_name(text),
        TextFormat::ExtendedResourceName => extended_resource_name(names, text),
        TextFormat::ResourcePoolName => pool_name(text),
    }
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        })
}

fn pool_name(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for (at, part) in text.split('/').enumerate() {
        match part {
            "" => wrong.push(format!("segment {at}: must not be empty")),
            part => {
                let whys = name::dns_subdomain(part).into_iter();
                wrong.extend(whys.map(|why| format!("segment {at}: {why}")));
            }
        }
    }
    wrong
}

fn fully_qualified_name(text: &str) -> Vec<String> {
    let Some((domain, identifier)) = text.split_once('/') else {
        let why = "a fully qualified name must be a domain and a name separated by a slash";
        return vec![why.to_owned()];
    };
    let mut wrong = Vec::new();
    if domain.is_empty() {
        wrong.push("prefix must not be empty".to_owned());
    } else {
        wrong.extend(name::dns_subdomain(&domain.to_lowercase()));
    }
    if identifier.is_empty() {
        wrong.push("name must not be empty".to_owned());
    } else {
        let starts = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
        let is_identifier = identifier.bytes().next().is_some_and(starts)
            && identifier.bytes().all(|byte| starts(byte) || byte.is_ascii_digit());
        if !is_identifier {
            wrong.push("a valid C identifier must start with a letter or underscore, followed by letters, digits or underscores".to_owned());
        }
    }
    wrong
}

fn extended_resource_name(names: &Names, text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if !text.contains('/') {
        wrong.push(
            "a name must be a domain-prefixed path, such as 'example.com/my-prop'".to_owned(),
        );
    } else if text.contains(&names.domain_key("")) {
        wrong.push(format!("must not have {:?} in its domain", names.domain_key("")));
    } else if text.starts_with(QUOTA_PREFIX) {
        wrong.push(format!("must not have the prefix {QUOTA_PREFIX:?}"));
    }
    wrong.extend(name::qualified_name(&format!("{QUOTA_PREFIX}{text}")));
    wrong
}
