//! `quorate restore --namespace`: brings the objects of one namespace back into a running cluster.
//!
//! The backup is served by a throwaway node of this machine ([`super::fork`]), so that objects are
//! read as its own release and definitions read them. Invariants: what is there stays as it is, unless
//! `--replace` is given; what came later is never removed; what a controller makes of other objects is
//! left to it; nothing is written without `--yes`.

use http::{Method, StatusCode};
use quorate_backup::Target;
use quorate_env::Env;
use quorate_meta::{Map, Value};

use super::backup::open;
use super::fork::ForkedNode;
use crate::cli::Restore;
use crate::cluster_client::{
    ApiResource, ClusterClient, QueryParameters, Reply, Resources, as_stored,
};
use crate::error::Error;
use crate::terminal::{print_line, print_warning};

/// Resources that others need, in this order; the rest comes after them.
const FIRST: [&str; 6] =
    ["serviceaccounts", "secrets", "configmaps", "roles", "persistentvolumeclaims", "services"];
/// Resources that are made of others, or say what was.
const LEFT_OUT: [&str; 5] =
    ["events", "endpoints", "endpointslices", "leases", "controllerrevisions"];
/// What the server gives an object.
const GIVEN: [&str; 9] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// The metadata that users say.
const SAID: [&str; 3] = ["annotations", "finalizers", "labels"];
/// Fields of a Service with addresses.
const ADDRESSES: [&str; 2] = ["clusterIP", "clusterIPs"];

/// An object that is to come back.
struct RestoredObject {
    resource: ApiResource,
    name: String,
    object: Value,
}

/// Explains, and carries it out if told to.
pub(super) async fn run(options: &Restore, namespace: &str, env: &Env) -> Result<(), Error> {
    let mut living = ClusterClient::new(&options.cluster, env).await?;
    let repository = open(&options.from, env).await?;
    let target = options.at.unwrap_or(Target::Newest);
    let restored = quorate_backup::restore(&repository, target).await?;
    let revision = restored.revision;
    let mut node = ForkedNode::new(env).await?;
    let candidates = async {
        node.start(restored, env).await?;
        candidates(&mut node.client(env).await?, namespace).await
    };
    let candidates = candidates.await;
    node.end().await?;
    let candidates = candidates?;
    print_line(format_args!("namespace {namespace} as of revision {revision}"));
    let mut failed = 0;
    for candidate in &candidates {
        let title = format!("{}/{}", candidate.resource.plural, candidate.name);
        // Where the type is not served there is nothing of it.
        let present = living.find(&candidate.path(namespace)).await?;
        let step = RestoreStep::of(candidate, present, options.replace);
        print_line(format_args!("  {:<7} {title}", step.name()));
        if options.yes
            && let Some(reply) = step.carry_out(candidate, namespace, &mut living).await?
            && !reply.status.is_success()
        {
            failed += 1;
            print_warning(format_args!("{title}: {}", reply.refusal()));
        }
    }
    if !options.yes {
        print_line("Nothing was changed. To carry it out, add --yes.");
    }
    match failed {
        0 => Ok(()),
        number => Err(Error::failed(format_args!("{number} objects could not be written"))),
    }
}

impl RestoredObject {
    fn path(&self, namespace: &str) -> String {
        self.resource.object(Some(namespace), &self.name)
    }
}

/// What is done with an object.
enum RestoreStep {
    /// It is not there.
    Create,
    /// It is there otherwise than it was; this is what it will be.
    Replace(Value),
    Stay,
}

impl RestoreStep {
    fn of(candidate: &RestoredObject, present: Option<Value>, replaces: bool) -> Self {
        let Some(present) = present else { return Self::Create };
        let wanted = put_back(&present, &candidate.object);
        if replaces && wanted != present { Self::Replace(wanted) } else { Self::Stay }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Replace(_) => "replace",
            Self::Stay => "stays",
        }
    }

    /// Writes; `None` where nothing is to be written, or an object came meanwhile.
    async fn carry_out(
        &self,
        candidate: &RestoredObject,
        namespace: &str,
        living: &mut ClusterClient,
    ) -> Result<Option<Reply>, Error> {
        match self {
            Self::Create => {
                let path = candidate.resource.collection(Some(namespace));
                let reply = living.write(Method::POST, &path, &candidate.object, false).await?;
                Ok((reply.status != StatusCode::CONFLICT).then_some(reply))
            }
            Self::Replace(object) => {
                let path = candidate.path(namespace);
                living.write(Method::PUT, &path, object, false).await.map(Some)
            }
            Self::Stay => Ok(None),
        }
    }
}

/// An object that is there with what users say of it as it was: its revision, its owners and its status stay, and so does
/// what was not kept of the old one.
fn put_back(present: &Value, restored: &Value) -> Value {
    let mut object = present.clone();
    let (Some(fields), Some(wanted)) = (object.as_map_mut(), restored.as_map()) else {
        return object;
    };
    let kind = present.str_at(&["kind"]).unwrap_or_default();
    fields.retain(|field, _| match field {
        "apiVersion" | "kind" | "metadata" | "status" => true,
        "spec" => kind == "Namespace",
        _ => false,
    });
    for (field, value) in wanted.iter().filter(|(field, _)| *field != "metadata") {
        fields.insert(field, value.clone());
    }
    for field in ADDRESSES.into_iter().filter(|_| kind == "Service") {
        if let Some(address) = present.at(&["spec", field])
            && object.at(&["spec", field]).is_none()
        {
            object.set_at(&["spec", field], address.clone());
        }
    }
    for field in SAID {
        object.remove_at(&["metadata", field]);
        if let Some(value) = restored.at(&["metadata", field]) {
            object.set_at(&["metadata", field], value.clone());
        }
    }
    object
}

