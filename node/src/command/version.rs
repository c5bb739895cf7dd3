//! `quorate version`: the build, the formats that it writes and reads, and its feature gates.

use quorate_raft::{FORMATS, Format};
use quorate_registry::features::{Gate, Usage};
use quorate_registry::release::Release;
use serde_json::{Value, json};

use crate::cli::{Output, Version};
use crate::terminal::{print_line, print_table};

/// The first line of the answer.
const BUILD: &str = concat!("quorate ", env!("CARGO_PKG_VERSION"), " (API release 1.35)");

/// Prints it.
pub(crate) fn run(options: &Version) {
    match options.output {
        Output::Json => print_line(answer(options.features)),
        Output::Table => print_text(options.features),
    }
}

fn formats() -> impl Iterator<Item = Format> {
    let backup = u32::from(quorate_backup::sealed::FORMAT);
    FORMATS.into_iter().chain([Format { name: "backup", written: backup, oldest: backup }])
}

fn answer(features: bool) -> Value {
    let format = |format: Format| json!({"name": format.name, "written": format.written, "oldest": format.oldest});
    let mut answer = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "release": Release::CURRENT.to_string(),
        "formats": formats().map(format).collect::<Vec<_>>(),
    });
    if features {
        let gate = |[name, stage, default, usage]: [String; 4]| json!({"name": name, "stage": stage, "default": default, "use": usage});
        answer["features"] = gates().into_iter().map(gate).collect();
    }
    answer
}

fn print_text(features: bool) {
    print_line(BUILD);
    print_line("");
    let rows = formats().map(|format| {
        [format.name.to_owned(), format.written.to_string(), format.oldest.to_string()]
    });
    print_table(["FORMAT", "WRITTEN", "OLDEST READ"], &rows.collect::<Vec<_>>());
    if features {
        print_line("");
        print_table(["FEATURE GATE", "STAGE", "DEFAULT", "USE"], &gates());
    }
}

/// Name, stage, default and use of each gate that the release has.
fn gates() -> Vec<[String; 4]> {
    let row = |gate: Gate| {
        let state = gate.at(Release::CURRENT)?;
        let default = if state.default { "on" } else { "off" };
        let usage = match gate.usage {
            Usage::Here(_) => "implemented",
            Usage::Fixed => "not implemented, cannot be changed",
            Usage::Unused => "nothing here depends on it",
        };
        let stage = state.stage.to_string();
        Some([gate.name.to_owned(), stage, default.to_owned(), usage.to_owned()])
    };
    Gate::all().into_iter().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_has_every_format_and_gate() {
        let answer = answer(true);
        let names = |list: &Value| -> Vec<String> {
            let names = list.as_array().unwrap().iter();
            names.map(|item| item["name"].as_str().unwrap().to_owned()).collect()
        };
        let formats = ["peer protocol", "log", "state", "snapshot stream", "archive", "backup"];
        assert_eq!(names(&answer["formats"]), formats);
        for format in answer["formats"].as_array().unwrap() {
            assert!(format["oldest"].as_u64() <= format["written"].as_u64(), "{format}");
        }
        let gates = names(&answer["features"]);
        for gate in ["WatchList", "CBORServingAndStorage", "MutatingAdmissionPolicy"] {
            assert!(gates.iter().any(|name| name == gate), "{gate}");
        }
    }
}
