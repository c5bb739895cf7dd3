//! The audiences of the tokens that a node may request for its pods
//! (`ServiceAccountNodeAudienceRestriction`): those that the pod or the drivers of its volumes
//! name, and others only with the permission for them.
//!
//! Invariant: what counts is the state in which the pod was found, with which the token is made.

use quorate_meta::{Status, Value};
use quorate_store::Snapshot;

use crate::Api;
use crate::handlers::Request;
use quorate_access::authorization::{Action, ResourceAction};
use quorate_registry::error::Error;
use quorate_registry::write::Target;
use quorate_registry::{Catalogue, stored_codec};

/// What a node must be allowed, of an audience in the place of a resource, to get tokens for it all
/// the same.
const VERB: &str = "request-serviceaccounts-token-audience";

/// Lets through a node's request for a token of `account` with these audiences, for this pod.
///
/// # Errors
/// 403 otherwise.
pub(super) async fn check(
    api: &Api,
    request: &Request<'_>,
    snapshot: &Snapshot,
    account: Target<'_>,
    (pod, asked): (&Value, &[String]),
) -> Result<(), Error> {
    let refused = |why: &str| {
        Err(Status::forbidden(&account.resource.group_resource(), account.name, why).into())
    };
    let audience = match asked {
        [] => "",
        [one] => one,
        _ => return refused("node may only request 0 or 1 audiences"),
    };
    let namespace = account.namespace.unwrap_or_default();
    let volumes = Volumes { catalogue: request.catalogue, snapshot, namespace, pod };
    if volumes.project(audience) || volumes.have_driver_for(audience)? {
        return Ok(());
    }
    let on = ResourceAction {
        verb: VERB,
        resource: audience,
        namespace,
        name: account.name.into(),
        version: "*",
        ..ResourceAction::default()
    };
    if api.authorizer.decide(request.user, &Action::Resource(on)).await.is_allowed() {
        return Ok(());
    }
    let node = &request.user.name;
    refused(&format!(
        "audience {audience:?} not found in pod spec volume, {node} is not authorized to request tokens for this audience"
    ))
}

/// The volumes of a pod.
struct Volumes<'a> {
    catalogue: &'a Catalogue,
    snapshot: &'a Snapshot,
    namespace: &'a str,
    pod: &'a Value,
}

impl Volumes<'_> {
    fn iter(&self) -> impl Iterator<Item = &Value> {
        list(self.pod, &["spec", "volumes"]).iter()
    }

    /// Whether one has a token for this audience in it.
    fn project(&self, audience: &str) -> bool {
        let sources = self.iter().flat_map(|volume| list(volume, &["projected", "sources"]));
        let mut tokens = sources.filter_map(|source| source.get("serviceAccountToken"));
        tokens.any(|token| {
            !token.is_null() && token.str_at(&["audience"]).unwrap_or_default() == audience
        })
    }

    /// Whether one is mounted by a driver that gets tokens for this audience.
    fn have_driver_for(&self, audience: &str) -> Result<bool, Error> {
        let storage = self.catalogue.graph().names().group("storage");
        for volume in self.iter() {
            let Some(name) = self.driver(volume)? else {
                continue;
            };
            let Some(driver) = self.find(&storage, "csidrivers", None, &name)? else {
                continue;
            };
            let mut asked = list(&driver, &["spec", "tokenRequests"]).iter();
            if asked.any(|request| request.str_at(&["audience"]).unwrap_or_default() == audience) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The driver that mounts a volume, by itself or by the claim that it stands for.
    fn driver(&self, volume: &Value) -> Result<Option<String>, Error> {
        if let Some(driver) = volume.str_at(&["csi", "driver"]) {
            return Ok(Some(driver.to_owned()));
        }
        let is_ephemeral = volume.get("ephemeral").is_some_and(|ephemeral| !ephemeral.is_null());
        let name =
            |object: &Value, path: &[&str]| object.str_at(path).unwrap_or_default().to_owned();
        let claim = match volume.str_at(&["persistentVolumeClaim", "claimName"]) {
            Some(claim) => claim.to_owned(),
            None if is_ephemeral => {
                format!("{}-{}", name(self.pod, &["metadata", "name"]), name(volume, &["name"]))
            }
            None => return Ok(None),
        };
        let claim = self.find("", "persistentvolumeclaims", Some(self.namespace), &claim)?;
        let bound = claim
            .map(|claim| name(&claim, &["spec", "volumeName"]))
            .filter(|name| !name.is_empty());
        let Some(bound) = bound else { return Ok(None) };
        let bound = self.find("", "persistentvolumes", None, &bound)?;
        Ok(bound.and_then(|bound| bound.str_at(&["spec", "csi", "driver"]).map(str::to_owned)))
    }

    fn find(
        &self,
        group: &str,
        plural: &str,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Option<Value>, Error> {
        let Some(resource) = self.catalogue.find_builtin(group, "v1", plural) else {
            return Ok(None);
        };
        let entry = self.snapshot.get(&resource.key(namespace, name));
        entry.map(|entry| stored_codec::decode(resource, entry)).transpose()
    }
}

fn list<'v>(object: &'v Value, path: &[&str]) -> &'v [Value] {
    object.at(path).and_then(Value::as_list).unwrap_or_default()
}