/// The namespace and its objects, in the order in which they are to come back.
async fn candidates(
    source: &mut ClusterClient,
    namespace: &str,
) -> Result<Vec<RestoredObject>, Error> {
    let resources = Resources::discover(source).await?;
    let namespaces = resources.resolve("namespaces")?.clone();
    let own = source.find(&namespaces.object(None, namespace)).await?;
    let mut object = own.ok_or_else(|| Error::config("the backup has no such namespace"))?;
    strip(&mut object);
    object.remove_at(&["spec"]);
    let own = RestoredObject { resource: namespaces, name: namespace.to_owned(), object };
    let mut others = Vec::new();
    for resource in collections(&resources) {
        let resource = as_stored(source, &resources, resource.clone()).await;
        let path = resource.collection(Some(namespace));
        for mut object in source.list(&path, &QueryParameters::default()).await? {
            if is_made_by_others(&object) {
                continue;
            }
            let name = object.str_at(&["metadata", "name"]).unwrap_or_default().to_owned();
            strip(&mut object);
            others.push(RestoredObject { resource: resource.clone(), name, object });
        }
    }
    let rank = |candidate: &RestoredObject| {
        let plural = candidate.resource.plural.as_str();
        FIRST.iter().position(|first| *first == plural).unwrap_or(FIRST.len())
    };
    others.sort_by_key(rank);
    Ok(std::iter::once(own).chain(others).collect())
}

/// The resources whose objects lie in namespaces and can be created.
fn collections(resources: &Resources) -> impl Iterator<Item = &ApiResource> {
    resources.preferred().filter(|resource| {
        resource.namespaced
            && ["create", "list", "get"].iter().all(|verb| resource.has_verb(verb))
            && !LEFT_OUT.contains(&resource.plural.as_str())
    })
}

/// Whether a controller will make it, or it is a token that is of no use any more.
fn is_made_by_others(object: &Value) -> bool {
    let owners = object.at(&["metadata", "ownerReferences"]).and_then(Value::as_list);
    let is_controller =
        |owner: &Value| owner.get("controller").and_then(Value::as_bool) == Some(true);
    let kind = object.str_at(&["type"]).unwrap_or_default();
    owners.unwrap_or_default().iter().any(is_controller) || kind.ends_with("/service-account-token")
}

/// Takes away what the server gives.
fn strip(object: &mut Value) {
    let is_service = object.str_at(&["kind"]) == Some("Service");
    let Some(fields) = object.as_map_mut() else { return };
    fields.remove("status");
    if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_map_mut) {
        GIVEN.iter().for_each(|name| drop(metadata.remove(name)));
    }
    if is_service && let Some(spec) = fields.get_mut("spec").and_then(Value::as_map_mut) {
        strip_addresses(spec);
    }
}

/// Takes away the addresses of a Service, which may be another one's by now.
fn strip_addresses(spec: &mut Map) {
    if spec.get("clusterIP").is_some_and(|address| address.as_str() != Some("None")) {
        ADDRESSES.iter().for_each(|field| drop(spec.remove(field)));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_server_gives_is_taken_away() {
        let mut object: Value = json!({
            "kind": "Service", "metadata": { "name": "a", "uid": "u", "labels": { "a": "b" } },
            "spec": { "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ports": [] }, "status": {},
        })
        .into();
        strip(&mut object);
        let expect = json!({
            "kind": "Service", "metadata": { "name": "a", "labels": { "a": "b" } },
            "spec": { "ports": [] },
        });
        assert_eq!(object, expect.into());
    }

    #[test]
    fn what_others_make_is_left_to_them() {
        let check = |object: serde_json::Value, expect: bool| {
            assert_eq!(is_made_by_others(&object.clone().into()), expect, "{object}");
        };
        let owned = |controller: bool| json!({ "metadata": { "ownerReferences": [{ "controller": controller }] } });
        check(owned(true), true);
        check(owned(false), false);
        check(json!({ "type": "kubernetes.io/service-account-token" }), true);
        check(json!({ "type": "Opaque" }), false);
    }

    #[test]
    fn what_is_there_is_put_back() {
        let check = |present: serde_json::Value,
                     restored: serde_json::Value,
                     expect: serde_json::Value| {
            let mut restored = restored.into();
            strip(&mut restored);
            assert_eq!(put_back(&present.clone().into(), &restored), expect.into(), "{present}");
        };
        check(
            json!({"kind": "ConfigMap", "data": {"k": "bad"}, "immutable": true, "metadata": {"name": "a",
                "resourceVersion": "9", "uid": "v", "labels": {"x": "y"}, "ownerReferences": [{"uid": "o"}]}}),
            json!({"kind": "ConfigMap", "data": {"k": "good"}, "metadata": {"name": "a", "resourceVersion": "1",
                "uid": "u", "annotations": {"c": "d"}}}),
            json!({"kind": "ConfigMap", "data": {"k": "good"}, "metadata": {"name": "a", "resourceVersion": "9",
                "uid": "v", "annotations": {"c": "d"}, "ownerReferences": [{"uid": "o"}]}}),
        );
        check(
            json!({"kind": "Service", "spec": {"clusterIP": "10.0.0.2", "clusterIPs": ["10.0.0.2"], "type": "bad"}, "status": {"now": 1}}),
            json!({"kind": "Service", "spec": {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"]}, "status": {"then": 1}}),
            json!({"kind": "Service", "spec": {"clusterIP": "10.0.0.2", "clusterIPs": ["10.0.0.2"]}, "status": {"now": 1}}),
        );
        check(
            json!({"kind": "Namespace", "spec": {"finalizers": ["f"]}}),
            json!({"kind": "Namespace"}),
            json!({"kind": "Namespace", "spec": {"finalizers": ["f"]}}),
        );
    }
}
