//! The rehearsal of admission policies: one step of it for a request.
//!
//! The body is `{"candidates": [..], "since": TIME}` for the first step, and `{"candidates": [..],
//! "continue": PLACE}` for those that follow; the answer has the place of the next one until
//! everything was looked at.
//!
//! Invariant: the answer tells of objects that the user may not be able to read otherwise, so the
//! right to this path is one to read the cluster: no role but the administrator's has it.

use http::{Response, StatusCode};
use quorate_admission::policy::rehearsal::{InvalidPlace, Place, Rehearsal, Step, Verdict};
use quorate_meta::{Map, Time, Value};
use quorate_wire::json;

use crate::Api;
use crate::body::Body;
use crate::handlers::Request;
use crate::respond;
use quorate_registry::error::Error;

/// Carries out one step.
pub(super) async fn handle(api: &Api, request: &Request<'_>) -> Result<Response<Body>, Error> {
    let (body, _) =
        json::parse(&request.body).map_err(|error| Error::bad_request(error.to_string()))?;
    let candidates = body.get("candidates").and_then(Value::as_list).unwrap_or_default();
    let rehearsal = Rehearsal::new(&api.admission, candidates)?;
    let step = rehearsal.step(place(&body)?).await?;
    respond::value(&request.format, StatusCode::OK, &answer(step))
}

/// Where the step begins.
fn place(body: &Value) -> Result<Place, Error> {
    let invalid = |error: String| Error::bad_request(error);
    if let Some(text) = body.str_at(&["continue"]) {
        return text.parse().map_err(|error: InvalidPlace| invalid(error.to_string()));
    }
    let since = body.str_at(&["since"]).map(Time::parse).transpose();
    let since = since.map_err(|error| invalid(error.to_string()))?;
    Ok(Place::Changes { after: None, since_ms: since.map_or(0, Time::ms) })
}

fn answer(step: Step) -> Value {
    let mut fields = Map::new();
    fields.insert("writes", i64::try_from(step.writes).unwrap_or(i64::MAX));
    if let Some(oldest) = step.oldest_ms {
        fields.insert("oldest", Time::from_ms(oldest).seconds());
    }
    if step.missing > 0 {
        fields.insert("missing", i64::try_from(step.missing).unwrap_or(i64::MAX));
    }
    fields.insert("verdicts", Value::List(step.verdicts.into_iter().map(verdict).collect()));
    if let Some(next) = step.next {
        fields.insert("continue", next.to_string());
    }
    Value::Map(fields)
}

fn verdict(verdict: Verdict) -> Value {
    let mut fields = Map::new();
    fields.insert("action", verdict.action);
    fields.insert("message", verdict.message);
    fields.insert("operation", verdict.operation);
    fields.insert("resource", verdict.resource);
    let texts = [
        ("namespace", verdict.namespace),
        ("name", verdict.name),
        ("manager", verdict.manager),
        ("user", verdict.user),
    ];
    for (field, text) in texts {
        if !text.is_empty() {
            fields.insert(field, text);
        }
    }
    if let Some(revision) = verdict.revision {
        fields.insert("resourceVersion", revision.get().to_string());
    }
    if let Some(ms) = verdict.time_ms {
        fields.insert("time", Time::from_ms(ms).seconds());
    }
    Value::Map(fields)
}
