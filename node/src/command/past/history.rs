//! `quorate history`: the versions of one object.

use quorate_env::Env;
use quorate_meta::{Time, Value};

use super::columns::{Columns, age};
use super::object_text::json_line;
use super::session::Session;
use crate::cli::{ChangeOutput, History};
use crate::cluster_client::{Change, QueryParameters};
use crate::error::Error;
use crate::terminal::print_line;

/// Changes of a page.
const PAGE_CHANGES: u64 = 200;
/// Paths that are shown of a change.
const PATHS: usize = 3;

/// Carries out the command.
pub(in crate::command) async fn run(options: &History, env: &Env) -> Result<(), Error> {
    let mut session = Session::open(&options.cluster, env).await?;
    session.learn_types(&options.object).await;
    let (resource, name) = session.object(&options.object)?;
    let namespace = session.namespace(&resource, options.namespace.as_deref());
    let path = resource.object(namespace.as_deref(), &name);
    let is_json = options.output == ChangeOutput::Json;
    let is_wide = options.output == ChangeOutput::Wide;
    let mut columns = Columns::new(heading(is_wide));
    let mut query = QueryParameters::default().with("history", "true");
    if !is_json {
        query = query.with("objects", "false");
    }
    let mut left = options.limit.unwrap_or(u64::MAX);
    loop {
        query = query.with("limit", left.min(PAGE_CHANGES).to_string());
        let Page { changes, next, .. } = page(&mut session, &query.path(&path)).await?;
        left = left.saturating_sub(changes.len() as u64);
        if is_json {
            changes.iter().try_for_each(|change| json_line(&change.0).map(print_line))?;
        } else {
            let rows = changes.iter().map(|change| row(change, session.now_ms, is_wide)).collect();
            columns.lines(rows).iter().for_each(print_line);
        }
        match next {
            Some(next) if left > 0 => query = query.with("continue", next),
            _ => return Ok(()),
        }
    }
}

/// A page of changes.
pub(super) struct Page {
    pub(super) changes: Vec<Change>,
    /// Where the next one begins.
    pub(super) next: Option<String>,
    /// How many changes are left out, because they were not asked for.
    pub(super) hidden: i64,
}

/// Asks for a page.
pub(super) async fn page(session: &mut Session, path: &str) -> Result<Page, Error> {
    let mut page = session.client.get(path).await?;
    let next = page.str_at(&["metadata", "continue"]).filter(|next| !next.is_empty());
    let next = next.map(str::to_owned);
    let hidden = page.get("hidden").and_then(Value::as_i64).unwrap_or_default();
    let items = page.get_mut("items").and_then(Value::as_list_mut).map(std::mem::take);
    let changes = items.unwrap_or_default().into_iter().map(Change).collect();
    Ok(Page { changes, next, hidden })
}

fn heading(is_wide: bool) -> Vec<&'static str> {
    let mut heading = vec!["REVISION", "TIME", "AGE", "VERB", "USER", "MANAGER", "CHANGED"];
    if is_wide {
        heading.extend(["CLIENT", "REQUEST"]);
    }
    heading
}

fn row(change: &Change, now_ms: u64, is_wide: bool) -> Vec<String> {
    let time = Time::parse(change.text("time")).ok();
    let since = time.map(|time| age(now_ms.saturating_sub(time.ms()) / 1000));
    let mut row = vec![
        change.text("revision").to_owned(),
        time.map(Time::seconds).unwrap_or_default(),
        since.unwrap_or_default(),
        change.verb(),
        change.user(),
        change.text("manager").to_owned(),
        what(change, if is_wide { usize::MAX } else { PATHS }),
    ];
    if is_wide {
        row.extend(["userAgent", "auditID"].map(|member| change.text(member).to_owned()));
    }
    row
}

/// What a change did to the object.
pub(super) fn what(change: &Change, paths: usize) -> String {
    if change.0.get("purged").is_some() {
        "(purged)".to_owned()
    } else if change.0.get("oldest").is_some() {
        "(older than the archive)".to_owned()
    } else if change.is_deletion() {
        "(deleted)".to_owned()
    } else if change.is_creation() {
        "(created)".to_owned()
    } else {
        change.changed_briefly(paths)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn versions_are_rows() {
        let now = Time::parse("2026-11-28T12:00:00Z").unwrap().ms();
        let check = |change: serde_json::Value, expect: &str| {
            assert_eq!(row(&Change(change.into()), now, false).join("|"), expect);
        };
        check(
            json!({"revision": "7", "time": "2026-11-28T11:58:50.123Z", "type": "MODIFIED", "verb": "apply",
                "user": {"username": "ann"}, "manager": "m", "changed": [".a", ".b", ".c", ".d"]}),
            "7|2026-11-28T11:58:50Z|69s|apply|ann|m|.a .b .c and 1 more",
        );
        check(
            json!({"revision": "6", "time": "2026-11-28T11:00:00.000Z", "type": "DELETED", "source": "gc"}),
            "6|2026-11-28T11:00:00Z|60m|delete|gc||(deleted)",
        );
        check(
            json!({"revision": "3", "time": "2026-11-28T11:00:00.000Z", "type": "MODIFIED", "verb": "update",
                "user": {"username": "ann"}, "manager": "m", "purged": true}),
            "3|2026-11-28T11:00:00Z|60m|update|ann|m|(purged)",
        );
        check(
            json!({"revision": "2", "type": "ADDED", "oldest": true}),
            "2|||(older)|||(older than the archive)",
        );
    }
}
