//! `quorate get`: objects as they are or were.

use quorate_env::Env;
use quorate_meta::Value;

use super::columns::Columns;
use super::object_text::{drop_managed_fields, json, list, yaml};
use super::session::{Session, split};
use crate::cli::{Get, ObjectOutput};
use crate::cluster_client::{ApiResource, PAGE_OBJECTS, QueryParameters};
use crate::error::Error;
use crate::terminal::{print_line, print_note};

/// The form of the columns, in the name that both profiles know it by.
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

/// What is wanted of one type.
struct Wanted {
    resource: ApiResource,
    /// None: all of them.
    names: Vec<String>,
}

/// Carries out the command.
pub(in crate::command) async fn run(options: &Get, env: &Env) -> Result<(), Error> {
    let mut session = Session::open(&options.cluster, env).await?;
    session.learn_types(&options.objects).await;
    let wanted = wanted(&session, &options.objects)?;
    if wanted.iter().any(|wanted| !wanted.names.is_empty()) && options.namespaces.all_namespaces {
        return Err(Error::config("an object by its name is in one namespace: leave out -A"));
    }
    let query = QueryParameters::default()
        .with_some("asOf", options.as_of.map(|moment| session.query(moment)))
        .with_some("labelSelector", options.selector.as_deref())
        .with_some("fieldSelector", options.field_selector.as_deref());
    match options.output {
        ObjectOutput::Table | ObjectOutput::Wide => {
            tables(&mut session, options, &wanted, &query).await
        }
        _ => objects(&mut session, options, &wanted, &query).await,
    }
}

/// `TYPE[,TYPE…] [NAME…]` or `TYPE/NAME…`.
fn wanted(session: &Session, words: &[String]) -> Result<Vec<Wanted>, Error> {
    if words.iter().any(|word| word.contains('/')) {
        return words
            .iter()
            .map(|word| {
                let (kind, name) = split(std::slice::from_ref(word))?;
                let name = name.ok_or_else(|| {
                    Error::config(format_args!("'{word}' is not TYPE/NAME, as the others are"))
                })?;
                let resource = session.resources.resolve(kind)?.clone();
                Ok(Wanted { resource, names: vec![name.to_owned()] })
            })
            .collect();
    }
    let (types, names) = words.split_first().expect("clap asks for a type");
    let types: Vec<&str> = types.split(',').filter(|kind| !kind.is_empty()).collect();
    if types.len() > 1 && !names.is_empty() {
        return Err(Error::config("names need one type, or TYPE/NAME each"));
    }
    types
        .into_iter()
        .map(|kind| {
            let resource = session.resources.resolve(kind)?.clone();
            Ok(Wanted { resource, names: names.to_vec() })
        })
        .collect()
}

/// Prints objects in a form for programs.
async fn objects(
    session: &mut Session,
    options: &Get,
    wanted: &[Wanted],
    query: &QueryParameters,
) -> Result<(), Error> {
    let mut all = Vec::new();
    for Wanted { resource, names } in wanted {
        let scope = session.scope(resource, &options.namespaces);
        let scope = scope.as_deref();
        for name in names {
            all.push((
                resource,
                session.client.get(&query.path(&resource.object(scope, name))).await?,
            ));
        }
        if names.is_empty() {
            let found = session.client.list(&resource.collection(scope), query).await?;
            all.extend(found.into_iter().map(|object| (resource, object)));
        }
    }
    if options.output == ObjectOutput::Name {
        for (resource, object) in &all {
            print_line(resource.object_name(object.str_at(&["metadata", "name"]).unwrap_or("")));
        }
        return Ok(());
    }
    let mut items: Vec<Value> = all.into_iter().map(|(_, object)| object).collect();
    if !options.show_managed_fields {
        items.iter_mut().for_each(drop_managed_fields);
    }
    let is_one = wanted.len() == 1 && wanted[0].names.len() == 1;
    let whole = match items.pop() {
        Some(only) if is_one => only,
        last => {
            items.extend(last);
            list(items)
        }
    };
    match options.output {
        ObjectOutput::Yaml => print_line(yaml(&whole)),
        _ => print_line(json(&whole)?),
    }
    Ok(())
}

