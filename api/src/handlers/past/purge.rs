//! `POST /past/purges`: versions of objects are deleted from the past for good, at every member.
//!
//! Invariants: the right to the path is needed, which no role but the administrator's has; rights to
//! read objects or the past do not suffice. What lives now stays. Nothing is written by a dry run.
//! `GET` tells the records.

use std::collections::BTreeMap;
use std::fmt::Write;

use bytes::Bytes;
use http::{Response, StatusCode};
use quorate_env::blocking;
use quorate_meta::{Map, Status, Value};
use quorate_registry::WriteOrigin;
use quorate_registry::error::Error;
use quorate_registry::keys::Key;
use quorate_store::{
    KnownPurge, MAX_PURGE_KEPT, MAX_PURGES, Operation, Past, PastError, Purge, PurgeCount, Purges,
    Revision, Snapshot, Txn,
};

use super::extent::document;
use super::purge_request::PurgeRequest;
use super::state::{archive, failure, time_text};
use crate::Api;
use crate::body::Body;
use crate::handlers::options::At;
use crate::handlers::write::options::check_dry_run;
use crate::handlers::write::origin::origin_of;
use crate::handlers::{Request, snapshot};
use crate::respond;

/// How old a record is at least when it goes, with the next purge, milliseconds. Besides, what it
/// names has to be older than the archive of the node that is asked.
const KEPT_MS: u64 = 30 * 24 * 60 * 60 * 1000;
/// Records of one request.
const MAX_RECORDS: usize = 8;

/// Carries out a purge.
pub(super) async fn handle(api: &Api, request: &Request<'_>) -> Result<Response<Body>, Error> {
    let mut causes = Vec::new();
    let dry_run = check_dry_run(request.info.query.all("dryRun"), &mut causes);
    if !causes.is_empty() {
        return Err(Error::bad_request("dryRun: All is the only value"));
    }
    let asked = PurgeRequest::parse(request)?;
    let past = archive(api)?;
    let newest = snapshot::snapshot(api, request, At::MostRecent).await?;
    let purges = purges_of(&newest, &asked, api.env.clock.now_ms(), &request.user.name);
    let known = Purges::of(&newest);
    if purges.len() > MAX_RECORDS || known.iter().count() + purges.len() > MAX_PURGES {
        let message = format!(
            "{} records of purges are kept: {MAX_PURGES} are the limit, {MAX_RECORDS} of one request; \
             name fewer objects, or wait until older records go",
            known.iter().count()
        );
        return Err(Status::too_many_requests(message, 3600).into());
    }
    let count = blocking(|| count(&*past, &purges));
    if !dry_run {
        let puts =
            purges.iter().map(|purge| Operation::Put { key: key(api), value: purge.encode() });
        let operations = puts.chain(outdated(api, &known, past.extent().oldest)).collect();
        let origin = origin_of(request).with(&WriteOrigin::default());
        api.store.txn(Txn { operations, origin, ..Txn::default() }).await?;
    }
    let mut answer = document(api, "Purge");
    answer.insert("upTo", newest.revision().to_string());
    answer.insert("dryRun", dry_run);
    match count {
        Ok(count) => put_count(count, &mut answer),
        // What cannot be counted is purged all the same.
        Err(error) if dry_run => return Err(failure(error)),
        Err(_) => {}
    }
    respond::value(&request.format, StatusCode::OK, &Value::Map(answer))
}

fn put_count(count: PurgeCount, answer: &mut Map) {
    let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    answer.insert("objects", number(count.objects));
    answer.insert("versions", number(count.versions));
}

fn count(past: &dyn Past, purges: &[Purge]) -> Result<PurgeCount, PastError> {
    let mut all = PurgeCount::default();
    for purge in purges {
        let PurgeCount { objects, versions } = past.count_purged(purge)?;
        all.objects += objects;
        all.versions += versions;
    }
    Ok(all)
}

/// The records of a request: each has a part of the range with a bounded number of living objects.
fn purges_of(newest: &Snapshot, asked: &PurgeRequest, time_ms: u64, user: &str) -> Vec<Purge> {
    let of = |key: &Bytes, modified: Revision| (key.clone(), modified);
    let living: Vec<(Bytes, Revision)> = match asked.from.ends_with(b"/") {
        true => {
            newest.range(&asked.from, None).map(|(key, entry)| of(key, entry.modified)).collect()
        }
        false => newest
            .get(&asked.from)
            .map(|entry| of(&asked.from, entry.modified))
            .into_iter()
            .collect(),
    };
    let mut purges = Vec::new();
    let mut from = asked.from.clone();
    let mut chunks = living.chunks(MAX_PURGE_KEPT).peekable();
    loop {
        let kept: BTreeMap<_, _> = chunks.next().unwrap_or_default().iter().cloned().collect();
        let to = chunks.peek().map_or_else(|| asked.to.clone(), |next| next[0].0.clone());
        let (upto, user, reason) = (newest.revision(), user.to_owned(), asked.reason.clone());
        purges.push(Purge { from, to: to.clone(), upto, kept, time_ms, user, reason });
        if chunks.peek().is_none() {
            return purges;
        }
        from = to;
    }
}

/// A new key of a record.
fn key(api: &Api) -> Bytes {
    let mut random = [0; 16];
    api.env.entropy.fill(&mut random);
    let id = random.iter().fold(String::new(), |mut id, byte| {
        write!(id, "{byte:02x}").expect("a string takes everything");
        id
    });
    Key::Purge { id: &id }.encode()
}

/// The removal of records of which nothing is left.
fn outdated(api: &Api, known: &Purges, oldest: Revision) -> Vec<Operation> {
    let now_ms = api.env.clock.now_ms();
    let is_outdated = |known: &&KnownPurge| {
        known.purge.upto <= oldest && known.purge.time_ms.saturating_add(KEPT_MS) < now_ms
    };
    let outdated = known.iter().filter(is_outdated);
    outdated.map(|known| Operation::Delete { key: known.key.clone() }).collect()
}

/// Tells the records, the newest first.
pub(super) async fn list(api: &Api, request: &Request<'_>) -> Result<Response<Body>, Error> {
    let newest = snapshot::snapshot(api, request, At::MostRecent).await?;
    let purges = Purges::of(&newest);
    let mut known: Vec<&KnownPurge> = purges.iter().collect();
    known.sort_by_key(|known| std::cmp::Reverse(known.modified));
    let item = |known: &&KnownPurge| {
        let Purge { from, to, upto, time_ms, user, reason, .. } = &*known.purge;
        Value::Map(Map::from([
            ("from", from.escape_ascii().to_string()),
            ("to", to.escape_ascii().to_string()),
            ("upTo", upto.to_string()),
            ("time", time_text(*time_ms)),
            ("user", user.clone()),
            ("reason", reason.clone()),
        ]))
    };
    let mut answer = document(api, "PurgeList");
    let metadata = Map::from([("resourceVersion", newest.revision().to_string())]);
    answer.insert("metadata", Value::Map(metadata));
    answer.insert("items", Value::List(known.iter().map(item).collect()));
    respond::value(&request.format, StatusCode::OK, &Value::Map(answer))
}
