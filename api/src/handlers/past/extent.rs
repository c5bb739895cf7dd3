//! `GET /past`: how far back the past reaches at this node.

use http::{Response, StatusCode};
use quorate_meta::{Map, Value};
use quorate_registry::error::Error;
use quorate_store::{Extent, Revision};

use super::state::{archive, time_text};
use crate::Api;
use crate::body::Body;
use crate::handlers::Request;
use crate::respond;

/// Tells it.
pub(super) fn handle(api: &Api, request: &Request<'_>) -> Result<Response<Body>, Error> {
    let extent = archive(api)?.extent();
    let gaps = extent.gaps.iter().map(|gap| {
        Value::Map(Map::from([("after", gap.after.to_string()), ("last", gap.last.to_string())]))
    });
    let mut answer = document(api, "Extent");
    answer.insert("oldest", oldest(&extent));
    answer.insert("newest", moment(extent.newest, extent.newest_ms));
    answer.insert("gaps", Value::List(gaps.collect()));
    respond::value(&request.format, StatusCode::OK, &Value::Map(answer))
}

/// The oldest moment that can be read.
pub(super) fn oldest(extent: &Extent) -> Value {
    moment(extent.oldest, extent.oldest_ms)
}

fn moment(revision: Revision, ms: u64) -> Value {
    Value::Map(Map::from([("revision", revision.to_string()), ("time", time_text(ms))]))
}

/// An answer about the past with nothing but its type.
pub(super) fn document(api: &Api, kind: &str) -> Map {
    let api_version = format!("{}/v1", api.names.group_past);
    Map::from([("apiVersion", api_version), ("kind", kind.to_owned())])
}
