//! The service of the controllers: it runs every row of the table while this node leads, and only
//! then.
//!
//! Invariants: a part that fails is restarted after a pause and stops no other one; all of them are
//! dropped at once when the leadership is lost or the service is stopped.

use std::time::Duration;

use futures::future::join_all;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::context::{Context, RETRY_PERIOD};
use crate::options::ControllersOptions;
use crate::table::{CONTROLLERS, Controller, Input, Part, Step};

/// How often a node looks whether it leads.
const LEADER_POLL_PERIOD: Duration = Duration::from_millis(100);

/// The controllers of one node.
#[derive(Debug)]
pub struct Controllers {
    options: ControllersOptions,
    stop: CancellationToken,
}

/// Stops the controllers.
#[derive(Debug, Clone)]
pub struct ControllersHandle {
    stop: CancellationToken,
}

impl ControllersHandle {
    /// Ends [`Controllers::run`], at once.
    pub fn stop(&self) {
        self.stop.cancel();
    }
}

impl Controllers {
    /// The service and what stops it.
    #[must_use]
    pub fn new(options: ControllersOptions) -> (Self, ControllersHandle) {
        let stop = CancellationToken::new();
        (Self { options, stop: stop.clone() }, ControllersHandle { stop })
    }

    /// Waits for leadership, runs every controller until it is lost, and so on until stopped.
    pub async fn run(self) {
        let lead = async {
            loop {
                self.leadership(true).await;
                tracing::info!("controllers start: this node leads");
                tokio::select! {
                    biased;
                    () = self.leadership(false) => tracing::info!("controllers stop: this node no longer leads"),
                    () = self.run_all() => {}
                }
            }
        };
        tokio::select! {
            biased;
            () = self.stop.cancelled() => {}
            () = lead => {}
        }
    }

    /// Resolves once this node leads, or no longer does.
    async fn leadership(&self, leads: bool) {
        loop {
            let status = self.options.cluster.store.status();
            if (status.leader == Some(status.node)) == leads {
                return;
            }
            sleep(LEADER_POLL_PERIOD).await;
        }
    }

    async fn run_all(&self) {
        join_all(CONTROLLERS.iter().map(|controller| self.run_one(controller))).await;
    }

    async fn run_one(&self, controller: &Controller) {
        let context = Context::new(&self.options.cluster, controller.name);
        let input = &Input { context, options: &self.options };
        join_all(controller.parts.iter().map(|part| run_part(part, input))).await;
    }
}

/// Runs the steps of one part, with a pause after a failure and before it runs again.
async fn run_part(part: &Part, input: &Input<'_>) {
    match part {
        Part::Once(steps) => {
            for step in *steps {
                while !succeeds(*step, input).await {
                    sleep(RETRY_PERIOD).await;
                }
            }
        }
        Part::Always(step) => loop {
            succeeds(*step, input).await;
            sleep(RETRY_PERIOD).await;
        },
    }
}

async fn succeeds(step: Step, input: &Input<'_>) -> bool {
    let done = step(input).await;
    if let Err(error) = &done {
        tracing::warn!(%error, controller = input.context.manager, "a controller starts again");
    }
    done.is_ok()
}
