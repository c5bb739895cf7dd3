//! Rules of the source that no compiler checks: every file says what it is, none is too long, dependencies go one way.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Past this many lines a file must be split.
const LONGEST_FILE: usize = 400;
/// Past this many lines a file is named in the report.
const LONG_FILE: usize = 250;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package lies in the workspace").to_owned()
}

fn sources() -> BTreeMap<PathBuf, String> {
    let root = workspace();
    let mut found = BTreeMap::new();
    let mut folders: Vec<PathBuf> =
        ["node", "raft", "api", "simulation-tests"].iter().map(|name| root.join(name)).collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("target") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.insert(path.strip_prefix(&root).unwrap().to_owned(), fs::read_to_string(&path).unwrap());
            }
        }
    }
    assert!(found.len() > 50, "the walk found only {} files", found.len());
    found
}

#[test]
fn every_file_opens_with_what_it_is() {
    let silent: Vec<_> =
        sources().into_iter().filter(|(_, text)| !text.starts_with("//!")).map(|(path, _)| path).collect();
    assert!(silent.is_empty(), "these files do not open with //!: {silent:?}");
}

#[test]
fn no_file_is_too_long() {
    let mut long: Vec<_> = sources().into_iter().map(|(path, text)| (text.lines().count(), path)).collect();
    long.retain(|(lines, _)| *lines > LONG_FILE);
    long.sort();
    for (lines, path) in &long {
        println!("{lines:5} {}", path.display());
    }
    assert!(
        long.iter().all(|(lines, _)| *lines <= LONGEST_FILE),
        "a file is longer than {LONGEST_FILE} lines: {long:?}"
    );
}

#[test]
fn the_api_never_sees_raft() {
    for (path, text) in sources() {
        if path.starts_with("api") || path.starts_with("raft/store") {
            assert!(!text.contains("quorate_raft"), "{} uses the raft crate", path.display());
        }
    }
}

/// What each module of the API may use of the others. A new edge is a decision: write it down here.
const API_EDGES: &[(&str, &[&str])] = &[
    ("admission", &["error", "registry"]),
    (
        "api",
        &[
            "admission",
            "audit",
            "authentication",
            "authorization",
            "continue_token",
            "fanout",
            "features",
            "flow_control",
            "health",
            "in_flight",
            "lifecycle",
            "negotiation",
            "openapi",
            "registry",
        ],
    ),
    ("audit", &["authentication", "body", "encoding", "request", "request_record"]),
    ("authentication", &["error", "registry"]),
    ("authorization", &["authentication", "error", "registry", "request"]),
    ("body", &[]),
    ("continue_token", &[]),
    ("controllers", &["admission", "api", "authentication", "authorization", "error", "registry"]),
    ("encoding", &[]),
    ("error", &["freshness", "request"]),
    ("fanout", &[]),
    ("features", &[]),
    (
        "filters",
        &[
            "api",
            "audit",
            "authentication",
            "authorization",
            "body",
            "error",
            "handlers",
            "health",
            "in_flight",
            "lifecycle",
            "negotiation",
            "request",
            "request_record",
            "respond",
        ],
    ),
    ("flow_control", &["authentication", "authorization", "in_flight", "registry", "request"]),
    (
        "handlers",
        &[
            "api",
            "authentication",
            "authorization",
            "body",
            "continue_token",
            "encoding",
            "error",
            "fanout",
            "features",
            "freshness",
            "health",
            "lifecycle",
            "negotiation",
            "openapi",
            "patch",
            "registry",
            "request",
            "request_record",
            "respond",
            "tables",
        ],
    ),
    ("freshness", &[]),
    ("health", &[]),
    ("in_flight", &[]),
    ("lifecycle", &[]),
    ("negotiation", &["encoding"]),
    ("openapi", &["error", "registry", "respond"]),
    ("patch", &[]),
    ("registry", &["error", "features", "patch"]),
    ("request", &[]),
    ("request_record", &["authentication", "authorization", "flow_control", "request"]),
    ("respond", &["body", "error", "negotiation"]),
    ("server", &["api", "authentication", "body", "filters"]),
    ("tables", &["error"]),
];

#[test]
fn modules_of_the_api_use_only_what_is_written_down() {
    let mut found = 0;
    for (path, text) in sources() {
        let Ok(inside) = path.strip_prefix("api/src") else { continue };
        let module = inside.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs");
        if module == "lib" {
            continue;
        }
        let allowed = API_EDGES.iter().find(|(name, _)| *name == module);
        let (_, allowed) = allowed.unwrap_or_else(|| panic!("the module '{module}' is not in the table"));
        for rest in text.split("crate::").skip(1) {
            let used = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap();
            // Types that the crate's root re-exports.
            let used = match used {
                "Api" | "ApiOptions" | "Version" => "api",
                "Error" => "error",
                used => used,
            };
            assert!(
                used == module || allowed.contains(&used),
                "{}: uses '{used}', which '{module}' must not",
                path.display()
            );
            found += usize::from(used != module);
        }
    }
    assert!(found > 50, "the walk found only {found} uses");
}
