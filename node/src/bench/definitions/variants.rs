//! The definitions that are measured: those of a folder, and further ones made of them under other
//! groups and kinds.
//!
//! Invariants: every variant has a name of its own, and definitions of one group stay in one group,
//! which has a kind or a name of a resource once; which definition a variant is made of depends on
//! its number alone.
//!
//! Not here: the requests that send them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use quorate_meta::Value;
use quorate_wire::{json, yaml};

use crate::error::{Error, at};
use crate::files::read_text;

/// Endings of the files that are read.
const ENDINGS: [&str; 2] = ["yaml", "yml"];
const KIND: &str = "CustomResourceDefinition";
/// The label of all definitions of one run.
pub(super) const RUN_LABEL: &str = "bench/run";

/// The definitions of a folder.
#[derive(Debug)]
pub(super) struct Source {
    definitions: Vec<Value>,
    pub(super) api_version: String,
}

/// One definition as it is sent.
#[derive(Debug)]
pub(super) struct Variant {
    pub(super) name: String,
    pub(super) json: String,
    pub(super) served: Vec<ServedVersion>,
}

/// A version of a definition that clients can use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServedVersion {
    /// `GROUP/VERSION`.
    pub(super) api_version: String,
    pub(super) plural: String,
    pub(super) kind: String,
}

impl Source {
    /// The definitions in the files of a folder and of those in it, in the order of their paths. Of
    /// several that want the same name the first is taken.
    pub(super) fn read(folder: &Path) -> Result<Self, Error> {
        let mut definitions: Vec<Value> = Vec::new();
        let mut taken = HashSet::new();
        for file in files(folder)? {
            let Ok((definition, _)) = yaml::parse(read_text(&file)?.as_bytes()) else {
                continue;
            };
            if definition.str_at(&["kind"]) != Some(KIND) {
                continue;
            }
            let names = names(&definition);
            if names.iter().all(|name| !taken.contains(name)) {
                taken.extend(names);
                definitions.push(definition);
            }
        }
        let api_version = definitions.first().and_then(|first| first.str_at(&["apiVersion"]));
        let Some(api_version) = api_version.map(str::to_owned) else {
            return Err(Error::config(format_args!("{}: no definition", folder.display())));
        };
        Ok(Self { definitions, api_version })
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.definitions.len()
    }

    /// Leaves out those that `keeps` says no to, by their number.
    pub(super) fn retain(&mut self, mut keeps: impl FnMut(usize) -> bool) {
        let mut number = 0..;
        self.definitions.retain(|_| keeps(number.next().unwrap_or_default()));
    }

    /// The variant with this number, in a run.
    pub(super) fn variant(&self, number: usize, run: &str) -> Variant {
        let mut definition = self.definitions[number % self.len()].clone();
        let round = number / self.len();
        let text = |definition: &Value, path: &[&str]| {
            definition.str_at(path).unwrap_or_default().to_owned()
        };
        let group = format!("b{round}-{run}.{}", text(&definition, &["spec", "group"]));
        let plural = text(&definition, &["spec", "names", "plural"]);
        let kind = format!("{}B{round}", text(&definition, &["spec", "names", "kind"]));
        let name = format!("{plural}.{group}");
        definition.remove_at(&["status"]);
        definition.set_at(&["metadata", "name"], name.as_str());
        definition.set_at(&["metadata", "labels", RUN_LABEL], run);
        definition.set_at(&["spec", "group"], group.as_str());
        definition.set_at(&["spec", "names", "kind"], kind.as_str());
        definition.set_at(&["spec", "names", "listKind"], format!("{kind}List"));
        let served = versions(&definition)
            .filter(|version| version.get("served").and_then(Value::as_bool) == Some(true))
            .map(|version| ServedVersion {
                api_version: format!("{group}/{}", version.str_at(&["name"]).unwrap_or_default()),
                plural: plural.clone(),
                kind: kind.clone(),
            });
        Variant { served: served.collect(), name, json: to_json(&definition) }
    }
}

