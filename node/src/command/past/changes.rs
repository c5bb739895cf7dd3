//! `quorate changes`: what happened in the cluster, and which writes it refused.
//!
//! Pages are printed as they come.

use quorate_env::Env;
use quorate_meta::{Time, Value};

use super::columns::Columns;
use super::history::{Page, page, what};
use super::object_text::json_line;
use super::session::Session;
use crate::cli::{ChangeOutput, ClusterChanges};
use crate::cluster_client::{Change, QueryParameters, qualified};
use crate::error::Error;
use crate::terminal::{print_line, print_note};

/// Where the server tells them.
const PATH: &str = "/past/changes";
/// Changes of a page.
const PAGE_CHANGES: u64 = 500;
/// The resource whose renewals are shown only where they are asked for.
const LEASES: &str = "leases";
/// Paths that are shown of a change.
const PATHS: usize = 2;

/// Carries out the command.
pub(in crate::command) async fn run(options: &ClusterChanges, env: &Env) -> Result<(), Error> {
    let mut session = Session::open(&options.cluster, env).await?;
    session.learn_types(options.resource.as_slice()).await;
    let query = filters(&session, options)?;
    if options.refused {
        refused(&mut session, options, query).await
    } else {
        told(&mut session, options, query).await
    }
}

fn filters(session: &Session, options: &ClusterChanges) -> Result<QueryParameters, Error> {
    let mut query = QueryParameters::default()
        .with_some("namespace", options.namespace.as_deref())
        .with_some("name", options.name.as_deref())
        .with_some("user", options.user.as_deref())
        .with_some("manager", options.manager.as_deref())
        .with_some("verb", options.verb.as_deref())
        .with_some("since", options.since.map(|moment| session.query(moment)))
        .with_some("until", options.until.map(|moment| session.query(moment)))
        .with_some("order", options.oldest_first.then_some("oldest"));
    let mut shows_all = options.all || options.refused;
    if let Some(kind) = &options.resource {
        let resource = session.resources.resolve(kind)?;
        query = query.with("resource", &resource.plural).with("group", &resource.group);
        shows_all |= resource.plural == LEASES;
    }
    Ok(query.with_some("heartbeats", (!shows_all).then_some("false")))
}

/// Prints changes, page by page.
async fn told(
    session: &mut Session,
    options: &ClusterChanges,
    mut query: QueryParameters,
) -> Result<(), Error> {
    let is_wide = options.output == ChangeOutput::Wide;
    let mut columns = Columns::new(heading(is_wide));
    let mut left = options.limit.unwrap_or(u64::MAX);
    let (mut count, mut hidden) = (0, 0);
    loop {
        query = query.with("limit", left.min(PAGE_CHANGES).to_string());
        let Page { changes, next, hidden: hidden_here } = page(session, &query.path(PATH)).await?;
        hidden += hidden_here;
        left = left.saturating_sub(changes.len() as u64);
        count += changes.len();
        if options.output == ChangeOutput::Json {
            changes.iter().try_for_each(|change| json_line(&change.0).map(print_line))?;
        } else {
            let rows = changes.iter().map(|change| row(change, is_wide)).collect();
            columns.lines(rows).iter().for_each(print_line);
        }
        match next {
            Some(next) if left > 0 => query = query.with("continue", next),
            _ => break,
        }
    }
    if count == 0 {
        print_note("no changes found");
    }
    if hidden > 0 {
        print_note(format_args!("renewals of leases not shown: {hidden} (--all shows them)"));
    }
    Ok(())
}

fn heading(is_wide: bool) -> Vec<&'static str> {
    let mut heading =
        vec!["REVISION", "TIME", "VERB", "NAMESPACE", "OBJECT", "USER", "MANAGER", "CHANGED"];
    if is_wide {
        heading.extend(["CLIENT", "REQUEST"]);
    }
    heading
}

fn row(change: &Change, is_wide: bool) -> Vec<String> {
    let time = Time::parse(change.text("time")).map(Time::seconds);
    let object = format!(
        "{}/{}",
        qualified(change.text("resource"), change.text("group")),
        change.text("name")
    );
    let mut row = vec![
        change.text("revision").to_owned(),
        time.unwrap_or_default(),
        change.verb(),
        change.text("namespace").to_owned(),
        object,
        change.user(),
        change.text("manager").to_owned(),
        what(change, if is_wide { usize::MAX } else { PATHS }),
    ];
    if is_wide {
        row.extend(["userAgent", "auditID"].map(|member| change.text(member).to_owned()));
    }
    row
}

