//! `quorate cel`: expressions without a server.

mod eval;
mod notation;
mod records;

use std::sync::Arc;

use quorate_cel::environment::{Library, Release};

use crate::cli::{Cel, CelEnvironment};
use crate::error::Error;

/// Carries out `quorate cel`.
pub(crate) fn run(command: Cel) -> Result<(), Error> {
    match command {
        Cel::Run(options) => records::run(&options),
        Cel::Eval(options) => eval::run(&options),
    }
}

/// The functions of an environment. New expressions have those of the release before the emulated one, so that they go on
/// compiling when a cluster goes back by one release (KEP-4330).
fn library(environment: &CelEnvironment) -> Arc<Library> {
    Arc::new(match environment.emulated_version {
        None => Library::stored(),
        Some(minor) => Library::at(Release(minor - 1)),
    })
}
