//! The permission to name parameters: who makes a policy or a binding must be able to read what it
//! gives to expressions, because what these say of it is told.
//!
//! Invariants: a write that leaves the reference as it is needs no permission; where the kind of
//! the parameters is not known, the permission is needed for every resource.

use quorate_meta::{Cause, Status, Value};
use quorate_registry::error::Error;
use quorate_registry::{AccessCheck, AccessTarget, Attributes, Author, Catalogue, stored_codec};
use quorate_store::Snapshot;

use super::index::{BINDINGS, POLICIES};

/// Every group, resource, namespace or name.
const ALL: &str = "*";

/// What has to be asked about a write of a policy or binding; `None` where nothing has to.
struct Needed {
    check: AccessCheck,
    field: &'static str,
    refusal: String,
}

/// Admits a write of a policy or binding by its author.
///
/// # Errors
/// 422 when the author may not read the parameters.
pub(super) async fn check(
    attributes: &Attributes<'_>,
    author: &dyn Author,
    catalogue: &Catalogue,
    snapshot: &Snapshot,
) -> Result<(), Error> {
    let user = author.user().name;
    let Some(new) = attributes.new.filter(|_| attributes.is_main()) else {
        return Ok(());
    };
    let needed = match attributes.target.resource.plural.as_str() {
        POLICIES => of_policy(attributes, new, catalogue, user),
        BINDINGS => of_binding(attributes, new, catalogue, snapshot, user),
        _ => None,
    };
    let Some(Needed { check, field, refusal }) = needed else {
        return Ok(());
    };
    if author.decide(&check).await.allowed {
        return Ok(());
    }
    let cause = Cause::forbidden(field, &refusal);
    let resource = attributes.target.resource;
    Err(Status::invalid(&resource.group_kind(), attributes.target.name, vec![cause]).into())
}

fn of_policy(
    attributes: &Attributes<'_>,
    new: &Value,
    catalogue: &Catalogue,
    user: &str,
) -> Option<Needed> {
    let kind = changed(attributes, new, "paramKind")?;
    let (group, resource) = resource_of(kind, catalogue);
    let text = |field: &str| kind.str_at(&[field]).unwrap_or_default();
    let (own, version) = (text("kind"), text("apiVersion"));
    Some(Needed {
        check: question("get", group, resource, ALL, ALL),
        field: "spec.paramKind",
        refusal: format!(
            "user {user} must have \"get\" permission on all objects of the referenced paramKind (kind={own}, apiVersion={version})"
        ),
    })
}

fn of_binding(
    attributes: &Attributes<'_>,
    new: &Value,
    catalogue: &Catalogue,
    snapshot: &Snapshot,
    user: &str,
) -> Option<Needed> {
    let reference = changed(attributes, new, "paramRef")?;
    let policy = new.str_at(&["spec", "policyName"]).unwrap_or_default();
    let own = attributes.target.resource;
    let policies = catalogue.find_builtin(&own.group, &own.version, POLICIES)?;
    let policy = snapshot.get(&policies.key(None, policy));
    let policy = policy.and_then(|entry| stored_codec::decode(policies, entry).ok());
    let kind = policy.as_ref().and_then(|policy| policy.at(&["spec", "paramKind"]));
    let (group, resource) =
        kind.map_or_else(|| (ALL.to_owned(), ALL.to_owned()), |kind| resource_of(kind, catalogue));
    let text = |field: &str| reference.str_at(&[field]).unwrap_or_default();
    let name = text("name");
    let verb = if name.is_empty() { "list" } else { "get" };
    Some(Needed {
        check: question(verb, group, resource, text("namespace"), name),
        field: "spec.paramRef",
        refusal: format!(
            "user {user} does not have \"{verb}\" permission on the object referenced by paramRef"
        ),
    })
}

/// A field of the `spec` that the write sets or changes.
fn changed<'v>(attributes: &Attributes<'_>, new: &'v Value, field: &str) -> Option<&'v Value> {
    let own = new.at(&["spec", field]).filter(|value| !value.is_null())?;
    let old = attributes.old.and_then(|old| old.at(&["spec", field]));
    (old != Some(own)).then_some(own)
}

/// Group and plural name of a `paramKind`.
fn resource_of(kind: &Value, catalogue: &Catalogue) -> (String, String) {
    let text = |field: &str| kind.str_at(&[field]).unwrap_or_default();
    let version = text("apiVersion");
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let found = catalogue.find_kind(group, version, text("kind"));
    let plural = found.map_or(ALL, |resource| resource.plural.as_str());
    (group.to_owned(), plural.to_owned())
}

fn question(
    verb: &str,
    group: String,
    resource: String,
    namespace: &str,
    name: &str,
) -> AccessCheck {
    let target = AccessTarget::Resource {
        group,
        resource,
        subresource: String::new(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        fields: String::new(),
        labels: String::new(),
    };
    AccessCheck { service_account: None, target, verb: verb.to_owned() }
}