/// Prints refused writes: how many of each kind, and examples.
async fn refused(
    session: &mut Session,
    options: &ClusterChanges,
    query: QueryParameters,
) -> Result<(), Error> {
    let limit = options.limit.unwrap_or(PAGE_CHANGES).min(PAGE_CHANGES);
    let query = query.with("refused", "true").with("limit", limit.to_string());
    let all = session.client.get(&query.path(PATH)).await?;
    let list = |member: &str| all.get(member).and_then(Value::as_list).unwrap_or_default();
    if options.output == ChangeOutput::Json {
        print_line(json_line(&all)?);
        return Ok(());
    }
    if list("counts").is_empty() {
        print_note("no refused writes found");
        return Ok(());
    }
    let mut counts = Columns::new(["COUNT", "CODE", "REASON", "VERB", "RESOURCE", "USER"]);
    counts.lines(list("counts").iter().map(count_row).collect()).iter().for_each(print_line);
    print_line("");
    let mut examples =
        Columns::new(["TIME", "VERB", "NAMESPACE", "OBJECT", "USER", "CODE", "MESSAGE"]);
    examples.lines(list("items").iter().map(refused_row).collect()).iter().for_each(print_line);
    Ok(())
}

/// `deployments.apps/scale`.
fn resource_of(item: &Value) -> String {
    let text = |member: &str| item.str_at(&[member]).unwrap_or_default();
    let resource = qualified(text("resource"), text("group"));
    match text("subresource") {
        "" => resource,
        subresource => format!("{resource}/{subresource}"),
    }
}

fn number(item: &Value, member: &str) -> String {
    item.get(member).and_then(Value::as_i64).unwrap_or_default().to_string()
}

fn count_row(item: &Value) -> Vec<String> {
    let text = |member: &str| item.str_at(&[member]).unwrap_or_default().to_owned();
    vec![
        number(item, "count"),
        number(item, "code"),
        text("reason"),
        text("verb"),
        resource_of(item),
        text("user"),
    ]
}

fn refused_row(item: &Value) -> Vec<String> {
    let text = |member: &str| item.str_at(&[member]).unwrap_or_default().to_owned();
    let change = Change(item.clone());
    let time = Time::parse(change.text("time")).map(Time::seconds);
    vec![
        time.unwrap_or_default(),
        text("verb"),
        text("namespace"),
        format!("{}/{}", resource_of(item), text("name")),
        change.user(),
        number(item, "code"),
        text("message").split_whitespace().collect::<Vec<_>>().join(" "),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn changes_are_rows() {
        let change = json!({
            "revision": "9", "time": "2026-11-28T11:58:50.123Z", "type": "MODIFIED", "verb": "patch",
            "subresource": "scale", "user": {"username": "ann"}, "changed": [".spec.replicas"], "group": "apps",
            "resource": "deployments", "namespace": "shop", "name": "web", "auditID": "id",
        });
        let expect =
            "9|2026-11-28T11:58:50Z|patch scale|shop|deployments.apps/web|ann||.spec.replicas||id";
        assert_eq!(row(&Change(change.into()), true).join("|"), expect);
    }

    #[test]
    fn refused_writes_are_rows() {
        let count = json!({"user": "bob", "verb": "create", "group": "", "resource": "pods", "subresource": "eviction",
            "code": 429, "reason": "TooManyRequests", "count": 12});
        let expect = "12|429|TooManyRequests|create|pods/eviction|bob";
        assert_eq!(count_row(&count.into()).join("|"), expect);
        let item = json!({"time": "2026-11-28T11:58:50.123Z", "user": {"username": "bob"}, "verb": "create",
            "group": "apps", "resource": "deployments", "namespace": "n", "name": "a", "code": 403, "message": "no\nway"});
        let expect = "2026-11-28T11:58:50Z|create|n|deployments.apps/a|bob|403|no way";
        assert_eq!(refused_row(&item.into()).join("|"), expect);
    }
}