impl Variant {
    /// The same definition, whose schemas are described by this text.
    pub(super) fn described(&self, text: &str) -> Result<String, Error> {
        let (mut definition, _) = json::parse(self.json.as_bytes()).map_err(Error::failed)?;
        let versions = definition.at_mut(&["spec", "versions"]).and_then(Value::as_list_mut);
        for version in versions.into_iter().flatten() {
            version.set_at(&["schema", "openAPIV3Schema", "description"], text);
        }
        Ok(to_json(&definition))
    }
}

/// The names that no two definitions may have in one group, and the whole name.
fn names(definition: &Value) -> Vec<String> {
    let group = definition.str_at(&["spec", "group"]).unwrap_or_default();
    let names = definition.at(&["spec", "names"]);
    let text = |field: &str| names.and_then(|names| names.get(field)).and_then(Value::as_str);
    let short = names.and_then(|names| names.get("shortNames")).and_then(Value::as_list);
    let short = short.unwrap_or_default().iter().filter_map(Value::as_str);
    let resources = [text("plural"), text("singular")].into_iter().flatten().chain(short);
    let resources = resources.map(|name| format!("{group}/{}", name.to_lowercase()));
    let mut all: Vec<String> = resources.collect();
    all.extend(text("kind").map(|kind| format!("{group}/kind/{kind}")));
    all.sort_unstable();
    all.dedup();
    all
}

fn versions(definition: &Value) -> impl Iterator<Item = &Value> {
    definition.at(&["spec", "versions"]).and_then(Value::as_list).unwrap_or_default().iter()
}

/// The files below a folder, sorted.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).map_err(at(&folder))? {
            let path = entry.map_err(at(&folder))?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| ENDINGS.iter().any(|own| end == *own)) {
                found.push(path);
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}

fn to_json(value: &Value) -> String {
    String::from_utf8(json::to_vec(value)).expect("JSON is written as UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/custom_resources");

    #[test]
    fn variants_have_groups_and_kinds_of_their_own() {
        let source = Source::read(Path::new(FOLDER)).expect("the folder has one");
        assert_eq!((source.len(), source.api_version.as_str()), (1, "apiextensions.k8s.io/v1"));
        let check = |number: usize, group: &str, kind: &str| {
            let variant = source.variant(number, "r");
            assert_eq!(variant.name, format!("workshops.{group}"));
            let expect = ServedVersion {
                api_version: format!("{group}/v1"),
                plural: "workshops".to_owned(),
                kind: kind.to_owned(),
            };
            assert_eq!(variant.served, [expect]);
            let (object, _) = json::parse(variant.json.as_bytes()).expect("it is JSON");
            assert_eq!(
                object.str_at(&["spec", "names", "listKind"]),
                Some(&*format!("{kind}List"))
            );
            assert_eq!(object.str_at(&["metadata", "labels", RUN_LABEL]), Some("r"));
            let described = variant.described("changed").expect("it is JSON");
            assert_ne!(described, variant.json);
            assert!(described.contains(r#""description":"changed""#), "{described}");
        };
        check(0, "b0-r.craft.example.com", "WorkshopB0");
        check(7, "b7-r.craft.example.com", "WorkshopB7");
    }

    #[test]
    fn of_definitions_that_want_the_same_name_one_is_taken() {
        let definition = |kind: &str, short: &str| {
            let names = Value::from([
                ("plural", Value::from(format!("{}s", kind.to_lowercase()))),
                ("kind", kind.into()),
                ("shortNames", Value::List(vec![short.into()])),
            ]);
            Value::from([("spec", Value::from([("group", Value::from("g")), ("names", names)]))])
        };
        let meets = |one: &Value, other: &Value| {
            let taken: HashSet<String> = names(one).into_iter().collect();
            names(other).iter().any(|name| taken.contains(name))
        };
        assert!(meets(&definition("A", "x"), &definition("B", "x")));
        assert!(meets(&definition("A", "x"), &definition("A", "y")));
        assert!(!meets(&definition("A", "x"), &definition("B", "y")));
    }
}
