//! DeleteOptions, from the body or, without one, from the query (document 001, "DeleteOptions").

use quorate_meta::{Cause, Names, Value};

use super::decode::{self, Expected};
use super::write_options::{check_dry_run, refuse};
use crate::Api;
use crate::error::Error;
use crate::registry::write::{DeleteOptions, Preconditions};
use crate::request::Request;

const KIND: &str = "DeleteOptions";
const POLICIES: [&str; 3] = ["Background", "Foreground", "Orphan"];

/// Reads and checks the options of a deletion. A body hides the query.
pub(super) fn parse(api: &Api, request: &Request) -> Result<DeleteOptions, Error> {
    if request.body.is_empty() { from_query(api.names, request) } else { from_body(api, request) }
}

fn from_query(names: &Names, request: &Request) -> Result<DeleteOptions, Error> {
    let query = &request.info.query;
    query.int("gracePeriodSeconds")?;
    let orphan_dependents = query.flag("orphanDependents");
    let mut causes = Vec::new();
    check_policy(query.get("propagationPolicy"), orphan_dependents, &mut causes);
    let dry_run = check_dry_run(query.all("dryRun"), &mut causes);
    refuse(names, KIND, causes)?;
    Ok(DeleteOptions { dry_run, preconditions: Preconditions::default(), orphan_dependents })
}

fn from_body(api: &Api, request: &Request) -> Result<DeleteOptions, Error> {
    let ty = api.graph.type_named("meta/v1.DeleteOptions").ok_or_else(|| Error::internal("no type for options"))?;
    let expected = Expected { graph: &api.graph, ty: ty.id, kind: KIND };
    let syntax = decode::syntax(api.names, request)?;
    let (mut body, _) = decode::parse(syntax, expected, &request.body).map_err(Error::bad_request)?;
    if let Some(kind) = body.str_at(&["kind"])
        && !kind.is_empty()
        && kind != KIND
    {
        return Err(Error::bad_request(format!("no kind \"{kind}\" can be read as {KIND}")));
    }
    quorate_schema::decode(&api.graph, ty.id, &mut body).map_err(|error| Error::bad_request(error.to_string()))?;
    let mut causes = Vec::new();
    let orphan_dependents = body.get("orphanDependents").and_then(Value::as_bool);
    check_policy(body.str_at(&["propagationPolicy"]), orphan_dependents, &mut causes);
    let dry_run = body.get("dryRun").and_then(Value::as_list).unwrap_or_default();
    let dry_run = check_dry_run(dry_run.iter().filter_map(Value::as_str), &mut causes);
    refuse(api.names, KIND, causes)?;
    let precondition = |field: &str| body.str_at(&["preconditions", field]).map(str::to_owned);
    let preconditions = Preconditions { uid: precondition("uid"), resource_version: precondition("resourceVersion") };
    Ok(DeleteOptions { dry_run, preconditions, orphan_dependents })
}

fn check_policy(policy: Option<&str>, orphan_dependents: Option<bool>, causes: &mut Vec<Cause>) {
    let Some(policy) = policy.filter(|policy| !policy.is_empty()) else { return };
    if orphan_dependents.is_some() {
        let why = "orphanDependents and deletionPropagation cannot be both set";
        causes.push(Cause::invalid("propagationPolicy", policy, why));
    } else if !POLICIES.contains(&policy) {
        causes.push(Cause::not_supported("propagationPolicy", policy, &POLICIES));
    }
}
