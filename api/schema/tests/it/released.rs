//! The schema, held against the fields that have been released: rule 1 of the deprecation policy.
//! What a version of the API has once had stays in it, as it is.
//!
//! `released/fields.txt` has a line for each type: group version, name, and its fields as
//! `TAG:NAME:TYPE[=VALUES]`. After a release it gets the lines of what is new.

#![expect(clippy::unwrap_used, reason = "a test says what it needs by failing")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const RELEASED: &str = include_str!("released/fields.txt");

/// The fields of each type by their names; group version and name of the type.
type Fields = BTreeMap<(String, String), BTreeMap<String, ReleasedField>>;

#[derive(Debug, Clone, PartialEq, Eq)]
struct ReleasedField {
    tag: String,
    ty: String,
    /// The values of a closed set; empty for any other field.
    values: BTreeSet<String>,
}

/// Reads the baseline.
fn released(text: &str) -> Fields {
    let field = |text: &str| {
        let (text, values) = text.split_once('=').unwrap_or((text, ""));
        let [tag, name, ty] = text.split(':').collect::<Vec<_>>()[..] else { panic!("{text}") };
        let values = values.split('|').filter(|value| !value.is_empty()).map(str::to_owned);
        let (tag, ty, values) = (tag.to_owned(), ty.to_owned(), values.collect());
        (name.to_owned(), ReleasedField { tag, ty, values })
    };
    let ty = |line: &str| {
        let mut words = line.split(' ');
        let place = (words.next().unwrap().to_owned(), words.next().unwrap().to_owned());
        (place, words.map(field).collect())
    };
    text.lines().map(ty).collect()
}

/// Reads the fields of a file of the schema.
fn fields_of(place: &str, text: &str, all: &mut Fields) {
    let mut ty: Option<(String, String)> = None;
    for line in text.lines() {
        let mut words = line.split(" -- ").next().unwrap_or_default().split_whitespace();
        let first = words.next().unwrap_or_default();
        if !line.starts_with(' ') {
            let name = words.next().unwrap_or_default();
            ty = (first == "type").then(|| (place.to_owned(), name.to_owned()));
            all.extend(ty.clone().map(|ty| (ty, BTreeMap::new())));
        } else if let Some(fields) = ty.as_ref().and_then(|ty| all.get_mut(ty))
            && (first == "-" || first.parse::<u32>().is_ok())
        {
            let (name, ty) = (words.next().unwrap(), words.next().unwrap());
            let values = words.find_map(|word| word.strip_prefix("enum=")).unwrap_or_default();
            let values = values.split('|').filter(|value| !value.is_empty()).map(str::to_owned);
            let (tag, ty, values) = (first.to_owned(), ty.to_owned(), values.collect());
            fields.insert(name.to_owned(), ReleasedField { tag, ty, values });
        }
    }
}

fn current() -> Fields {
    let mut all = Fields::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("idl");
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let place = path.file_stem().unwrap().to_string_lossy().into_owned();
        fields_of(&place, &std::fs::read_to_string(&path).unwrap(), &mut all);
    }
    all
}

/// What the schema has lost or changed.
fn breaches(released: &Fields, now: &Fields) -> Vec<String> {
    let mut found = Vec::new();
    for ((place, ty), before) in released {
        let Some(after) = now.get(&(place.clone(), ty.clone())) else {
            found.push(format!("{place} {ty} is gone"));
            continue;
        };
        for (name, field) in before {
            let what = format!("{place} {ty}.{name}");
            match after.get(name) {
                None => found.push(format!("{what} is gone")),
                Some(now) if (&now.tag, &now.ty) != (&field.tag, &field.ty) => {
                    found.push(format!("{what} was {}:{}", field.tag, field.ty));
                }
                Some(now) => {
                    let gone = field.values.difference(&now.values);
                    found.extend(gone.map(|value| format!("{what} no longer takes {value}")));
                }
            }
        }
    }
    found
}

#[test]
fn nothing_that_was_released_is_gone() {
    let released = released(RELEASED);
    assert!(released.len() > 600, "{} types", released.len());
    assert_eq!(breaches(&released, &current()), [] as [String; 0]);
}

#[test]
fn breaches_are_found() {
    const BEFORE: &str = "x_v1 A 1:b:string=C|D 2:e:int32\nx_v1 F";
    let check = |now: &str, expect: &[&str]| {
        let mut fields = Fields::new();
        fields_of("x_v1", now, &mut fields);
        assert_eq!(breaches(&released(BEFORE), &fields), expect, "{now}");
    };
    check("type A\n  1 b string enum=C|D|G -- More.\n  2 e int32\n  3 h bool\n\ntype F -- x", &[]);
    check("type A\n  1 b string enum=C\n  2 e int32\ntype F", &["x_v1 A.b no longer takes D"]);
    check("type A\n  1 b string enum=C|D\ntype F", &["x_v1 A.e is gone"]);
    check("type A\n  1 b string enum=C|D\n  2 e int64\ntype F", &["x_v1 A.e was 2:int32"]);
    check("type A\n  1 b string enum=C|D\n  3 e int32\ntype F", &["x_v1 A.e was 2:int32"]);
    check("type A\n  1 b string enum=C|D\n  2 e int32", &["x_v1 F is gone"]);
}
