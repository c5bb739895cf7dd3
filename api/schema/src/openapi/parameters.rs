//! Request parameters: those of each operation, and their form in a dialect.

use quorate_meta::{Map, Value};

use super::Dialect;

/// Name, JSON type and description of a query parameter.
pub(super) type Parameter = (&'static str, &'static str, &'static str);

/// On every path.
pub(super) const PRETTY: [Parameter; 1] =
    [("pretty", "string", "Writes JSON for people when true.")];

const SELECTION: [Parameter; 8] = [
    ("continue", "string", "Token of the part before; asks for the next part of the same list."),
    ("fieldSelector", "string", "Only objects whose fields have these values."),
    ("labelSelector", "string", "Only objects whose labels match."),
    ("limit", "integer", "Most items in one answer."),
    ("resourceVersion", "string", "Version of the collection that is asked for."),
    ("resourceVersionMatch", "string", "How resourceVersion is meant: NotOlderThan or Exact."),
    ("sendInitialEvents", "boolean", "Begins a watch with the state as events."),
    ("timeoutSeconds", "integer", "Ends the request after this time."),
];

const WATCHING: [Parameter; 2] = [
    ("allowWatchBookmarks", "boolean", "Allows events that only tell how far the watch is."),
    ("watch", "boolean", "Answers with a stream of changes instead of a list."),
];

const DRY_RUN: Parameter = ("dryRun", "string", "All runs every stage but stores nothing.");

const WRITING: [Parameter; 2] = [
    ("fieldManager", "string", "Name of the writer in managedFields."),
    (
        "fieldValidation",
        "string",
        "What is done about unknown and duplicate fields: Ignore, Warn or Strict.",
    ),
];

const FORCE: Parameter = ("force", "boolean", "Takes over fields of others in an apply.");

const DELETING: [Parameter; 4] = [
    ("gracePeriodSeconds", "integer", "Seconds before removal; zero means at once."),
    (
        "ignoreStoreReadErrorWithClusterBreakingPotential",
        "boolean",
        "Removes an object that cannot be read any more; unsafe.",
    ),
    ("orphanDependents", "boolean", "Older form of propagationPolicy."),
    (
        "propagationPolicy",
        "string",
        "What happens to dependents: Orphan, Background or Foreground.",
    ),
];

/// The query parameters of an action.
pub(super) fn of_action(action: &str) -> Vec<Parameter> {
    let mut all: Vec<Parameter> = Vec::new();
    match action {
        "list" | "watch" | "watchlist" => {
            all.extend(SELECTION);
            all.extend(WATCHING);
        }
        "post" | "put" | "patch" => {
            all.push(DRY_RUN);
            all.extend(WRITING);
            if action == "patch" {
                all.push(FORCE);
            }
        }
        "delete" | "deletecollection" => {
            all.push(DRY_RUN);
            all.extend(DELETING);
            if action == "deletecollection" {
                all.extend(SELECTION);
            }
        }
        _ => {}
    }
    all.sort_by_key(|parameter| parameter.0);
    all
}

/// Writes a query parameter.
pub(super) fn query(dialect: Dialect, (name, kind, description): Parameter) -> Value {
    parameter(dialect, "query", name, kind, description)
}

/// Writes a parameter of the path.
pub(super) fn path(dialect: Dialect, name: &str, description: &str) -> Value {
    let mut value = parameter(dialect, "path", name, "string", description);
    if let Value::Map(map) = &mut value {
        map.insert("required", true);
    }
    value
}

fn parameter(dialect: Dialect, place: &str, name: &str, kind: &str, description: &str) -> Value {
    let mut map = Map::from([("description", description), ("in", place), ("name", name)]);
    match dialect {
        Dialect::V2 => {
            map.insert("type", kind);
            map.insert("uniqueItems", true);
        }
        Dialect::V3 => {
            map.insert(
                "schema",
                Map::from([("type", Value::from(kind)), ("uniqueItems", true.into())]),
            );
        }
    }
    Value::Map(map)
}
