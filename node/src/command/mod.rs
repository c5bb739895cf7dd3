//! The commands, one file each.

mod admission;
mod api_client;
pub(crate) mod backup;
mod cel;
mod dev;
mod fork;
mod init;
mod inspect;
mod join;
mod kubeconfig;
mod member;
mod operator_step;
mod past;
mod policy_test;
mod recover;
mod restore;
mod restore_namespace;
mod serve;
mod signing_key;
mod status;
mod storage_migrate;
mod token;
mod version;

pub(crate) use signing_key::Rotation;

use quorate_env::SystemEnv;

use crate::bench;
use crate::cli::{Command, Policy};
use crate::error::Error;
use crate::signing_keys::KeyKind;

/// Carries out a command.
pub(crate) async fn run(command: Command) -> Result<(), Error> {
    let env = SystemEnv::env();
    match command {
        Command::Dev(options) => dev::run(&options, &env).await,
        Command::Init(options) => init::run(&options, &env),
        Command::Join(options) => join::run(&options, &env).await,
        Command::Serve(options) => serve::run(options, env).await,
        Command::Recover(options) => recover::run(&options, &env).await,
        Command::Status(options) => status::run(&options, &env).await,
        Command::Member(command) => member::run(command, &env).await,
        Command::Leader(command) => member::lead(command, &env).await,
        Command::OperatorStep(step) => operator_step::run(step, &env).await,
        Command::Token(command) => token::run(command, &env).await,
        Command::SigningKey(command) => signing_key::run(KeyKind::Tokens, command, &env).await,
        Command::SigningAuthority(command) => {
            signing_key::run(KeyKind::Signers, command, &env).await
        }
        Command::Backup(command) => Box::pin(backup::run(command, &env)).await,
        Command::Restore(options) => Box::pin(restore::run(&options, &env)).await,
        Command::Fork(options) => Box::pin(fork::run(&options, &env)).await,
        Command::Inspect(options) => inspect::run(&options).await,
        Command::StorageMigrate(options) => storage_migrate::run(&options, &env).await,
        Command::Admission(command) => admission::run(&command, &env).await,
        Command::Policy(Policy::Test(options)) => policy_test::run(&options, &env).await,
        Command::Get(options) => past::get::run(&options, &env).await,
        Command::History(options) => past::history::run(&options, &env).await,
        Command::Diff(options) => past::diff::run(&options, &env).await,
        Command::Blame(options) => past::blame::run(&options, &env).await,
        Command::Changes(options) => past::changes::run(&options, &env).await,
        Command::Undelete(options) => Box::pin(past::undelete::run(&options, &env)).await,
        Command::Kubeconfig(options) => kubeconfig::run(&options, &env).await,
        Command::Cel(command) => cel::run(command),
        Command::Bench(options) => Box::pin(bench::run(&options, &env)).await,
        Command::Version(options) => {
            version::run(&options);
            Ok(())
        }
    }
}
