//! `quorate storage-migrate`: asks for the migration of a custom resource to its storage version, and
//! shows how far it is until it is done.
//!
//! The controller of the leader does the work and keeps its place: the command may be stopped and
//! called again at any time, and only looks on where a migration is under way.

use std::time::Duration;

use quorate_controllers::{Progress, Stage};
use quorate_env::Env;
use serde_json::json;

use super::api_client::ApiClient;
use crate::cli::StorageMigrate;
use crate::error::Error;
use crate::terminal::print_line;

/// The user of the command, in audit logs.
const USER: &str = "storage-migrate";
/// How often the command looks.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// Asks, and looks on until the migration is done.
pub(crate) async fn run(options: &StorageMigrate, env: &Env) -> Result<(), Error> {
    let mut client = ApiClient::connect(&options.target, env, USER).await?;
    let own = client.names;
    let path = format!(
        "/apis/{}/v1/customresourcedefinitions/{}",
        own.group("apiextensions"),
        options.definition
    );
    let found = Progress::of(own, &client.get(&path).await?);
    if found.is_none_or(|found| found.stage == Stage::Done) {
        let annotations = json!({ Progress::annotation(own): Progress::asked().to_string() });
        client.merge(&path, &json!({ "metadata": { "annotations": annotations } }).into()).await?;
    }
    let mut told = None;
    loop {
        let object = client.get(&path).await?;
        let progress = Progress::of(own, &object).ok_or_else(|| {
            Error::failed(format_args!("the migration of {} was called off", options.definition))
        })?;
        if told.as_ref() != Some(&progress) {
            print_line(line(&progress));
        }
        if progress.stage == Stage::Done {
            return Ok(());
        }
        told = Some(progress);
        tokio::time::sleep(LOOK_INTERVAL).await;
    }
}

/// What is said of a migration.
fn line(progress: &Progress) -> String {
    let Progress { stage, version, seen, written, .. } = progress;
    let objects = format!("{seen} objects seen, {written} stored anew as {version}");
    match stage {
        Stage::Asked => "waiting for the leader".to_owned(),
        Stage::Running => format!("{objects}, going on"),
        Stage::Done => format!("{objects}, done: {version} is the only stored version"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_told_in_words() {
        let check = |text: &str, expect: &str| assert_eq!(line(&text.parse().unwrap()), expect);
        check("asked", "waiting for the leader");
        check(
            "running version=v2 seen=5 written=3 after=n/a",
            "5 objects seen, 3 stored anew as v2, going on",
        );
        check(
            "done version=v2 seen=5 written=3",
            "5 objects seen, 3 stored anew as v2, done: v2 is the only stored version",
        );
    }
}
