//! The options of `quorate version`.

use clap::Args;

use super::query::Output;

/// `quorate version`
#[derive(Debug, Args)]
pub(crate) struct Version {
    /// Tell every feature gate too: its stage, its default, and whether it does something here.
    #[arg(long)]
    pub(crate) features: bool,
    /// How the answer looks.
    #[arg(long, short, value_enum, default_value_t)]
    pub(crate) output: Output,
}
