//! `quorate storage-migrate`: asks for the migration of a custom resource to its storage version, and
//! shows how far it is until it is done.
//!
//! The controller of the leader does the work and keeps its place: the command may be stopped and
//! called again at any time, and only looks on where a migration is under way.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use quorate_controllers::{Progress, Stage};
use quorate_env::Env;
use quorate_meta::Value;
use quorate_webhook::{Connection, HTTP_1};
use serde_json::json;

use super::kubeconfig::certify;
use crate::admin::Admin;
use crate::cli::StorageMigrate;
use crate::error::Error;
use crate::files::read_text;
use crate::pki::{self, names};
use crate::terminal::print_line;

/// The user of the command, in audit logs.
const USER: &str = "storage-migrate";
/// Its group, which may do everything.
const GROUP: &str = "system:masters";
/// How often the command looks.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);
/// Bytes of an answer at most: more than a definition may have.
const MAX_ANSWER_BYTES: usize = 16 << 20;

/// Asks, and looks on until the migration is done.
pub(crate) async fn run(options: &StorageMigrate, env: &Env) -> Result<(), Error> {
    let mut admin = Admin::connect(&options.target, env).await?;
    let identity = certify(&mut admin, USER, Some(GROUP)).await?;
    let authority = read_text(&admin.dir.pki().join(names::AUTHORITY_CERTIFICATE))?;
    let tls = pki::client_config(&authority, Some(&identity), &HTTP_1)?;
    let address = &admin.config.api.advertise;
    let own = admin.config.naming.names();
    let mut definition = DefinitionClient {
        connection: Connection::open(&*env.network, address, tls).await?,
        address,
        path: format!(
            "/apis/{}/v1/customresourcedefinitions/{}",
            own.group("apiextensions"),
            options.definition
        ),
    };
    let found = Progress::of(own, &definition.send(Method::GET, None).await?);
    if found.is_none_or(|found| found.stage == Stage::Done) {
        let annotations = json!({ Progress::annotation(own): Progress::asked().to_string() });
        let patch = json!({ "metadata": { "annotations": annotations } });
        definition.send(Method::PATCH, Some(patch.to_string())).await?;
    }
    let mut told = None;
    loop {
        let object = definition.send(Method::GET, None).await?;
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

/// A client of one definition.
struct DefinitionClient<'a> {
    connection: Connection,
    address: &'a str,
    path: String,
}

impl DefinitionClient<'_> {
    /// The definition, after a change by a merge patch if there is a body.
    async fn send(&mut self, method: Method, body: Option<String>) -> Result<Value, Error> {
        let request = Request::builder()
            .method(method)
            .uri(&self.path)
            .header("host", self.address)
            .header("content-type", "application/merge-patch+json")
            .body(Full::new(Bytes::from(body.unwrap_or_default())))
            .map_err(Error::config)?;
        let answer = self.connection.send(request).await.map_err(Error::failed)?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), MAX_ANSWER_BYTES).collect().await;
        let body = body.map_err(Error::failed)?.to_bytes();
        let body: Value = serde_json::from_slice(&body).map_err(Error::failed)?;
        if status != StatusCode::OK {
            let why = body.str_at(&["message"]).unwrap_or_default();
            return Err(Error::failed(format_args!("{status}: {why}")));
        }
        Ok(body)
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
