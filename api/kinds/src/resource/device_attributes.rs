//! Device attributes: qualified names, which are C identifiers with an optional domain, and typed
//! values.

use quorate_meta::Cause;

use super::names;
use crate::field::Field;

/// Bytes of an identifier, at most.
const MAX_IDENTIFIER: usize = 32;
/// Bytes of a string value, at most.
const MAX_TEXT: usize = 64;
const NOT_AN_IDENTIFIER: &str = "a valid C identifier must start with alphabetic character or '_', followed by a string of \
                                 alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for \
                                 validation is '[A-Za-z_][A-Za-z0-9_]*')";
const VALUES: [&str; 4] = ["int", "bool", "string", "version"];

/// Checks the qualified name of an attribute; `field` is where it stands.
pub(super) fn check_name(field: &Field<'_>, text: &str, causes: &mut Vec<Cause>) {
    match text.split_once('/') {
        None => check_identifier(field, text, causes),
        Some((_, rest)) if rest.contains('/') => {
            causes.push(Cause::invalid(field.path(), text, "must not contain more than one slash"));
        }
        Some((domain, identifier)) => {
            if domain.is_empty() {
                causes.push(Cause::invalid(field.path(), "", "the domain must not be empty"));
            } else {
                names::domain(field, domain, causes);
            }
            if identifier.is_empty() {
                causes.push(Cause::invalid(field.path(), "", "the name must not be empty"));
            } else {
                check_identifier(field, identifier, causes);
            }
        }
    }
}

/// Checks a fully qualified name, with a domain.
pub(super) fn check_qualified(field: &Field<'_>, causes: &mut Vec<Cause>) {
    check_name(field, field.text(), causes);
    if !field.text().contains('/') {
        causes
            .push(field.invalid(
                "a fully qualified name must be a domain and a name separated by a slash",
            ));
    }
}

fn check_identifier(field: &Field<'_>, text: &str, causes: &mut Vec<Cause>) {
    if text.len() > MAX_IDENTIFIER {
        causes.push(Cause::too_long(field.path(), MAX_IDENTIFIER));
    }
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let begins = text.bytes().next().is_some_and(|first| !first.is_ascii_digit());
    if !(begins && text.bytes().all(inner)) {
        causes.push(Cause::invalid(field.path(), text, NOT_AN_IDENTIFIER));
    }
}

/// Checks the value of an attribute: exactly one type.
pub(super) fn check_value(attribute: &Field<'_>, causes: &mut Vec<Cause>) {
    let version = attribute.get("version");
    if version.is_set() && !is_version(version.text()) {
        causes.push(version.invalid("must be a string compatible with semver.org spec 2.0.0"));
    }
    for text in [attribute.get("string"), version] {
        if text.text().len() > MAX_TEXT {
            causes.push(Cause::too_long(text.path(), MAX_TEXT));
        }
    }
    match VALUES.iter().filter(|kind| attribute.get(kind).is_set()).count() {
        1 => {}
        _ => causes.push(attribute.invalid("exactly one value must be specified")),
    }
}

/// Whether a text is a version of Semantic Versioning 2.0.0.
fn is_version(text: &str) -> bool {
    let (text, build) = split_off(text, '+');
    let (core, earlier) = split_off(text, '-');
    let is_number = |part: &str| {
        let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        digits && (part == "0" || !part.starts_with('0'))
    };
    let is_word = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let is_earlier = |part: &str| {
        is_word(part) && (is_number(part) || !part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    core.split('.').count() == 3
        && core.split('.').all(is_number)
        && earlier.is_none_or(|earlier| earlier.split('.').all(is_earlier))
        && build.is_none_or(|build| build.split('.').all(is_word))
}

fn split_off(text: &str, mark: char) -> (&str, Option<&str>) {
    text.split_once(mark).map_or((text, None), |(head, tail)| (head, Some(tail)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use quorate_meta::Value;
    use serde_json::{Value as Json, json};

    #[test]
    fn names() {
        let check = |text: &str, plain: &[&str], qualified: &[&str]| {
            let object = Value::from(json!({ "n": text }));
            let field = Field::root(&object).get("n");
            let (mut all, mut with_domain) = (Vec::new(), Vec::new());
            check_name(&field, text, &mut all);
            check_qualified(&field, &mut with_domain);
            assert_eq!(
                (shown(&all), shown(&with_domain)),
                (shown_as(plain), shown_as(qualified)),
                "{text}"
            );
        };
        let (longest, too_long) = ("a".repeat(MAX_IDENTIFIER), "a".repeat(MAX_IDENTIFIER + 1));
        for text in ["model", "_a1", "Model", &longest] {
            check(text, &[], &["Invalid n"]);
        }
        for text in ["dra.example.com/model", "A.com/m"] {
            check(text, &[], &[]);
        }
        for text in ["1a", "a-b", "a.b", ""] {
            check(text, &["Invalid n"], &["Invalid n"; 2]);
        }
        for text in ["/m", "a/", "a_b/m", "a/b/c", "a/1"] {
            check(text, &["Invalid n"], &["Invalid n"]);
        }
        check(&too_long, &["TooLong n"], &["TooLong n", "Invalid n"]);
        check(&format!("{}/m", "a".repeat(64)), &["TooLong n"], &["TooLong n"]);
    }

    fn shown_as(expect: &[&str]) -> Vec<String> {
        expect.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn values() {
        let check = |value: Json, expect: &[&str]| {
            let object = Value::from(json!({ "a": value }));
            let mut causes = Vec::new();
            check_value(&Field::root(&object).get("a"), &mut causes);
            assert_eq!(shown(&causes), expect, "{object:?}");
        };
        for value in [
            json!({"int": 0}),
            json!({"bool": false}),
            json!({"string": "x".repeat(64)}),
            json!({"version": "1.2.3"}),
        ] {
            check(value, &[]);
        }
        check(json!({}), &["Invalid a"]);
        check(json!({"int": 1, "bool": true}), &["Invalid a"]);
        check(json!({"string": "x".repeat(65)}), &["TooLong a.string"]);
        check(json!({"version": "v1"}), &["Invalid a.version"]);
        check(json!({"version": format!("1.0.0+{}", "x".repeat(64))}), &["TooLong a.version"]);
    }

    #[test]
    fn versions() {
        for good in
            ["0.0.0", "1.20.300", "1.0.0-alpha.1", "1.0.0-0a.-", "1.0.0+001.x", "1.0.0-a-b+c-d"]
        {
            assert!(is_version(good), "{good}");
        }
        for bad in [
            "",
            "1",
            "1.2",
            "1.2.3.4",
            "01.2.3",
            "1.2.x",
            "v1.2.3",
            "1.0.0-",
            "1.0.0-01",
            "1.0.0-a..b",
            "1.0.0+",
            "1.0.0+a_b",
            "1.0.0+a+b",
        ] {
            assert!(!is_version(bad), "{bad}");
        }
    }
}
