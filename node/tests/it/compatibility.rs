//! The page of compatibility: its lists are those of the tables that the server itself uses.
//!
//! With `QUORATE_UPDATE=1` the test writes the lists into the page instead of comparing them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use quorate_kinds::builtin;
use quorate_meta::Naming;

/// A list of the page: the name in its markers, and how it is made.
type List = (&'static str, fn() -> String);
/// All of them.
const LISTS: [List; 4] =
    [("clients", clients), ("versions", versions), ("gates", gates), ("metrics", metrics)];
/// The last names of a row of a list are wrapped there, in bytes.
const LINE_BYTES: usize = 130;

#[test]
fn the_page_is_what_the_tables_say() {
    let path = root().join("deploy/COMPATIBILITY.md");
    let page = fs::read_to_string(&path).unwrap();
    let mut expect = page.clone();
    for (name, make) in LISTS {
        expect = with_list(&expect, name, &make());
    }
    if std::env::var_os("QUORATE_UPDATE").is_some() {
        return fs::write(&path, expect).unwrap();
    }
    assert!(page == expect, "{} is not up to date: see the header of this file", path.display());
}

fn with_list(page: &str, name: &str, list: &str) -> String {
    let (begin, end) = (format!("<!-- list {name} -->\n"), format!("<!-- end {name} -->"));
    let (before, rest) = page.split_once(&begin).expect("the list begins");
    let (_, after) = rest.split_once(&end).expect("the list ends");
    format!("{before}{begin}\n{list}\n{end}{after}")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The rows of a table, split into their columns.
fn rows(table: &str) -> Vec<Vec<String>> {
    let lines = table.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| line.split(" | ").map(str::to_owned).collect()).collect()
}

/// Names as lines of code words.
fn names<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let (mut lines, mut line) = (String::new(), String::new());
    for name in names {
        if line.len() + name.len() > LINE_BYTES {
            writeln!(lines, "{line}").unwrap();
            line.clear();
        }
        let between = if line.is_empty() { "" } else { " " };
        write!(line, "{between}`{name}`").unwrap();
    }
    lines + &line + "\n"
}

fn clients() -> String {
    let tools = read(".ci/tools");
    let pinned = |begin: &str| {
        let line = tools.lines().find_map(|line| line.strip_prefix(begin)).expect("it is pinned");
        line.trim_matches('\'').split_once("==").expect("with its version").1.to_owned()
    };
    let lock = read("node/tests/kube-rs/Cargo.lock");
    let locked = |name: &str| {
        let (_, rest) = lock.split_once(&format!("name = \"{name}\"\nversion = \"")).unwrap();
        rest.split_once('"').unwrap().0.to_owned()
    };
    let rows = [
        (
            "kubectl, helm",
            "of release 1.35".to_owned(),
            "kubectl.rs, kubectl_reads.rs, kubectl_writes.rs, chart/",
        ),
        ("Python `kubernetes`", pinned("client="), "python.rs"),
        ("Python `kopf`", pinned("operator="), "custom_resources/kopf.rs"),
        ("kube-rs", locked("kube"), "custom_resources/kube_rs.rs, informers/kube_rs.rs"),
        ("k8s-openapi", locked("k8s-openapi"), "custom_resources/kube_rs.rs, informers/kube_rs.rs"),
    ];
    let mut list = "| Client | Version | Tests in `node/tests/it` |\n|---|---|---|\n".to_owned();
    for (client, version, tests) in rows {
        writeln!(list, "| {client} | {version} | {tests} |").unwrap();
    }
    list
}

/// The resources of each group version that the server can serve.
fn versions() -> String {
    let catalogue = builtin::catalogue_of(Naming::Kubernetes.names());
    let mut known: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    let switched_off = catalogue.stored().filter(|resource| !resource.served);
    for resource in catalogue.builtin().chain(switched_off) {
        let off = if resource.served { "" } else { " (off)" };
        let version = (&*resource.group, &*resource.version);
        known.entry(version).or_default().push(format!("`{}`{off}", resource.plural));
    }
    let mut list = "| Group version | Resources |\n|---|---|\n".to_owned();
    for ((group, version), resources) in known {
        let slash = if group.is_empty() { "" } else { "/" };
        writeln!(list, "| {group}{slash}{version} | {} |", resources.join(" ")).unwrap();
    }
    list
}

fn gates() -> String {
    let table = rows(&read("api/registry/src/features/release.table"));
    let of = |usage: &str| {
        let gates = table.iter().filter_map(|row| row[0].split_once(' '));
        names(gates.filter(|gate| gate.1 == usage).map(|gate| gate.0))
    };
    format!(
        "Switch something here:\n\n{}\nKeep their default, and refuse another value:\n\n{}\nAre of no \
         concern to an API server, and accept any value:\n\n{}",
        of("here"),
        of("fixed"),
        of("unused")
    )
}

fn metrics() -> String {
    let mut list = "| Metric | Why it is not here |\n|---|---|\n".to_owned();
    for row in rows(&read("api/metrics/src/not_here.table")) {
        writeln!(list, "| `{}` | {} |", row[0], row[1]).unwrap();
    }
    list
}
