//! The order of a merged list: applied elements in the order of the configuration, live elements at
//! their place among them.

use std::collections::HashSet;

use crate::fieldset::Element;

/// The source of an element of the merged list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ElementSource {
    /// Only in the live list.
    Live(usize),
    /// In the applied list.
    Config(usize),
}

/// The elements of both lists, each applied one once.
///
/// Before an applied element come the live ones up to the next element of both lists, except for
/// those that are applied further on.
pub(super) fn arrange(live: &[Element], config: &[Element]) -> Vec<ElementSource> {
    let known: HashSet<&Element> = live.iter().collect();
    let wanted: HashSet<&Element> = config.iter().collect();
    let mut shared = config.iter().filter(|element| known.contains(element)).peekable();
    let mut places = Vec::with_capacity(live.len() + config.len());
    let mut rest = live.iter().enumerate().peekable();
    for (index, element) in config.iter().enumerate() {
        while let Some((at, other)) = rest.next_if(|(_, other)| shared.peek() != Some(other)) {
            if !wanted.contains(other) {
                places.push(ElementSource::Live(at));
            }
        }
        places.push(ElementSource::Config(index));
        if shared.next_if(|shared| *shared == element).is_some() {
            rest.next_if(|(_, other)| *other == element);
        }
    }
    places.extend(
        rest.filter(|(_, other)| !wanted.contains(other)).map(|(at, _)| ElementSource::Live(at)),
    );
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order() {
        let check = |live: &str, config: &str, expect: &str| {
            let elements = |text: &str| {
                text.chars().map(|c| Element::field(&c.to_string())).collect::<Vec<_>>()
            };
            let (live, config) = (elements(live), elements(config));
            let places = arrange(&live, &config).into_iter().map(|place| match place {
                ElementSource::Live(at) => live[at].field_name().unwrap_or_default().to_owned(),
                ElementSource::Config(at) => config[at].field_name().unwrap_or_default().to_owned(),
            });
            assert_eq!(places.collect::<String>(), expect, "{config:?} on {live:?}");
        };
        check("", "abc", "abc");
        check("abc", "", "abc");
        check("abc", "d", "abcd");
        check("abc", "xay", "xabcy");
        check("xabcy", "cba", "xcyba");
        check("abcde", "cba", "cdeba");
        check("cdeba", "db", "cdeba");
        check("xcya", "yxz", "cyaxz");
        check("aab", "a", "ab");
    }
}
