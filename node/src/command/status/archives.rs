//! The archives of a cluster's members, each as its node tells of it.
//!
//! Invariant: a member that does not answer in time delays nothing else and is said to be silent.

use std::time::Duration;

use futures::future::join_all;
use quorate_env::Env;
use quorate_raft::Member;
use quorate_raft::admin::{AdminAnswer, AdminRequest, ArchiveReport};
use quorate_store::{NodeId, Revision};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::admin::{Admin, unexpected};
use crate::cli::Target;
use crate::command::token::moment;
use crate::error::Error;
use crate::terminal::print_table;

/// How long a member may take to tell of its archive.
const PATIENCE: Duration = Duration::from_secs(3);

/// A member's archive: `None` where it keeps none, an error where it does not say.
pub(super) type ArchiveOf = (NodeId, Result<Option<ArchiveReport>, String>);

/// Asks every member, the node at hand by the connection that there is.
pub(super) async fn ask(
    members: &[Member],
    admin: Admin,
    target: &Target,
    env: &Env,
) -> Vec<ArchiveOf> {
    let own = admin.config.node;
    let mut admin = Some(admin);
    let asked = members.iter().map(|member| {
        let known = admin.take_if(|_| member.node == own);
        async move {
            let report = timeout(PATIENCE, async {
                let mut admin = match known {
                    Some(admin) => admin,
                    None => Admin::connect_to(target, &member.address, env).await?,
                };
                match admin.ask(AdminRequest::Archive).await? {
                    AdminAnswer::Archive(report) => Ok(report),
                    other => Err(unexpected(&other)),
                }
            });
            let report = report.await.unwrap_or_else(|_| Err(Error::failed("no answer")));
            (member.node, report.map_err(|error| error.to_string()))
        }
    });
    join_all(asked).await
}

/// A row for each.
pub(super) fn print(archives: &[ArchiveOf]) {
    let rows: Vec<_> = archives.iter().map(row).collect();
    print_table(["NODE", "ARCHIVE FROM", "OF", "BYTES", "LAG", "GAPS", "FAILURES"], &rows);
}

fn row((node, report): &ArchiveOf) -> [String; 7] {
    let from = |report: &ArchiveReport| match report.oldest {
        Revision::ZERO => "the beginning".to_owned(),
        oldest => format!("revision {oldest}"),
    };
    let cells = match report {
        Ok(Some(report)) => [
            from(report),
            if report.oldest == Revision::ZERO { "-".to_owned() } else { moment(report.oldest_ms) },
            report.bytes.to_string(),
            report.lag.to_string(),
            report.gaps.len().to_string(),
            report.failures.to_string(),
        ],
        Ok(None) => ["none", "-", "-", "-", "-", "-"].map(str::to_owned),
        Err(_) => ["unknown", "-", "-", "-", "-", "-"].map(str::to_owned),
    };
    let [from, of, bytes, lag, gaps, failures] = cells;
    [node.to_string(), from, of, bytes, lag, gaps, failures]
}

/// The same as JSON.
pub(super) fn to_json(archives: &[ArchiveOf]) -> Value {
    archives.iter().map(one_json).collect()
}

fn one_json((node, report): &ArchiveOf) -> Value {
    match report {
        Ok(Some(report)) => {
            let gaps = report
                .gaps
                .iter()
                .map(|(after, last)| json!({"after": after.get(), "last": last.get()}));
            json!({
                "node": node, "kept": true, "oldest": report.oldest.get(),
                "oldestTime": moment(report.oldest_ms), "archived": report.archived.get(),
                "lag": report.lag, "bytes": report.bytes, "gaps": Value::from_iter(gaps),
                "failures": report.failures,
            })
        }
        Ok(None) => json!({"node": node, "kept": false}),
        Err(error) => json!({"node": node, "error": error}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_are_rows() {
        let check = |report: Result<Option<ArchiveReport>, String>, line: &str, record: Value| {
            assert_eq!(row(&(2, report.clone())).join("|"), line);
            assert_eq!(one_json(&(2, report)), record);
        };
        let report = ArchiveReport {
            oldest: Revision::new(7),
            oldest_ms: 1000,
            archived: Revision::new(90),
            lag: 3,
            bytes: 4096,
            gaps: vec![(Revision::new(8), Revision::new(9))],
            failures: 1,
        };
        check(
            Ok(Some(report.clone())),
            "2|revision 7|1970-01-01T00:00:01Z|4096|3|1|1",
            json!({"node": 2, "kept": true, "oldest": 7, "oldestTime": "1970-01-01T00:00:01Z", "archived": 90,
                "lag": 3, "bytes": 4096, "gaps": [{"after": 8, "last": 9}], "failures": 1}),
        );
        let whole = ArchiveReport { oldest: Revision::ZERO, gaps: Vec::new(), ..report.clone() };
        assert_eq!(row(&(2, Ok(Some(whole)))).join("|"), "2|the beginning|-|4096|3|0|1");
        check(Ok(None), "2|none|-|-|-|-|-", json!({"node": 2, "kept": false}));
        let error = "no answer".to_owned();
        check(Err(error), "2|unknown|-|-|-|-|-", json!({"node": 2, "error": "no answer"}));
    }
}
