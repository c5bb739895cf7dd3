//! The version endpoint `/version`: the release of the API and the build of the server.

use http::{Response, StatusCode};
use quorate_meta::{Map, Value};

use crate::Api;
use crate::body::Body;
use crate::handlers::Request;
use crate::respond;
use quorate_registry::error::Error;

/// The release whose interface is served.
const MAJOR: &str = "1";
/// See [`MAJOR`].
const MINOR: &str = "35";

pub(crate) fn handle(api: &Api, request: &Request<'_>) -> Result<Response<Body>, Error> {
    let version = &api.version;
    let body = Map::from([
        ("major", Value::from(MAJOR)),
        ("minor", Value::from(MINOR)),
        ("emulationMajor", Value::from(MAJOR)),
        ("emulationMinor", Value::from(MINOR)),
        ("minCompatibilityMajor", Value::from(MAJOR)),
        ("minCompatibilityMinor", Value::from(MINOR)),
        ("gitVersion", Value::from(version.git_version.as_str())),
        ("gitCommit", Value::from(version.git_commit.as_str())),
        ("gitTreeState", Value::from("clean")),
        ("buildDate", Value::from(version.build_date.as_str())),
        ("goVersion", Value::from(version.compiler.as_str())),
        ("compiler", Value::from("rustc")),
        ("platform", Value::from(format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH))),
    ]);
    respond::value(&request.format, StatusCode::OK, &Value::Map(body))
}
