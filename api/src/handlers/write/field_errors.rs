//! Field errors of a body, as warnings and refusals tell them: fields that are unknown or given
//! twice (field validation, KEP-2885).
//!
//! Invariant: of very many only the first are kept in words, and the last text says how many more
//! there are.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

use quorate_schema::Unknown;
use quorate_wire::yaml;

use crate::respond::warnings::{MAX_WARNINGS, shortlist};

/// Unknown fields up to which their order in the text is looked for; each costs a walk through the
/// body.
const MAX_ORDERED: usize = 100;

/// What a body gives twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::handlers) enum Repeated {
    /// Fields of JSON, by their paths.
    Fields(Vec<String>),
    /// Keys of YAML, by their lines.
    Keys(Vec<yaml::Duplicate>),
}

/// Unknown and duplicate fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::handlers) struct FieldErrors {
    /// Keys that the YAML text repeats.
    keys: Vec<String>,
    texts: Vec<String>,
    /// How many there are besides.
    more: usize,
}

impl FieldErrors {
    /// The field errors of a body. Of JSON: unknown fields in the order in which their names first
    /// stand in the text (very many: of their paths), then duplicate ones but for those that are
    /// unknown anyway. Of YAML: duplicate keys, then unknown fields.
    pub(in crate::handlers) fn of_body(unknown: Unknown, repeated: Repeated, body: &[u8]) -> Self {
        match repeated {
            Repeated::Fields(duplicates) => Self::of_json(unknown, duplicates, body),
            Repeated::Keys(duplicates) => Self {
                keys: duplicates.iter().map(ToString::to_string).collect(),
                ..Self::of_unknown(&unknown)
            },
        }
    }

    fn of_json(mut unknown: Unknown, duplicates: Vec<String>, body: &[u8]) -> Self {
        let paths = &mut unknown.paths;
        if (2..=MAX_ORDERED).contains(&paths.len()) {
            paths.sort_by_cached_key(|path| {
                let name = path.rsplit('.').next().unwrap_or_default();
                let name = name.split('[').next().unwrap_or_default().as_bytes();
                memchr::memmem::find(body, name)
            });
        }
        let marks = RandomState::new();
        let whole = |path: &String| parts_of(&marks, path).last().map_or(0, |(_, mark)| mark);
        let paths: HashMap<u64, &str> =
            unknown.paths.iter().map(|path| (whole(path), path.as_str())).collect();
        let is_new = |path: &String| {
            !parts_of(&marks, path)
                .any(|(end, mark)| paths.get(&mark).is_some_and(|known| *known == &path[..end]))
        };
        let duplicates: Vec<String> = duplicates.into_iter().filter(is_new).collect();
        Self {
            keys: Vec::new(),
            texts: unknown_fields(&unknown.paths).chain(duplicate_fields(&duplicates)).collect(),
            more: unknown.more,
        }
    }

    /// Unknown fields as they come.
    pub(in crate::handlers) fn of_unknown(unknown: &Unknown) -> Self {
        let texts = unknown_fields(&unknown.paths).collect();
        Self { keys: Vec::new(), texts, more: unknown.more }
    }

    /// These, then those of which there are words already.
    pub(in crate::handlers) fn and(mut self, told: &[String]) -> Self {
        self.texts.extend_from_slice(told);
        self
    }

    pub(in crate::handlers) fn is_empty(&self) -> bool {
        self.texts.is_empty() && self.keys.is_empty()
    }

    /// Why a strict request is refused.
    pub(in crate::handlers) fn refusal(&self) -> String {
        let limit = self.texts.len() + usize::from(self.more > 0);
        let keys = (!self.keys.is_empty()).then(|| unmarshal_errors(&self.keys));
        let texts = shortlist(&self.texts, self.more, limit);
        let texts: Vec<String> = keys.into_iter().chain(texts).collect();
        format!("strict decoding error: {}", texts.join(", "))
    }

    /// What the client is warned of, in as many texts as one answer carries.
    pub(in crate::handlers) fn warnings(&self) -> Vec<String> {
        if self.keys.is_empty() {
            return shortlist(&self.texts, self.more, MAX_WARNINGS);
        }
        shortlist(&[&*self.keys, &*self.texts].concat(), self.more, MAX_WARNINGS)
    }
}

/// The keys that a YAML text repeats, in the words of refusals.
fn unmarshal_errors(keys: &[String]) -> String {
    format!("yaml: unmarshal errors:\n  {}", keys.join("\n  "))
}

/// Unknown fields in the words of warnings and refusals.
pub(in crate::handlers) fn unknown_fields(paths: &[String]) -> impl Iterator<Item = String> {
    paths.iter().map(|path| format!("unknown field \"{path}\""))
}

/// Duplicate fields in the words of warnings and refusals.
pub(in crate::handlers) fn duplicate_fields(paths: &[String]) -> impl Iterator<Item = String> {
    paths.iter().map(|path| format!("duplicate field \"{path}\""))
}

