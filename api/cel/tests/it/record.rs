//! Records of the corpus: an expression, its variables, and the answer.
//!
//! Invariant: reads every record of every file. Not here: comparison (`corpus`).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use quorate_cel::environment::{Environment, Library};
use quorate_cel::record::decode_type;
use quorate_cel::types::Type;
use quorate_meta::Naming;
use serde_json::Value as Json;

/// One expression with its answer.
pub(crate) struct Record {
    /// `FILE/NUMBER`.
    pub(crate) id: String,
    /// The text.
    pub(crate) expr: String,
    /// The whole record.
    pub(crate) json: Json,
}

impl Record {
    /// Stage and text of the error that is expected.
    pub(crate) fn error(&self) -> Option<(&str, &str)> {
        let error = self.json.get("error")?;
        Some((error["stage"].as_str()?, error["text"].as_str()?))
    }

    /// The environment that the record's variables make.
    pub(crate) fn environment(&self, library: &Arc<Library>) -> Environment {
        let declared = self.json["vars"].as_object().into_iter().flatten();
        declared.fold(Environment::new(library.clone()), |environment, (name, variable)| {
            environment.with_variable(name.as_str(), read_type(&variable["type"]))
        })
    }
}

/// Where the corpus lies, when it is there.
pub(crate) fn corpus_directory() -> Option<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/cel/corpus");
    directory.is_dir().then_some(directory)
}

/// All records, by file.
pub(crate) fn files(directory: &Path) -> Vec<(String, Vec<Record>)> {
    let mut files: Vec<_> = std::fs::read_dir(directory)
        .expect("the corpus can be listed")
        .map(|entry| entry.expect("an entry can be read").path())
        .collect();
    files.sort();
    files
        .iter()
        .map(|path| (path.file_stem().expect("a name").to_string_lossy().into_owned(), read(path)))
        .collect()
}

fn read(path: &Path) -> Vec<Record> {
    let text = std::fs::read_to_string(path).expect("a corpus file can be read");
    text.lines()
        .map(|line| {
            let json: Json = serde_json::from_str(line).expect("a record is JSON");
            let text =
                |field: &str| json[field].as_str().expect("a record has this field").to_owned();
            Record { id: text("id"), expr: text("expr"), json }
        })
        .collect()
}

/// A type of the corpus' notation.
pub(crate) fn read_type(json: &Json) -> Type {
    decode_type(&tree(json), Naming::Svc).expect("a type of the corpus")
}

/// JSON as a tree of the crate that the engine reads.
pub(crate) fn tree(json: &Json) -> quorate_meta::Value {
    json.clone().into()
}