/// Prints a table of each type.
async fn tables(
    session: &mut Session,
    options: &Get,
    wanted: &[Wanted],
    query: &QueryParameters,
) -> Result<(), Error> {
    let is_wide = options.output == ObjectOutput::Wide;
    let mut is_first = true;
    for Wanted { resource, names } in wanted {
        let scope = session.scope(resource, &options.namespaces);
        let with_namespace = resource.namespaced && scope.is_none();
        let prefix = |name: &str| match wanted {
            [_] => name.to_owned(),
            _ => resource.object_name(name),
        };
        let mut paths: Vec<String> =
            names.iter().map(|name| query.path(&resource.object(scope.as_deref(), name))).collect();
        if names.is_empty() {
            let limited = query.clone().with("limit", PAGE_OBJECTS.to_string());
            paths.push(limited.path(&resource.collection(scope.as_deref())));
        }
        let mut columns: Option<Columns> = None;
        paths.reverse();
        while let Some(path) = paths.pop() {
            let table = session.client.get_as(&path, TABLE).await?;
            let rows = rows(&table, is_wide, with_namespace, &prefix);
            if let Some(next) =
                table.str_at(&["metadata", "continue"]).filter(|next| !next.is_empty())
            {
                let next =
                    query.clone().with("limit", PAGE_OBJECTS.to_string()).with("continue", next);
                paths.push(next.path(&resource.collection(scope.as_deref())));
            }
            if rows.is_empty() {
                continue;
            }
            let columns = columns.get_or_insert_with(|| {
                if !std::mem::take(&mut is_first) {
                    print_line("");
                }
                Columns::new(heading(&table, is_wide, with_namespace))
            });
            columns.lines(rows).iter().for_each(print_line);
        }
    }
    if is_first {
        print_note("no resources found");
    }
    Ok(())
}

/// The columns that are shown, by their indexes.
fn shown(table: &Value, is_wide: bool) -> Vec<(usize, &Value)> {
    let all = table.get("columnDefinitions").and_then(Value::as_list).unwrap_or_default();
    let is_shown = |column: &Value| {
        is_wide || column.get("priority").and_then(Value::as_i64).unwrap_or(0) == 0
    };
    all.iter().enumerate().filter(|(_, column)| is_shown(column)).collect()
}

fn heading(table: &Value, is_wide: bool, with_namespace: bool) -> Vec<String> {
    let names = shown(table, is_wide).into_iter();
    let names =
        names.map(|(_, column)| column.str_at(&["name"]).unwrap_or_default().to_uppercase());
    with_namespace.then(|| "NAMESPACE".to_owned()).into_iter().chain(names).collect()
}

fn rows(
    table: &Value,
    is_wide: bool,
    with_namespace: bool,
    prefix: &dyn Fn(&str) -> String,
) -> Vec<Vec<String>> {
    let shown = shown(table, is_wide);
    let rows = table.get("rows").and_then(Value::as_list).unwrap_or_default();
    rows.iter()
        .map(|row| {
            let namespace = row.str_at(&["object", "metadata", "namespace"]).unwrap_or_default();
            let cells = row.get("cells").and_then(Value::as_list).unwrap_or_default();
            let cells = shown.iter().map(|(at, _)| match (at, cells.get(*at)) {
                (0, cell) => prefix(&text(cell)),
                (_, cell) => text(cell),
            });
            with_namespace.then(|| namespace.to_owned()).into_iter().chain(cells).collect()
        })
        .collect()
}

/// A cell; of a text its first line.
fn text(cell: Option<&Value>) -> String {
    match cell {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.lines().next().unwrap_or_default().to_owned(),
        Some(other) => serde_json::to_string(other).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tables_are_those_of_the_server() {
        let table: Value = json!({
            "columnDefinitions": [{"name": "Name", "priority": 0}, {"name": "Data"}, {"name": "Node", "priority": 1}],
            "rows": [{"cells": ["a", 3, "n1\nn2"], "object": {"metadata": {"namespace": "shop"}}}, {"cells": ["b", null]}],
        })
        .into();
        let check = |wide: bool, namespaces: bool, expect: &[&str]| {
            let mut columns = Columns::new(heading(&table, wide, namespaces));
            let prefix = |name: &str| format!("x/{name}");
            assert_eq!(columns.lines(rows(&table, wide, namespaces, &prefix)), expect);
        };
        check(false, false, &["NAME   DATA", "x/a    3", "x/b"]);
        check(
            true,
            true,
            &["NAMESPACE   NAME   DATA   NODE", "shop        x/a    3      n1", "            x/b"],
        );
    }
}