/// Where the parts of a path end, each with a hash of all up to there. The path is read once: each
/// of its bytes may end a part, and to hash every beginning by itself would take the square of its
/// length.
fn parts_of(marks: &RandomState, path: &str) -> impl Iterator<Item = (usize, u64)> {
    let mut hasher = marks.build_hasher();
    let mut begin = 0;
    let ends = path.match_indices(['"', '.', '[']).map(|(end, _)| end).chain([path.len()]);
    ends.map(move |end| {
        hasher.write(&path.as_bytes()[begin..end]);
        begin = end;
        (end, hasher.finish())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_wire::json;

    fn unknown(paths: &[&str]) -> Unknown {
        Unknown { paths: paths.iter().map(|path| (*path).to_owned()).collect(), more: 0 }
    }

    #[test]
    fn findings_come_in_the_order_of_the_text_and_once() {
        let body = br#"{"zeta":1,"metadata":{"mid":2,"name":"a"},"alpha":3,"data":{"k":"1","k":"2"},"zeta":4}"#;
        let (_, duplicates) = json::parse(body).unwrap();
        let expect = [
            "unknown field \"zeta\"",
            "unknown field \"metadata.mid\"",
            "unknown field \"alpha\"",
            "duplicate field \"data.k\"",
        ];
        let errors =
            FieldErrors::of_json(unknown(&["alpha", "metadata.mid", "zeta"]), duplicates, body);
        assert_eq!(errors.warnings(), expect);
        assert_eq!(errors.refusal(), format!("strict decoding error: {}", expect.join(", ")));
    }

    #[test]
    fn keys_of_yaml_come_first_with_their_lines() {
        let body = b"zeta: 1\nalpha: 2\ndata:\n  k: 1\n  k: 2\n";
        let (_, duplicates) = yaml::parse(body).unwrap();
        let errors =
            FieldErrors::of_body(unknown(&["alpha", "zeta"]), Repeated::Keys(duplicates), body);
        let key = "line 5: key \"k\" already set in map";
        let fields = ["unknown field \"alpha\"", "unknown field \"zeta\""];
        assert_eq!(errors.warnings(), [&[key][..], &fields[..]].concat());
        assert_eq!(
            errors.refusal(),
            format!(
                "strict decoding error: yaml: unmarshal errors:\n  {key}, {}",
                fields.join(", ")
            )
        );
        assert!(!errors.is_empty());
    }

    #[test]
    fn duplicates_inside_of_unknown_fields_are_not_told() {
        let check = |paths: &[&str], duplicate: &str, expect: bool| {
            let errors = FieldErrors::of_json(unknown(paths), vec![duplicate.into()], b"");
            assert_eq!(errors.texts.len() > paths.len(), expect, "{paths:?} {duplicate}");
        };
        check(&["a.b"], "a.b", false);
        check(&["a.b"], "a.b.c", false);
        check(&["a.b"], "a.b[1].c", false);
        check(&["a.b", "x"], "a.bc", true);
        check(&["a.b"], "a", true);
        check(&["a..b"], "a..b..c", false);
        check(&["a[0]"], "a[0].b", false);
        check(&[""], "k", true);
    }

    #[test]
    fn very_many_unknown_fields_are_not_looked_for() {
        let names: Vec<String> = (0..=MAX_ORDERED).map(|at| format!("f{at:03}")).collect();
        let body = names.iter().rev().cloned().collect::<Vec<_>>().join(" ");
        let check = |count: usize, first: &str| {
            let unknown = Unknown { paths: names[..count].to_vec(), more: 0 };
            assert_eq!(FieldErrors::of_json(unknown, Vec::new(), body.as_bytes()).texts[0], first);
        };
        check(MAX_ORDERED, "unknown field \"f099\"");
        check(MAX_ORDERED + 1, "unknown field \"f000\"");
    }

    #[test]
    fn of_very_many_the_last_text_says_how_many_more_there_are() {
        let paths: Vec<String> = (0..1000).map(|at| format!("f{at:03}")).collect();
        let check =
            |count: usize, more: usize, told: &[String], refused: &str, warned: (usize, &str)| {
                let errors =
                    FieldErrors::of_unknown(&Unknown { paths: paths[..count].to_vec(), more })
                        .and(told);
                let (refusal, warnings) = (errors.refusal(), errors.warnings());
                assert!(refusal.ends_with(refused), "{refusal}");
                assert_eq!(
                    (warnings.len(), warnings.last().map(String::as_str)),
                    (warned.0, Some(warned.1))
                );
            };
        check(1, 0, &[], ": unknown field \"f000\"", (1, "unknown field \"f000\""));
        check(50, 0, &[], ", unknown field \"f049\"", (50, "unknown field \"f049\""));
        check(51, 0, &[], ", unknown field \"f050\"", (50, "and 2 more"));
        check(50, 0, &["odd".to_owned()], ", odd", (50, "and 2 more"));
        check(1000, 7, &[], ", unknown field \"f999\", and 7 more", (50, "and 958 more"));
    }
}
