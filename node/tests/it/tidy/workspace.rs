//! The workspace as it lies on disk: its crates with their dependencies, and every source file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::source::Source;

/// Folders with sources, below the workspace's.
const FOLDERS: [&str; 4] = ["node", "raft", "api", "simulation-tests"];

/// A crate of the workspace.
pub(super) struct Crate {
    pub(super) name: String,
    /// Its folder, below the workspace's.
    pub(super) folder: PathBuf,
    /// The crates of the workspace that it is built with.
    pub(super) dependencies: BTreeSet<String>,
    /// Further ones that its tests and benchmarks are built with.
    pub(super) dev_dependencies: BTreeSet<String>,
    /// Its files.
    pub(super) files: Vec<File>,
}

/// A source file of a crate, below `src`.
pub(super) struct File {
    /// The names of the modules that it lies in, itself included; empty for the root.
    pub(super) module: Vec<String>,
    /// Whether it is compiled for tests only.
    pub(super) is_test: bool,
    pub(super) source: Source,
}

impl Crate {
    /// The modules at the root that have files.
    pub(super) fn modules(&self) -> BTreeSet<&str> {
        self.files.iter().filter_map(|file| file.module.first()).map(String::as_str).collect()
    }

    /// What the root passes on: name and module.
    pub(super) fn passed_on(&self) -> BTreeMap<String, String> {
        let root = self.files.iter().filter(|file| file.module.is_empty());
        root.flat_map(|file| file.source.passed_on()).collect()
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the package lies in the workspace")
        .to_owned()
}

/// Every file with Rust in it, and its text; paths are below the workspace's folder.
pub(super) fn texts() -> BTreeMap<PathBuf, String> {
    let root = root();
    let mut found = BTreeMap::new();
    FOLDERS.iter().for_each(|folder| collect(&root, &root.join(folder), &mut found));
    assert!(found.len() > 50, "the walk found only {} files", found.len());
    found
}

fn collect(root: &Path, folder: &Path, found: &mut BTreeMap<PathBuf, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            collect(root, &path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.insert(
                path.strip_prefix(root).unwrap().to_owned(),
                fs::read_to_string(&path).unwrap(),
            );
        }
    }
}

/// Every member of the workspace.
pub(super) fn crates() -> Vec<Crate> {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let texts = texts();
    let all: Vec<Crate> = members(&manifest).iter().map(|folder| read(folder, &texts)).collect();
    assert!(all.len() > 5, "the manifest names only {} crates", all.len());
    all
}

fn read(folder: &str, texts: &BTreeMap<PathBuf, String>) -> Crate {
    let manifest = fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
    let sources = Path::new(folder).join("src");
    let inside =
        texts.iter().filter_map(|(path, text)| Some((path.strip_prefix(&sources).ok()?, text)));
    let mut files: Vec<File> = inside
        .map(|(below, text)| File {
            module: module(below),
            is_test: below.iter().any(|part| part == "tests" || part == "tests.rs"),
            source: Source::parse(text),
        })
        .collect();
    mark_tests(&mut files);
    let dependencies = dependencies(&manifest, "[dependencies]");
    let mut dev_dependencies = self::dependencies(&manifest, "[dev-dependencies]");
    dev_dependencies.retain(|name| !dependencies.contains(name));
    Crate { name: name(&manifest), folder: folder.into(), dependencies, dev_dependencies, files }
}

/// Marks the files of modules that are declared for tests only.
fn mark_tests(files: &mut [File]) {
    let declared = |file: &File| {
        let within = file.module.clone();
        file.source
            .test_modules()
            .into_iter()
            .map(move |name| [within.clone(), vec![name]].concat())
    };
    let modules: Vec<Vec<String>> = files.iter().flat_map(declared).collect();
    for file in files {
        file.is_test |= modules.iter().any(|module| file.module.starts_with(module));
    }
}

fn module(below: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        below.with_extension("").iter().map(|part| part.to_str().unwrap().to_owned()).collect();
    names.pop_if(|last| matches!(last.as_str(), "mod" | "lib" | "main"));
    names
}

/// The folders in `members = [...]`.
fn members(manifest: &str) -> Vec<String> {
    let (_, list) = manifest.split_once("\nmembers = [").expect("the workspace has members");
    let (list, _) = list.split_once(']').expect("the list has an end");
    list.split(',')
        .map(|name| name.trim().trim_matches('"').to_owned())
        .filter(|name| !name.is_empty())
        .collect()
}

fn name(manifest: &str) -> String {
    let line = manifest.lines().find_map(|line| line.strip_prefix("name = "));
    line.expect("a package has a name").trim_matches('"').to_owned()
}

/// The crates of the workspace in a section of dependencies.
fn dependencies(manifest: &str, wanted: &str) -> BTreeSet<String> {
    let (mut section, mut found) = ("", BTreeSet::new());
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line;
        } else if section == wanted && line.starts_with("quorate-") {
            found.extend(line.split(['.', ' ', '=']).next().map(str::to_owned));
        }
    }
    found
}

#[test]
fn manifests_are_read() {
    assert_eq!(members("[workspace]\nmembers = [\"a\", \"b/c\",\n \"d\"]\n"), ["a", "b/c", "d"]);
    let manifest = "[package]\nname = \"a\"\n[dependencies]\nquorate-b.workspace = true\nother = \"1\"\n[lints]\n\
                    quorate-x = 1\n[dev-dependencies]\nquorate-c = { workspace = true }\n";
    assert_eq!(name(manifest), "a");
    assert_eq!(dependencies(manifest, "[dependencies]"), ["quorate-b".to_owned()].into());
    assert_eq!(dependencies(manifest, "[dev-dependencies]"), ["quorate-c".to_owned()].into());
}

#[test]
fn paths_are_modules() {
    let check = |path: &str, expect: &[&str]| assert_eq!(module(Path::new(path)), expect, "{path}");
    check("lib.rs", &[]);
    check("a.rs", &["a"]);
    check("a/mod.rs", &["a"]);
    check("a/b.rs", &["a", "b"]);
}
