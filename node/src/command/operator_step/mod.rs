//! `quorate operator-step`: what the pods of a cluster do besides serving. Each step can be repeated at any
//! time and goes on from what it finds.
//!
//! Invariants: a cluster is founded once, however pods are started and whatever they lose: the founder first
//! claims the founding by a conditional write of a Secret of the cluster that the pods run in, the
//! registration, and nothing serves before a second conditional write has told it done. Where the registration
//! is lost, every voter with data and the leader register their cluster again, also over a claim, which waits
//! for them. A folder is removed only where nothing was ever served from it, where its node has left the
//! cluster, or where it belongs to an API node, whose disk may be thrown away.
//!
//! `decision.rs` says what a pod has to do, `setup.rs`, `follow.rs` and `leave.rs` do it; `departed.rs` finds the
//! nodes whose pods are gone; `host.rs` is the
//! client of the cluster that the pods run in, `registration.rs` what is kept there.

mod certificate;
mod decision;
mod departed;
mod follow;
mod host;
mod leave;
mod registration;
mod setup;
#[cfg(test)]
mod tests;

use quorate_env::Env;

use crate::cli::{OperatorStep, Pod, Target};
use crate::error::Error;

/// Carries out one step.
pub(super) async fn run(step: OperatorStep, env: &Env) -> Result<(), Error> {
    match step {
        OperatorStep::Setup(options) => setup::run(&options, env).await,
        OperatorStep::Follow(options) => follow::run(&options, env).await,
        OperatorStep::Leave(pod) => leave::run(&pod, env).await,
    }
}

/// The set that a pod is of, and its number there, from 0.
fn ordinal(pod: &str) -> Result<(&str, u64), Error> {
    let parts = pod.rsplit_once('-');
    let parts = parts.and_then(|(set, ordinal)| Some((set, ordinal.parse().ok()?)));
    parts.ok_or_else(|| Error::config(format_args!("'{pod}' is no name of a pod of a StatefulSet")))
}

/// The node of a pod, for the admin client.
fn target(pod: &Pod) -> Target {
    Target { data_dir: pod.data_dir.clone() }
}
