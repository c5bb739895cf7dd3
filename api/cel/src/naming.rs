//! Names of the libraries' types in the naming profiles.
//!
//! Invariant: inside the crate these types have the names of the `svc` profile; names change where a type comes in and where a
//! text goes out. Not here: the texts.

use std::borrow::Cow;

use quorate_meta::Naming;

use crate::library::names;

/// The prefix of the names inside the crate.
const PREFIX: &str = "svc.";

/// A text of the crate, such as an error or a type, with the names of types that `naming` has. A name that a person wrote into
/// the expression changes too when it is spelled like that of a type.
pub fn in_profile(naming: Naming, text: &str) -> Cow<'_, str> {
    let prefix = naming.names().cel_prefix;
    if prefix == PREFIX || !text.contains(PREFIX) {
        return Cow::Borrowed(text);
    }
    let mut renamed = String::with_capacity(text.len() + prefix.len());
    let mut copied = 0;
    for (at, _) in text.match_indices(PREFIX) {
        if names::PROFILED.iter().any(|name| is_word(text, at, name)) {
            renamed.push_str(&text[copied..at]);
            renamed.push_str(prefix);
            copied = at + PREFIX.len();
        }
    }
    renamed.push_str(&text[copied..]);
    Cow::Owned(renamed)
}

/// The name inside the crate of a type that `naming` calls `name`.
pub(crate) fn from_profile(naming: Naming, name: &str) -> Cow<'_, str> {
    let inside = |rest: &str| {
        let inside = format!("{PREFIX}{rest}");
        names::PROFILED.contains(&inside.as_str()).then_some(Cow::Owned(inside))
    };
    name.strip_prefix(naming.names().cel_prefix).and_then(inside).unwrap_or(Cow::Borrowed(name))
}

/// Whether `word` stands at a byte of the text, and is not a part of a longer name.
fn is_word(text: &str, at: usize, word: &str) -> bool {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    // In `svc.Quantity.()` the receiver of a call stands before its dot.
    let ends = |after: &str| {
        !after.starts_with(is_part)
            && !after.strip_prefix('.').is_some_and(|rest| rest.starts_with(is_part))
    };
    text[at..].starts_with(word)
        && !text[..at].ends_with(|character| is_part(character) || character == '.')
        && ends(&text[at + word.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_the_names_of_the_profile() {
        let check = |text: &str, expect: &str| {
            assert_eq!(in_profile(Naming::Kubernetes, text), expect);
            assert_eq!(in_profile(Naming::Svc, text), text);
        };
        check("list(svc.Quantity)", "list(kubernetes.Quantity)");
        check("(svc.URL, svc.URL)", "(kubernetes.URL, kubernetes.URL)");
        check("svc.authorization.Decision", "kubernetes.authorization.Decision");
        check("svc.Other", "svc.Other");
        check("my.svc.URL", "my.svc.URL");
        check("svc.URLs svc.URL.x", "svc.URLs svc.URL.x");
        check("ä svc.Semver", "ä kubernetes.Semver");
        check("svc.Quantity.(int)", "kubernetes.Quantity.(int)");
        check("net.IP", "net.IP");
    }

    #[test]
    fn names_of_the_profile_are_read() {
        let check =
            |naming, name: &str, expect: &str| assert_eq!(from_profile(naming, name), expect);
        check(Naming::Kubernetes, "kubernetes.URL", "svc.URL");
        check(Naming::Kubernetes, "kubernetes.Other", "kubernetes.Other");
        check(Naming::Svc, "svc.URL", "svc.URL");
        check(Naming::Svc, "kubernetes.URL", "kubernetes.URL");
    }
}
