//! `quorate signing-key`: the keys that service account tokens are signed with. They change while the cluster runs.

use clap::Subcommand;
use quorate_raft::admin::{AdminAnswer, AdminRequest};
use quorate_store::env::Env;
use serde_json::{Value, json};

use super::token::moment;
use crate::admin::{Admin, unexpected};
use crate::cli::{Output, Query, Target};
use crate::console::{say, table};
use crate::error::Error;
use crate::signing_keys::{KeyAnswer, KeyInfo, KeyRequest};

/// `quorate signing-key`
#[derive(Debug, Subcommand)]
pub(crate) enum SigningKey {
    /// Every key, and which one signs.
    List(Query),
    /// Add a key, which signs from then on. The others still verify what they have signed.
    Rotate(Query),
    /// Remove a key: every token that it has signed ends at once.
    Remove {
        /// Its id, as the list shows it.
        id: String,
        #[command(flatten)]
        target: Target,
    },
}

/// Carries out `quorate signing-key`.
pub(crate) async fn run(command: SigningKey, env: &Env) -> Result<(), Error> {
    match command {
        SigningKey::List(query) => print(&ask(&query.target, env, KeyRequest::List).await?, query.output),
        SigningKey::Rotate(query) => print(&ask(&query.target, env, KeyRequest::Rotate).await?, query.output),
        SigningKey::Remove { id, target } => {
            ask(&target, env, KeyRequest::Remove(id.clone())).await?;
            say(format_args!("key {id} is removed: tokens that it has signed are no longer accepted"));
        }
    }
    Ok(())
}

async fn ask(target: &Target, env: &Env, request: KeyRequest) -> Result<Vec<KeyInfo>, Error> {
    match Admin::connect(target, env).await?.ask(AdminRequest::Keys(request.to_bytes()?)).await? {
        AdminAnswer::Keys(answer) => Ok(KeyAnswer::from_bytes(&answer)?.0),
        other => Err(unexpected(&other)),
    }
}

fn print(keys: &[KeyInfo], output: Output) {
    match output {
        Output::Json => {
            let key = |key: &KeyInfo| json!({ "id": key.id, "created": moment(key.created_ms), "signs": key.signs });
            say(format_args!("{:#}", keys.iter().map(key).collect::<Value>()));
        }
        Output::Table => {
            let signs = |key: &KeyInfo| if key.signs { "signs" } else { "verifies" }.to_owned();
            let rows: Vec<_> = keys.iter().map(|key| [key.id.clone(), moment(key.created_ms), signs(key)]).collect();
            table(["ID", "CREATED", "USE"], &rows);
        }
    }
}
