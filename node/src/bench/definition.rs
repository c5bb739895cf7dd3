//! The definition of the measured objects: that it is served, and how large its objects are in
//! answers, with all that the server adds: defaults, identity, managed fields.
//!
//! Not here: what is in the definition and in its objects ([`super::objects`]).

use std::time::Duration;

use http::Method;
use quorate_env::Env;
use quorate_webhook::Connection;
use tokio::time::{Instant, sleep};

use super::Options;
use super::objects::ObjectTemplate;
use super::servers::Servers;
use super::workload::{POLL_PAUSE, must_succeed, request, status};
use crate::error::Error;

/// How long it may take until a definition that was created is served.
const SERVING_LIMIT: Duration = Duration::from_secs(60);
/// A namespace that is always there.
const NAMESPACE: &str = "default";
/// A name as long as those of the measured objects.
const NAME: &str = "object-00000000";

/// Creates the definition of the objects unless it is there, and waits until they are served.
pub(super) async fn define(
    template: &ObjectTemplate,
    servers: &Servers,
    connection: &mut Connection,
) -> Result<(), Error> {
    let Some((path, definition)) = template.definition() else { return Ok(()) };
    let server = servers.server(0);
    let collection = template.collection(NAMESPACE);
    let list = || request(Method::GET, server, &format!("{collection}?limit=1"), String::new());
    if status(connection, list()).await?.is_success() {
        return Ok(());
    }
    let create = request(Method::POST, server, path, definition.to_owned());
    must_succeed(connection, create).await?;
    let deadline = Instant::now() + SERVING_LIMIT;
    while !status(connection, list()).await?.is_success() {
        if Instant::now() >= deadline {
            return Err(Error::failed(format_args!("{collection} is not served")));
        }
        sleep(POLL_PAUSE).await;
    }
    Ok(())
}

/// ConfigMaps that are answered in as many bytes as these objects.
pub(super) async fn config_maps_of_same_size(
    template: &ObjectTemplate,
    options: &Options,
    env: &Env,
) -> Result<ObjectTemplate, Error> {
    let servers = Servers::find(options, &options.data_dir)?;
    let mut connection = servers.connect(env, 0).await?;
    define(template, &servers, &mut connection).await?;
    let wanted = answered_bytes(template, &servers, &mut connection).await?;
    let empty = answered_bytes(&template.config_map(0), &servers, &mut connection).await?;
    let payload = wanted.checked_sub(empty);
    let payload = payload.ok_or_else(|| Error::config("the sample is smaller than a ConfigMap"))?;
    Ok(template.config_map(payload))
}

/// The bytes of an object in the answer to its creation, which is a dry run.
async fn answered_bytes(
    template: &ObjectTemplate,
    servers: &Servers,
    connection: &mut Connection,
) -> Result<usize, Error> {
    let path = format!("{}?dryRun=All", template.collection(NAMESPACE));
    let object = template.object(0, 0, NAME);
    let create = request(Method::POST, servers.server(0), &path, object);
    Ok(must_succeed(connection, create).await?.len())
}
