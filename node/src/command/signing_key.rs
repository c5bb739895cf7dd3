//! `quorate signing-key` and `quorate signing-authority`: the keys of tokens and the authorities of
//! certificates. They change while the cluster runs; a signature stays valid until its key is
//! removed.

use clap::Subcommand;
use quorate_env::Env;
use quorate_raft::admin::{AdminAnswer, AdminRequest};
use serde_json::{Value, json};

use super::token::moment;
use crate::admin::{Admin, unexpected};
use crate::cli::{Output, Query, Target};
use crate::error::Error;
use crate::signing_keys::{KeyAction, KeyAnswer, KeyInfo, KeyKind, KeyRequest};
use crate::terminal::{print_line, print_table};

/// What to do with keys.
#[derive(Debug, Subcommand)]
pub(crate) enum Rotation {
    /// Every one, and which of them signs.
    List(Query),
    /// Add one, which signs as soon as every node knows it. The others still verify what they have
    /// signed.
    Rotate(Query),
    /// Remove one: what it has signed is no longer accepted. Connections that are open stay open.
    Remove {
        /// Its id, as the list shows it; it may begin with a hyphen.
        #[arg(allow_hyphen_values = true)]
        id: String,
        #[command(flatten)]
        target: Target,
    },
}

/// Carries out one of the commands.
pub(crate) async fn run(kind: KeyKind, command: Rotation, env: &Env) -> Result<(), Error> {
    match command {
        Rotation::List(query) => {
            print(&ask(&query.target, env, kind, KeyAction::List).await?, query.output)
        }
        Rotation::Rotate(query) => {
            print(&ask(&query.target, env, kind, KeyAction::Rotate).await?, query.output)
        }
        Rotation::Remove { id, target } => {
            ask(&target, env, kind, KeyAction::Remove(id.clone())).await?;
            print_line(format_args!("{id} is removed: what it has signed is no longer accepted"));
        }
    }
    Ok(())
}

async fn ask(
    target: &Target,
    env: &Env,
    kind: KeyKind,
    action: KeyAction,
) -> Result<Vec<KeyInfo>, Error> {
    let request = KeyRequest { kind, action }.to_bytes()?;
    match Admin::connect(target, env).await?.ask(AdminRequest::Keys(request)).await? {
        AdminAnswer::Keys(answer) => Ok(KeyAnswer::from_bytes(&answer)?.0),
        other => Err(unexpected(&other)),
    }
}

fn print(keys: &[KeyInfo], output: Output) {
    match output {
        Output::Json => {
            let key = |key: &KeyInfo| json!({ "id": key.id, "created": moment(key.created_ms), "signs": key.signs });
            print_line(format_args!("{:#}", keys.iter().map(key).collect::<Value>()));
        }
        Output::Table => {
            let signs = |key: &KeyInfo| if key.signs { "signs" } else { "verifies" }.to_owned();
            let rows: Vec<_> = keys
                .iter()
                .map(|key| [key.id.clone(), moment(key.created_ms), signs(key)])
                .collect();
            print_table(["ID", "CREATED", "USE"], &rows);
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(subcommand)]
        command: Rotation,
    }

    #[test]
    fn any_id_that_the_list_shows_can_be_removed() {
        for arguments in [["-gD7yCE", "--data-dir", "d"], ["--data-dir", "d", "-gD7yCE"]] {
            let line =
                Line::try_parse_from(["quorate", "remove"].into_iter().chain(arguments)).unwrap();
            let Rotation::Remove { id, target } = line.command else {
                panic!("{:?}", line.command)
            };
            assert_eq!((id.as_str(), target.data_dir.to_str()), ("-gD7yCE", Some("d")));
        }
    }
}
