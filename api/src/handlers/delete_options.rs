//! DeleteOptions, from the body or, without one, from the query.
//!
//! A body hides the query, with one exception: `dryRun` counts wherever it stands, because a client
//! that asks for a dry run must not lose an object for having asked in the other place.

use quorate_meta::{Cause, Names, Value};

use crate::Api;
use crate::handlers::Request;
use crate::handlers::write::decode::{self, Expected};
use crate::handlers::write::options::{check_dry_run, refuse};
use quorate_registry::Propagation;
use quorate_registry::Resource;
use quorate_registry::error::Error;
use quorate_registry::features::Feature;
use quorate_registry::write::{DeleteOptions, Preconditions};

pub(super) const KIND: &str = "DeleteOptions";

/// What the client asked for.
#[derive(Debug)]
pub(super) struct Asked {
    /// The options themselves.
    pub(super) options: DeleteOptions,
    /// Whether an object that is still held is answered with 202: so it is for clients that use
    /// `orphanDependents: false`.
    pub(super) accepted_while_held: bool,
    /// Whether the object goes only if it cannot be read.
    pub(super) ignores_read_errors: bool,
}

/// The option of forced deletion, which stands alone.
pub(super) const IGNORE_READ_ERRORS: &str = "ignoreStoreReadErrorWithClusterBreakingPotential";
const DRY_RUN: &str = "dryRun";
/// Options that a forced deletion must not have.
const OTHERS: [&str; 5] =
    [DRY_RUN, "gracePeriodSeconds", "orphanDependents", "preconditions", "propagationPolicy"];

/// Reads and checks the options of a deletion.
pub(super) fn parse(api: &Api, request: &Request<'_>) -> Result<Asked, Error> {
    if request.body.is_empty() { from_query(api, request) } else { from_body(api, request) }
}

/// The warnings for a client that asks for this.
pub(super) fn warnings(resource: &Resource, options: &DeleteOptions) -> Vec<String> {
    let told = resource.strategy.warning_of_deletion().filter(|_| options.propagation.is_none());
    told.map(str::to_owned).into_iter().collect()
}

fn from_query(api: &Api, request: &Request<'_>) -> Result<Asked, Error> {
    let query = &request.info.query;
    if query.flag(IGNORE_READ_ERRORS) == Some(true) && may_ignore_read_errors(api) {
        return forced(api.names, |option| query.get(option).is_some_and(|text| !text.is_empty()));
    }
    let grace_seconds = query.int("gracePeriodSeconds")?;
    let orphan_dependents = query.flag("orphanDependents");
    let mut causes = Vec::new();
    let propagation = parse_policy(query.get("propagationPolicy"), orphan_dependents, &mut causes);
    let dry_run = check_dry_run(query.all(DRY_RUN), &mut causes);
    refuse(api.names, KIND, causes)?;
    let options = DeleteOptions {
        dry_run,
        preconditions: Preconditions::default(),
        propagation,
        grace_seconds,
        of_collection: false,
    };
    Ok(Asked {
        options,
        accepted_while_held: orphan_dependents == Some(false),
        ignores_read_errors: false,
    })
}

fn from_body(api: &Api, request: &Request<'_>) -> Result<Asked, Error> {
    let ty = request
        .catalogue
        .graph()
        .type_named("meta/v1.DeleteOptions")
        .ok_or_else(|| Error::internal("no type for options"))?;
    let expected = Expected { graph: request.catalogue.graph(), ty: ty.id, kind: KIND };
    let syntax = decode::syntax(api, request)?;
    let (mut body, _) =
        decode::parse(syntax, expected, &request.body).map_err(|why| why.or(Error::bad_request))?;
    if let Some(kind) = body.str_at(&["kind"])
        && !kind.is_empty()
        && kind != KIND
    {
        return Err(Error::bad_request(format!("no kind \"{kind}\" can be read as {KIND}")));
    }
    quorate_schema::decode(request.catalogue.graph(), ty.id, &mut body)
        .map_err(|error| Error::bad_request(error.to_string()))?;
    if body.get(IGNORE_READ_ERRORS).and_then(Value::as_bool) == Some(true)
        && may_ignore_read_errors(api)
    {
        let beside = |option: &str| {
            option == DRY_RUN && request.info.query.all(DRY_RUN).any(|value| !value.is_empty())
        };
        return forced(api.names, |option| {
            body.get(option).is_some_and(|value| !value.is_null()) || beside(option)
        });
    }
    let mut causes = Vec::new();
    let orphan_dependents = body.get("orphanDependents").and_then(Value::as_bool);
    let propagation =
        parse_policy(body.str_at(&["propagationPolicy"]), orphan_dependents, &mut causes);
    let dry_run = body
        .get(DRY_RUN)
        .and_then(Value::as_list)
        .unwrap_or_default()
        .iter()
        .filter_map(Value::as_str);
    let dry_run = check_dry_run(dry_run.chain(request.info.query.all(DRY_RUN)), &mut causes);
    refuse(api.names, KIND, causes)?;
    let grace_seconds = body.get("gracePeriodSeconds").and_then(Value::as_i64);
    let precondition = |field: &str| body.str_at(&["preconditions", field]).map(str::to_owned);
    let preconditions = Preconditions {
        uid: precondition("uid"),
        resource_version: precondition("resourceVersion"),
    };
    let options =
        DeleteOptions { dry_run, preconditions, propagation, grace_seconds, of_collection: false };
    Ok(Asked {
        options,
        accepted_while_held: orphan_dependents == Some(false),
        ignores_read_errors: false,
    })
}

/// Without the gate the option is as if it were not there.
fn may_ignore_read_errors(api: &Api) -> bool {
    api.gates.has(Feature::AllowUnsafeMalformedObjectDeletion)
}

/// A forced deletion, which has no other options.
fn forced(names: &Names, is_set: impl Fn(&str) -> bool) -> Result<Asked, Error> {
    let others = OTHERS.into_iter().filter(|option| is_set(option));
    let why = |other| format!("cannot be set together with .{other}");
    refuse(
        names,
        KIND,
        others.map(|other| Cause::invalid(IGNORE_READ_ERRORS, true, &why(other))).collect(),
    )?;
    Ok(Asked {
        options: DeleteOptions::default(),
        accepted_while_held: false,
        ignores_read_errors: true,
    })
}

/// The policy, from its new or its old form, of which only one may be used.
pub(super) fn parse_policy(
    policy: Option<&str>,
    orphan_dependents: Option<bool>,
    causes: &mut Vec<Cause>,
) -> Option<Propagation> {
    let old = orphan_dependents.map(Propagation::of_orphan_dependents);
    let Some(policy) = policy.filter(|policy| !policy.is_empty()) else {
        return old;
    };
    let named = Propagation::named(policy);
    if old.is_some() {
        let why = "orphanDependents and deletionPropagation cannot be both set";
        causes.push(Cause::invalid("propagationPolicy", policy, why));
    } else if named.is_none() {
        causes.push(Cause::not_supported("propagationPolicy", policy, &Propagation::NAMES));
    }
    named
}
