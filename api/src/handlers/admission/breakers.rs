//! The open circuit breakers of admission webhooks at this node.

use http::{Response, StatusCode};
use quorate_admission::webhook::WebhookState;
use quorate_meta::{Map, Value};

use crate::Api;
use crate::body::Body;
use crate::handlers::Request;
use crate::respond;
use quorate_registry::error::Error;

/// Lists them.
pub(super) async fn handle(api: &Api, request: &Request<'_>) -> Result<Response<Body>, Error> {
    let open = api.admission.open_breakers().await?;
    let list = Value::List(open.into_iter().map(fields).collect());
    respond::value(&request.format, StatusCode::OK, &Value::Map(Map::from([("breakers", list)])))
}

fn fields(state: WebhookState) -> Value {
    Value::Map(Map::from([
        ("type", Value::from(state.webhook_type.name())),
        ("configuration", Value::from(state.configuration)),
        ("webhook", Value::from(state.webhook)),
        ("failures", Value::from(i64::from(state.failures))),
        ("lastFailure", Value::from(state.last_failure)),
    ]))
}
