//! `quorate blame`: an object in YAML, with the change beside each line that gave it its value.

mod annotated;
mod field_path;

use std::collections::BTreeMap;

use quorate_env::Env;
use quorate_meta::{Time, Value};

use self::annotated::{YamlLine, lines};
use self::field_path::{Step, resolve};
use super::object_text::{drop_managed_fields, json};
use super::session::Session;
use crate::cli::{Blame, ChangeOutput};
use crate::cluster_client::{Change, QueryParameters};
use crate::error::Error;
use crate::terminal::{print_line, print_note};

/// Beside a line whose value is older than what is known.
const OLDER: &str = "(older)";

/// Carries out the command.
pub(in crate::command) async fn run(options: &Blame, env: &Env) -> Result<(), Error> {
    let mut session = Session::open(&options.cluster, env).await?;
    session.learn_types(&options.object).await;
    let (resource, name) = session.object(&options.object)?;
    let namespace = session.namespace(&resource, options.namespace.as_deref());
    let path = resource.object(namespace.as_deref(), &name);
    let query = QueryParameters::default()
        .with("blame", "true")
        .with_some("asOf", options.as_of.map(|moment| session.query(moment)));
    let blame = session.client.get(&query.path(&path)).await?;
    if options.output == ChangeOutput::Json {
        print_line(json(&blame)?);
        return Ok(());
    }
    let version = blame.str_at(&["metadata", "resourceVersion"]).unwrap_or_default();
    // The object of the same revision, whatever has happened since.
    let mut object =
        session.client.get(&QueryParameters::default().with("asOf", version).path(&path)).await?;
    drop_managed_fields(&mut object);
    object.remove_at(&["metadata", "resourceVersion"]);
    let found = annotations(&blame, &object, options.output == ChangeOutput::Wide);
    print_beside(&lines(&object), &found);
    if blame.get("complete").and_then(Value::as_bool) == Some(false) {
        let from = blame.str_at(&["oldest", "time"]).unwrap_or_default();
        print_note(format_args!("{OLDER}: from before {from}, further back than is known"));
    }
    Ok(())
}

/// What is said beside each field.
fn annotations(blame: &Value, object: &Value, is_wide: bool) -> BTreeMap<Vec<Step>, Vec<String>> {
    let list = |member: &str| blame.get(member).and_then(Value::as_list).unwrap_or_default();
    let changes: BTreeMap<&str, Vec<String>> = list("changes")
        .iter()
        .filter_map(|change| {
            let change_text = change.str_at(&["revision"])?;
            Some((change_text, cells(&Change(change.clone()), is_wide)))
        })
        .collect();
    let fields = list("fields").iter().filter_map(|field| {
        let path = resolve(object, field.str_at(&["path"])?)?;
        let change = field.str_at(&["revision"]).and_then(|revision| changes.get(revision));
        Some((path, change.cloned().unwrap_or_else(|| vec![OLDER.to_owned()])))
    });
    fields.collect()
}

/// What is said of a change.
fn cells(change: &Change, is_wide: bool) -> Vec<String> {
    let time = Time::parse(change.text("time")).map(Time::seconds).unwrap_or_default();
    let mut cells = vec![time, change.user(), change.text("manager").to_owned(), change.verb()];
    if is_wide {
        cells.push(change.text("revision").to_owned());
        cells.push(change.text("auditID").to_owned());
    }
    cells
}

/// Prints the lines, each behind its field's change.
fn print_beside(lines: &[YamlLine], found: &BTreeMap<Vec<Step>, Vec<String>>) {
    beside(lines, found).iter().for_each(print_line);
}

fn beside(lines: &[YamlLine], found: &BTreeMap<Vec<Step>, Vec<String>>) -> Vec<String> {
    let mut widths: Vec<usize> = Vec::new();
    for cells in found.values() {
        widths.resize(widths.len().max(cells.len()), 0);
        for (width, cell) in widths.iter_mut().zip(cells) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let none = Vec::new();
    lines
        .iter()
        .map(|line| {
            // A list or map that is one field is told at each of its lines.
            let parts = (0..=line.path.len()).rev().find_map(|end| found.get(&line.path[..end]));
            let cells = if line.is_leaf { parts.unwrap_or(&none) } else { &none };
            let empty = String::new();
            let padded = widths
                .iter()
                .enumerate()
                .map(|(at, width)| format!("{:width$}", cells.get(at).unwrap_or(&empty)));
            let margin = padded.collect::<Vec<_>>().join("  ");
            format!("{margin} │ {}", line.text).trim_end().to_owned()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_field_has_its_change() {
        let object: Value = json!({
            "kind": "X", "metadata": {"name": "a", "annotations": {"a.b/c": "x\ny\n"}},
            "spec": {"replicas": 3, "args": ["-a", "-b"], "containers": [{"name": "web", "image": "i"}]},
        })
        .into();
        let blame: Value = json!({
            "fields": [
                {"path": ".kind", "revision": "1"},
                {"path": ".metadata.annotations[\"a.b/c\"]", "revision": "2"},
                {"path": ".metadata.name", "older": true},
                {"path": ".spec.args", "revision": "2"},
                {"path": ".spec.containers[name=\"web\"].image", "revision": "1"},
                {"path": ".spec.replicas", "revision": "9"},
            ],
            "changes": [
                {"revision": "2", "time": "2026-01-01T00:00:02.5Z", "user": {"username": "bob"}, "manager": "m", "verb": "patch"},
                {"revision": "1", "time": "2026-01-01T00:00:01Z", "source": "gc", "type": "ADDED"},
            ],
        })
        .into();
        let found = annotations(&blame, &object, false);
        let bob = "2026-01-01T00:00:02Z  bob  m  patch  │";
        let gc = "2026-01-01T00:00:01Z  gc      create │";
        let none = "                                     │";
        let older = "(older)                              │";
        let expect = [
            (gc, "kind: X"),
            (none, "metadata:"),
            (none, "  annotations:"),
            (bob, "    a.b/c: |"),
            (bob, "      x"),
            (bob, "      y"),
            (older, "  name: a"),
            (none, "spec:"),
            (none, "  args:"),
            (bob, "  - -a"),
            (bob, "  - -b"),
            (none, "  containers:"),
            (gc, "  - image: i"),
            (none, "    name: web"),
            (older, "  replicas: 3"),
        ];
        let squeeze = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let got: Vec<_> = beside(&lines(&object), &found);
        for (line, (margin, text)) in got.iter().zip(expect) {
            let (left, right) = line.split_once('│').unwrap();
            assert_eq!(squeeze(left), squeeze(margin.trim_end_matches('│')), "{line}");
            assert_eq!(right, format!(" {text}"), "{line}");
        }
        assert_eq!(got.len(), expect.len());
    }
}
