//! Every schema of real definitions compiles, where a checkout of them lies beside the repository.

use std::path::{Path as FilePath, PathBuf};

use super::*;
use crate::structural::cel_types::Declarations;

/// Definitions as projects publish them: `PROJECT/NAME.yaml`.
const DEFINITIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/real/crds");

fn files() -> Vec<PathBuf> {
    let entries = |path: &FilePath| {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let projects = entries(FilePath::new(DEFINITIONS));
    projects
        .iter()
        .flat_map(|project| entries(project))
        .filter(|file| file.extension().is_some_and(|ext| ext == "yaml"))
        .collect()
}

fn anything(_: &str) -> Result<Arc<dyn Matcher>, String> {
    Ok(Arc::new(Plain(String::new())))
}

/// Compiles all versions of a definition; how many there are.
fn check(base: &Arc<Graph>, file: &FilePath) -> usize {
    let text = std::fs::read_to_string(file).expect("a readable file");
    let definition: Value =
        serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let versions =
        definition.at(&["spec", "versions"]).and_then(Value::as_list).unwrap_or_default();
    for version in versions {
        let Some(schema) = version.at(&["schema", "openAPIV3Schema"]) else {
            continue;
        };
        let options = Options {
            base,
            patterns: &anything,
            has_status: version.at(&["subresources", "status"]).is_some(),
        };
        let compiled = compile(schema, &Path::new(AT), options)
            .unwrap_or_else(|causes| panic!("{}: {:#?}", file.display(), shown(&causes)));
        let declarations = Declarations::new(&compiled);
        assert!(declarations.of(compiled.root()).is_some(), "{}", file.display());
    }
    versions.len()
}

#[test]
fn real_definitions_compile() {
    let files = files();
    if files.is_empty() {
        return eprintln!("skipped: no definitions at {DEFINITIONS}");
    }
    let base = base(Naming::Kubernetes);
    let versions: usize = files.iter().map(|file| check(&base, file)).sum();
    assert!(versions >= files.len(), "every definition has a version");
}
