//! The index `/`: which paths there are, for people and programs that explore the server.
//!
//! Only what is about the server: objects are found by way of the groups.

use std::collections::BTreeSet;

use http::{Response, StatusCode};
use quorate_meta::{Map, Value};

use super::health;
use crate::Api;
use crate::body::Body;
use crate::handlers::Request;
use crate::respond;
use quorate_registry::Catalogue;
use quorate_registry::error::Error;

/// Those that every server has, beside its groups and health checks.
const PAGES: [&str; 11] = [
    "/.well-known/openid-configuration",
    "/api",
    "/apis",
    "/apis/",
    "/metrics",
    "/metrics/slis",
    "/openapi/v2",
    "/openapi/v3",
    "/openapi/v3/",
    "/openid/v1/jwks",
    "/version",
];

pub(crate) fn handle(api: &Api, request: &Request<'_>) -> Result<Response<Body>, Error> {
    let paths: Vec<Value> = paths(api, request.catalogue).into_iter().map(Value::from).collect();
    respond::value(
        &request.format,
        StatusCode::OK,
        &Value::Map(Map::from([("paths", Value::List(paths))])),
    )
}

fn paths(api: &Api, catalogue: &Catalogue) -> BTreeSet<String> {
    let mut paths: BTreeSet<String> = PAGES.map(str::to_owned).into();
    for (group, version) in catalogue.group_versions() {
        if group.is_empty() {
            paths.insert(format!("/api/{version}"));
        } else {
            paths.extend([format!("/apis/{group}"), format!("/apis/{group}/{version}")]);
        }
    }
    paths.extend(health::paths(api));
    paths
}
