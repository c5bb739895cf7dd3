//! Compiles the rules of definitions in a folder, keeps every program, and says what that took.
//!
//! ```text
//! cargo run --profile production -p quorate-cel --example real_rules -- FOLDER [PROGRAMS]
//! ```
//!
//! The folder holds `PROJECT/NAME.yaml`, one definition each. Where it has fewer rules than programs are asked for (10,000 by
//! default), it is compiled again from the beginning.

#![expect(clippy::print_stdout, reason = "its output is what it is for")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use quorate_cel::declarations::{SchemaDeclarations, pattern};
use quorate_cel::environment::Library;
use quorate_cel::program::Program;
use quorate_cel::types::Type;
use quorate_meta::{Naming, Path as FieldPath, Value};
use quorate_schema::Graph;
use quorate_schema::structural::{self, Additional, NodeId, Rule, Structural};

/// Bytes of a page of memory, as `/proc/self/statm` counts them.
const PAGE_BYTES: usize = 4096;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("the first argument is a folder with definitions")?;
    let wanted = arguments.next().map_or(Ok(10_000), |count| count.parse())?;
    let base = Arc::new(Graph::builtin(Naming::Kubernetes.names()));
    let schemas = schemas(Path::new(&folder), &base)?;
    let rules: usize = schemas.iter().map(|schema| rules(schema).len()).sum();
    if rules == 0 {
        return Err("there is no rule in the folder".into());
    }
    let library = Arc::new(Library::stored());
    let (started, before) = (Instant::now(), resident_bytes()?);
    let mut programs = Vec::with_capacity(wanted);
    let mut refused = 0;
    while programs.len() < wanted {
        for schema in &schemas {
            refused += compile(schema, &library, wanted, &mut programs);
        }
    }
    let (took, bytes) = (started.elapsed(), resident_bytes()?.saturating_sub(before));
    println!("{rules} rules in {} schemas; {refused} refused", schemas.len());
    println!(
        "{} programs in {took:.2?}, {:.1} MB, {} bytes each",
        programs.len(),
        bytes as f64 / 1e6,
        bytes / programs.len()
    );
    Ok(())
}

/// Compiles the rules of a schema until there are enough programs; how many rules do not compile.
fn compile(
    schema: &Structural,
    library: &Arc<Library>,
    wanted: usize,
    programs: &mut Vec<Program>,
) -> usize {
    let rules = rules(schema);
    if rules.is_empty() || programs.len() >= wanted {
        return 0;
    }
    let declarations = SchemaDeclarations::new(schema);
    let environment = declarations.environment(library.clone());
    let mut refused = 0;
    for (place, rule) in rules {
        let Some(shape) = declarations.shape(place) else {
            continue;
        };
        let own = shape.to_type();
        let old = match rule.optional_old_self {
            Some(true) => Type::Optional(Arc::new(own.clone())),
            _ => own.clone(),
        };
        let environment =
            environment.clone().with_variable("self", own).with_variable("oldSelf", old);
        match Program::compile(&environment, &rule.rule) {
            Ok(program) => programs.push(program),
            Err(error) => {
                println!("refused: {error}");
                refused += 1;
            }
        }
        if programs.len() == wanted {
            break;
        }
    }
    refused
}

/// Every rule of a schema and its place.
fn rules(schema: &Structural) -> Vec<(NodeId, &Rule)> {
    let (mut found, mut waiting) = (Vec::new(), vec![schema.root()]);
    while let Some(place) = waiting.pop() {
        let node = schema.node(place);
        found.extend(node.rules.iter().map(|rule| (place, rule)));
        waiting.extend(node.properties.iter().map(|(_, place)| *place));
        waiting.extend(node.items);
        if let Additional::Schema(values) = node.additional {
            waiting.push(values);
        }
    }
    found
}

/// The compiled schemas of all versions of all definitions.
fn schemas(folder: &Path, base: &Arc<Graph>) -> Result<Vec<Structural>, Box<dyn Error>> {
    let mut schemas = Vec::new();
    for file in files(folder)? {
        let definition: Value = serde_saphyr::from_str(&std::fs::read_to_string(file)?)?;
        let versions = definition.at(&["spec", "versions"]).and_then(Value::as_list);
        for version in versions.unwrap_or_default() {
            let Some(schema) = version.at(&["schema", "openAPIV3Schema"]) else {
                continue;
            };
            let has_status = version.at(&["subresources", "status"]).is_some();
            let options = structural::Options { base, patterns: &pattern, has_status };
            let compiled = structural::compile(schema, &FieldPath::new("schema"), options);
            schemas.push(compiled.map_err(|causes| format!("{causes:?}"))?);
        }
    }
    Ok(schemas)
}

fn files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for project in std::fs::read_dir(folder)? {
        for entry in std::fs::read_dir(project?.path())? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "yaml") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

fn resident_bytes() -> Result<usize, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/self/statm")?;
    let pages: usize = text.split(' ').nth(1).ok_or("no resident pages")?.parse()?;
    Ok(pages * PAGE_BYTES)
}
