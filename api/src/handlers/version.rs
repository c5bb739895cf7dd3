//! The version endpoint `/version`: the release of the API and the build of the server.

use http::{Response, StatusCode};
use quorate_meta::{Map, Value};

use crate::Api;
use crate::body::Body;
use crate::handlers::Request;
use crate::respond;
use quorate_registry::error::Error;
use quorate_registry::release::Release;

pub(crate) fn handle(api: &Api, request: &Request<'_>) -> Result<Response<Body>, Error> {
    let version = &api.version;
    let number = |number: u16| Value::from(number.to_string());
    let (own, emulated) = (Release::CURRENT, api.gates.release());
    let body = Map::from([
        ("major", number(own.major)),
        ("minor", number(own.minor)),
        ("emulationMajor", number(emulated.major)),
        ("emulationMinor", number(emulated.minor)),
        ("minCompatibilityMajor", number(emulated.major)),
        ("minCompatibilityMinor", number(emulated.minor)),
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
