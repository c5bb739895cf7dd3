//! Real objects against real definitions, where a checkout of them lies beside the repository: what the schema says of them is what a
//! release-1.35 server said.

use std::collections::{BTreeSet, HashMap};

use super::*;
use crate::{apply_defaults, decode};

/// Definitions, objects and the server's verdicts.
const REAL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/real");
/// Objects whose findings were compared when this test was written.
const LEAST_COMPARED: usize = 3_500;
/// What the server says about rules that it did not evaluate.
const RULES_SKIPPED: &str = "some validation rules were not checked";

#[derive(Debug)]
struct Regex(regex::Regex);

impl Matcher for Regex {
    fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

fn patterns(pattern: &str) -> Result<Arc<dyn Matcher>, String> {
    let compiled = regex::Regex::new(pattern).map_err(|error| error.to_string())?;
    Ok(Arc::new(Regex(compiled)))
}

fn read(file: &str) -> Option<Value> {
    let text = std::fs::read_to_string(format!("{REAL}/{file}")).ok()?;
    serde_saphyr::from_str(&text).ok()
}

type Known = HashMap<(String, String), (Structural, bool)>;

/// Compiles all versions of a definition; they replace those of the same apiVersion and kind.
fn learn(base: &Arc<Graph>, definition: &Value, known: &mut Known) {
    let text = |keys: &[&str]| definition.str_at(keys).unwrap_or_default().to_owned();
    let (group, kind) = (text(&["spec", "group"]), text(&["spec", "names", "kind"]));
    for version in definition.at(&["spec", "versions"]).and_then(Value::as_list).unwrap_or_default()
    {
        let Some(schema) = version.at(&["schema", "openAPIV3Schema"]) else {
            continue;
        };
        let has_status = version.at(&["subresources", "status"]).is_some();
        let options = Options { base, patterns: &patterns, has_status };
        let Ok(compiled) = compile(schema, &Path::new(AT), options) else {
            continue;
        };
        let name = version.str_at(&["name"]).unwrap_or_default();
        known.insert((format!("{group}/{name}"), kind.clone()), (compiled, has_status));
    }
}

/// Reason and place of what is wrong with the schemas of a definition, as found and as told; expressions in CEL, their
/// costs and versions without a schema are checked elsewhere.
fn check_definition(base: &Arc<Graph>, line: &Value, definition: &Value) -> bool {
    let mut found = BTreeSet::new();
    for version in definition.at(&["spec", "versions"]).and_then(Value::as_list).unwrap_or_default()
    {
        let Some(schema) = version.at(&["schema", "openAPIV3Schema"]) else {
            continue;
        };
        let has_status = version.at(&["subresources", "status"]).is_some();
        let causes =
            compile(schema, &Path::new(AT), Options { base, patterns: &patterns, has_status })
                .err();
        let place = |cause: Cause| (cause.reason.as_str().to_owned(), cause.field.replace(AT, ""));
        found.extend(causes.unwrap_or_default().into_iter().map(place));
    }
    let causes = line.get("causes").and_then(Value::as_list).unwrap_or_default();
    let told = causes.iter().filter_map(|cause| {
        let [reason, field] = cause.as_list()? else {
            return None;
        };
        let (_, place) = field.as_str()?.split_once("openAPIV3Schema")?;
        let is_form = reason.as_str() == Some("FieldValueRequired")
            || [".reason", ".fieldPath"].iter().any(|end| place.ends_with(end));
        let is_elsewhere =
            place.is_empty() || (place.contains("x-kubernetes-validations") && !is_form);
        (!is_elsewhere).then(|| (reason.as_str().unwrap_or_default().to_owned(), place.to_owned()))
    });
    found == told.collect()
}

/// What is found about an object that is created; `None` when it is not decoded.
fn findings(known: &Known, mut object: Value) -> Option<BTreeSet<String>> {
    let text = |name| object.str_at(&[name]).unwrap_or_default().to_owned();
    let (schema, has_status) = known.get(&(text("apiVersion"), text("kind")))?;
    if *has_status {
        object.as_map_mut()?.remove("status");
    }
    decode(schema.graph(), schema.ty(), &mut object).ok()?;
    apply_defaults(schema.graph(), schema.ty(), &mut object);
    let mut causes = schema.validate(&object);
    causes.extend(schema.duplicates(&object));
    causes.extend(schema.validate_embedded(&object, &|_, _| Vec::new()));
    Some(causes.into_iter().map(|cause| cause.message).collect())
}

/// Whether a recorded message is one that a schema has; rules in CEL have texts of their own.
fn is_of_schema(message: &str) -> bool {
    [" in body ", "schema (", "schemas ("].iter().any(|part| message.contains(part))
        || ["Unsupported value", "Required value", "Too many", "Too long", "Duplicate"]
            .iter()
            .any(|start| message.starts_with(start))
}

/// Whether a message is the recorded one, in which long texts are cut.
fn is_same(found: &str, told: &str) -> bool {
    found == told || told.split_once(" … (").is_some_and(|(start, _)| found.starts_with(start))
}

/// Compares the findings about one object; `None` when there is nothing to compare.
fn check(known: &Known, line: &Value, file: &str) -> Option<bool> {
    let messages = line.get("messages").and_then(Value::as_list).unwrap_or_default();
    let told: BTreeSet<&str> = messages.iter().skip(1).filter_map(Value::as_str).collect();
    // Times are masked in what was recorded.
    let is_comparable = line.get("sub").is_none_or(Value::is_empty)
        && !told.iter().any(|text| text.contains("<time>"));
    let has_verdict = line
        .get("status")
        .and_then(Value::as_i64)
        .is_some_and(|status| status == 201 || status == 422);
    let found = findings(known, read(file).filter(|_| is_comparable && has_verdict)?)?;
    let of_schema = |text: &&&str| is_of_schema(text) && !text.contains(RULES_SKIPPED);
    let missing =
        told.iter().filter(of_schema).any(|text| !found.iter().any(|found| is_same(found, text)));
    let extra = found.iter().any(|found| !told.iter().any(|text| is_same(found, text)));
    Some(!missing && !extra)
}

#[test]
fn verdicts_agree() {
    let Ok(lines) = std::fs::read_to_string(format!("{REAL}/verdicts.jsonl")) else {
        return eprintln!("skipped: no verdicts at {REAL}");
    };
    let base = base(Naming::Kubernetes);
    let (mut known, mut compared, mut differ) = (Known::new(), 0, Vec::new());
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line).expect("a verdict");
        let (Some(file), Some(act)) = (line.str_at(&["file"]), line.str_at(&["do"])) else {
            continue;
        };
        let is_accepted =
            line.get("status").and_then(Value::as_i64).is_some_and(|status| status < 300);
        if file.starts_with("crds/") && act != "delete" {
            let Some(definition) = read(file) else {
                continue;
            };
            if is_accepted {
                learn(&base, &definition, &mut known);
            } else if !check_definition(&base, &line, &definition) {
                differ.push(file.to_owned());
            }
        } else if file.starts_with("crs/") && ["create", "dryrun"].contains(&act) {
            let Some(agrees) = check(&known, &line, file) else {
                continue;
            };
            compared += 1;
            differ.extend((!agrees).then(|| file.to_owned()));
        }
    }
    assert_eq!(differ, Vec::<String>::new());
    assert!(compared >= LEAST_COMPARED, "{compared}");
}
