//! `quorate serve`: runs the node of a data folder until it is told to stop.

use quorate_env::Env;
use tokio::io::AsyncReadExt;

use crate::cli::Serve;
use crate::data_dir::DataDir;
use crate::error::Error;
use crate::file_watch::CheckTimer;
use crate::serve::Node;
use crate::signals::Termination;
use crate::telemetry;

/// Serves. A failure of the disk or of the replica ends it with an error.
pub(crate) async fn run(options: Serve, env: Env) -> Result<(), Error> {
    let log = telemetry::start(options.tuning.log_format)?;
    let mut termination = Termination::listen()?;
    // From now on SIGHUP does not end the process, even before the tasks that reload files listen
    // for it.
    let _reloads = CheckTimer::new().map_err(Error::failed)?;
    let dir = DataDir::new(&options.data_dir);
    let starting = Node::start(&dir, &options.tuning, &env, log);
    let node = tokio::select! {
        started = starting => started?,
        () = termination.requested() => return Ok(()),
        () = end_of_input(options.supervised) => return Ok(()),
    };
    tokio::select! {
        reason = node.failed() => {
            node.abandon().await;
            return Err(Error::failed(reason));
        }
        () = termination.requested() => {}
        () = end_of_input(options.supervised) => {}
    }
    node.stop().await;
    Ok(())
}

/// Returns when the supervisor at the other end of standard input is gone; never for a node without
/// one.
async fn end_of_input(supervised: bool) {
    if !supervised {
        return std::future::pending().await;
    }
    let mut input = tokio::io::stdin();
    let mut ignored = [0; 64];
    while input.read(&mut ignored).await.is_ok_and(|read| read > 0) {}
}
