//! `GET /past/changes?refused=true`: the writes that this node has refused.

use std::sync::Arc;

use http::{Response, StatusCode};
use quorate_access::authorization::Action;
use quorate_meta::{Map, Value};
use quorate_registry::error::Error;
use quorate_registry::keys::Key;
use quorate_store::Purges;

use super::extent::document;
use super::parameters;
use super::state::time_text;
use crate::Api;
use crate::body::Body;
use crate::handlers::Request;
use crate::handlers::write::origin::user_info;
use crate::refused_writes::{MAX_SAMPLES, RefusalKey, RefusedWrite};
use crate::respond;

/// The path whose right is needed besides that of the changes.
const PATH: &str = "/past/refused";

/// Answers with counts and a sample.
pub(super) async fn handle(api: &Arc<Api>, request: &Request<'_>) -> Result<Response<Body>, Error> {
    api.authorizer.check(request.user, &Action::Path { verb: "get", path: PATH }).await?;
    let limit = parameters::limit(request, MAX_SAMPLES)?;
    let query = &request.info.query;
    let fits = |key: &RefusalKey| {
        [("user", &key.user), ("group", &key.group), ("resource", &key.resource)]
            .into_iter()
            .all(|(name, found)| query.get(name).is_none_or(|asked| asked == found.as_str()))
            && query.get("verb").is_none_or(|asked| asked == key.verb)
    };
    let fits_object = |write: &&RefusedWrite| {
        let fits = |name: &str, found: Option<&str>| {
            query.get(name).is_none_or(|asked| asked == found.unwrap_or_default())
        };
        fits("namespace", write.namespace.as_deref()) && fits("name", write.name.as_deref())
    };
    let mut told = api.refused_writes.told();
    let purges = Purges::of(&api.store.snapshot());
    told.samples.iter_mut().for_each(|write| forget_purged(&purges, write));
    let counts = told.counts.iter().filter(|(key, _)| fits(key)).map(|(key, count)| {
        let mut members = key_members(key);
        members.insert("user", key.user.as_str());
        members.insert("count", i64::try_from(*count).unwrap_or(i64::MAX));
        Value::Map(members)
    });
    let samples = told.samples.iter().rev().filter(|write| fits(&write.key)).filter(fits_object);
    let mut answer = document(api, "RefusedWriteList");
    answer.insert("metadata", Map::new());
    answer.insert("since", time_text(told.since_ms));
    answer.insert("counts", Value::List(counts.collect()));
    answer.insert("items", Value::List(samples.take(limit).map(item).collect()));
    answer.insert("dropped", i64::try_from(told.dropped).unwrap_or(i64::MAX));
    respond::value(&request.format, StatusCode::OK, &Value::Map(answer))
}

/// Messages may quote what was to be written.
fn forget_purged(purges: &Purges, write: &mut RefusedWrite) {
    let key = Key::Object {
        group: &write.key.group,
        resource: &write.key.resource,
        namespace: write.namespace.as_deref(),
        name: write.name.as_deref().unwrap_or_default(),
    };
    let key = key.encode();
    let is_purged =
        purges.iter().any(|known| known.purge.names(&key) && write.time_ms <= known.purge.time_ms);
    if is_purged {
        write.message.clear();
    }
}

fn key_members(key: &RefusalKey) -> Map {
    let mut members = Map::from([
        ("verb", Value::from(key.verb)),
        ("group", Value::from(key.group.as_str())),
        ("resource", Value::from(key.resource.as_str())),
        ("code", Value::from(i64::from(key.code))),
        ("reason", Value::from(key.reason.as_str())),
    ]);
    if !key.subresource.is_empty() {
        members.insert("subresource", key.subresource.as_str());
    }
    members
}

fn item(write: &RefusedWrite) -> Value {
    let mut members = key_members(&write.key);
    members.insert("time", time_text(write.time_ms));
    members.insert("user", Value::Map(user_info(&write.user).to_fields()));
    if let Some(user) = &write.impersonator {
        members.insert("impersonator", Value::Map(user_info(user).to_fields()));
    }
    let texts = [
        ("namespace", write.namespace.as_deref()),
        ("name", write.name.as_deref()),
        ("message", Some(write.message.as_str())),
        ("userAgent", Some(write.user_agent.as_str())),
        ("auditID", Some(write.audit_id.as_str())),
    ];
    for (member, text) in texts {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            members.insert(member, text);
        }
    }
    Value::Map(members)
}
