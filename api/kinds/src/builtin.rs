//! The built-in resources, made from the kinds of the schema.
//!
//! Invariants: every kind that the schema stores is served, but for those that are off by default
//! and those that an operator has switched off: they are in the catalogue and not served, so that
//! their stored objects stay. A new kind needs its IDL entry, and a strategy where the schema does
//! not define its whole behaviour.

use std::borrow::Cow;
use std::sync::Arc;

use quorate_meta::{GroupVersionKind, Names, version_order};
use quorate_schema::{Graph, KindDef};

use crate::api_versions::ApiVersion;
use quorate_registry::features::{Feature, Gates};
use quorate_registry::runtime_config::RuntimeConfig;
use quorate_registry::{Catalogue, Conversion, ObjectTypes, Resource, StoredForm, Subresource};

/// Neutral group and kind of what is served but never stored: reviews, which the handlers answer,
/// and bindings.
const VIRTUAL: [(&str, &str); 7] = [
    ("authentication", "SelfSubjectReview"),
    ("authentication", "TokenReview"),
    ("authorization", "LocalSubjectAccessReview"),
    ("authorization", "SelfSubjectAccessReview"),
    ("authorization", "SelfSubjectRulesReview"),
    ("authorization", "SubjectAccessReview"),
    ("core", "Binding"),
];

/// Neutral group and kind of what can be read but is never stored: computed from the state of the
/// server at each request.
const COMPUTED: [(&str, &str); 1] = [("core", "ComponentStatus")];

/// Neutral group and kind of what is served while a feature gate is on.
const GATED: [(&str, &str, Feature); 3] = [
    ("admissionregistration", "MutatingAdmissionPolicy", Feature::MutatingAdmissionPolicy),
    ("admissionregistration", "MutatingAdmissionPolicyBinding", Feature::MutatingAdmissionPolicy),
    ("certificates", "ClusterTrustBundle", Feature::ClusterTrustBundle),
];

/// Neutral group and kind of what is not GA and yet served by default.
const ON_BY_DEFAULT: [(&str, &str); 1] = [("certificates", "ClusterTrustBundle")];

/// Neutral groups in the order of discovery, by which clients resolve short names; other groups
/// follow.
const GROUP_ORDER: [&str; 20] = [
    "core",
    "apiregistration",
    "apps",
    "events",
    "authentication",
    "authorization",
    "autoscaling",
    "batch",
    "certificates",
    "networking",
    "policy",
    "rbac.authorization",
    "storage",
    "admissionregistration",
    "apiextensions",
    "scheduling",
    "coordination",
    "node",
    "discovery",
    "resource",
];

/// The subresources that are served.
const SERVED_SUBRESOURCES: [&str; 14] = [
    "approval",
    "attach",
    "binding",
    "ephemeralcontainers",
    "eviction",
    "exec",
    "finalize",
    "log",
    "portforward",
    "proxy",
    "resize",
    "scale",
    "status",
    "token",
];

/// The catalogue of the built-in resources of a naming profile, with a schema of its own and every
/// feature gate at its default.
#[must_use]
pub fn catalogue_of(names: &'static Names) -> Catalogue {
    catalogue(&Arc::new(Graph::builtin(names)))
}

/// The catalogue of the built-in resources, with every feature gate at its default.
#[must_use]
pub fn catalogue(graph: &Arc<Graph>) -> Catalogue {
    catalogue_with(graph, &Gates::default(), &RuntimeConfig::default())
}

/// The catalogue of the built-in resources under these feature gates and this runtime
/// configuration.
#[must_use]
pub fn catalogue_with(
    graph: &Arc<Graph>,
    gates: &Gates,
    runtime_config: &RuntimeConfig,
) -> Catalogue {
    let kinds = graph.kinds().iter();
    let mut known: Vec<(&KindDef, Option<StoredForm>)> =
        kinds.filter_map(|kind| Some((kind, stored_form(graph, kind)?))).collect();
    known.sort_by(|(left, _), (right, _)| {
        let versions = version_order::compare(&left.version, &right.version);
        group_place(left).cmp(&group_place(right)).then(versions)
    });
    let versions = ApiVersion::all();
    let version_of = |kind: &KindDef| {
        let own = (kind.neutral_group, &*kind.version, &*kind.kind);
        versions.iter().find(|row| (row.group, row.version, row.kind) == own)
    };
    let resource = |(kind, form): (&KindDef, Option<StoredForm>)| {
        let version = version_of(kind);
        let is_in_release = version.is_none_or(|version| version.is_in(gates.release()));
        let deprecation = version.and_then(|one| one.deprecation(graph.names(), gates.release()));
        let served = is_in_release && is_served(kind, gates, runtime_config);
        Arc::new(Resource { served, deprecation, ..resource(graph, kind, form) })
    };
    Catalogue::new(graph.clone(), known.into_iter().map(resource).collect())
}

/// Whether a kind is served: its feature is on, and neither its default nor the runtime
/// configuration switch it off.
fn is_served(kind: &KindDef, gates: &Gates, runtime_config: &RuntimeConfig) -> bool {
    let own = (kind.neutral_group, kind.kind.as_ref());
    let default = !kind.off_by_default || ON_BY_DEFAULT.contains(&own);
    gate_of(own.0, own.1).is_none_or(|feature| gates.has(feature))
        && runtime_config.serves(&kind.group, &kind.version, &kind.resource, default)
}

/// The feature that a kind, of the group with this neutral name, is served with.
pub(crate) fn gate_of(group: &str, kind: &str) -> Option<Feature> {
    let gate = GATED.iter().find(|(own, name, _)| (*own, *name) == (group, kind));
    gate.map(|(.., feature)| *feature)
}

/// How a kind's objects are stored when that is in another version. `None` for a kind that is
/// no resource: it is neither virtual nor stored.
#[expect(clippy::option_option, reason = "whether it is a resource, and then whether converted")]
fn stored_form(graph: &Arc<Graph>, kind: &KindDef) -> Option<Option<StoredForm>> {
    if is_virtual(kind) || COMPUTED.contains(&(kind.neutral_group, kind.kind.as_ref())) {
        return Some(None);
    }
    let version = kind.storage_version.as_ref()?;
    if kind.resource.is_empty() {
        return None;
    }
    let stored = GroupVersionKind::new(&*kind.storage_group, version.as_ref(), kind.kind.as_ref());
    // A version that the schema has no longer only names the storage; the stored objects have the
    // form of the served version.
    let Some(stored) = graph.kind(&stored) else {
        return Some(None);
    };
    if (&stored.group, &stored.version) == (&kind.group, &kind.version) {
        return Some(None);
    }
    let conversion =
        crate::conversion(graph.names(), kind.neutral_group, &kind.version, &kind.kind)?;
    Some(Some(StoredForm {
        conversion,
        selectable_fields: strings(&stored.selectable_fields),
        strategy: crate::strategy(graph, stored.neutral_group, &stored.version, &stored.kind),
    }))
}

fn group_place(kind: &KindDef) -> usize {
    GROUP_ORDER.iter().position(|group| *group == kind.neutral_group).unwrap_or(usize::MAX)
}

fn is_virtual(kind: &KindDef) -> bool {
    VIRTUAL.contains(&(kind.neutral_group, kind.kind.as_ref()))
}

/// The conversions of a kind's versions, by version.
fn conversions(graph: &Graph, kind: &KindDef) -> Vec<(String, Arc<dyn Conversion>)> {
    let is_same =
        |other: &&KindDef| other.neutral_group == kind.neutral_group && other.kind == kind.kind;
    let versions = graph.kinds().iter().filter(is_same);
    versions
        .filter_map(|kind| {
            let conversion =
                crate::conversion(graph.names(), kind.neutral_group, &kind.version, &kind.kind)?;
            Some((kind.version.to_string(), conversion))
        })
        .collect()
}

fn resource(graph: &Arc<Graph>, kind: &KindDef, stored_form: Option<StoredForm>) -> Resource {
    let served =
        kind.subresources.iter().filter(|sub| SERVED_SUBRESOURCES.contains(&sub.name.as_ref()));
    Resource {
        group: kind.group.clone(),
        version: kind.version.to_string(),
        api_version: kind.api_version(),
        kind: kind.kind.to_string(),
        list_kind: kind
            .list_kind
            .as_ref()
            .map_or_else(|| format!("{}List", kind.kind), ToString::to_string),
        plural: kind.resource.to_string(),
        singular: kind.singular.to_string(),
        short_names: strings(&kind.short_names),
        categories: strings(&kind.categories),
        namespaced: kind.namespaced,
        stored: !is_virtual(kind),
        served: true,
        verbs: strings(&kind.verbs),
        subresources: served.map(|sub| subresource(graph, kind, sub)).collect(),
        selectable_fields: strings(&kind.selectable_fields),
        types: ObjectTypes::Known(graph.clone(), kind.ty),
        columns: kind.columns.clone(),
        delete_returns_object: kind.delete_returns_object,
        deprecation: None,
        storage_group: kind.storage_group.clone(),
        storage_version: kind
            .storage_version
            .as_ref()
            .map_or_else(String::new, ToString::to_string),
        stored_form,
        reader: None,
        remote: None,
        conversions: conversions(graph, kind),
        versions: Arc::default(),
        strategy: crate::strategy(graph, kind.neutral_group, &kind.version, &kind.kind),
        prefix: Resource::storage_prefix(&kind.storage_group, &kind.resource),
        live: None,
        removal: None,
    }
}

fn subresource(
    graph: &Arc<Graph>,
    kind: &KindDef,
    sub: &quorate_schema::Subresource,
) -> Subresource {
    let other =
        Some(&sub.kind).filter(|body| body.kind != *kind.kind).and_then(|body| graph.kind(body));
    let body = other.map(|body| Resource {
        namespaced: true,
        stored: false,
        ..resource(graph, body, None)
    });
    Subresource {
        body: body.map(Arc::new),
        name: sub.name.to_string(),
        group: sub.kind.group.clone(),
        version: sub.kind.version.clone(),
        kind: sub.kind.kind.clone(),
        verbs: strings(&sub.verbs),
    }
}

fn strings(texts: &[Cow<'static, str>]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Naming;

    #[test]
    fn both_profiles_serve_the_same() {
        let plurals = |naming: Naming| {
            let catalogue = catalogue_of(naming.names());
            catalogue.iter().map(|resource| resource.plural.clone()).collect::<Vec<_>>()
        };
        assert_eq!(plurals(Naming::Svc), plurals(Naming::Kubernetes));
        assert!(plurals(Naming::Svc).contains(&"deployments".to_owned()));
        assert!(
            plurals(Naming::Svc).contains(&"volumeattributesclasses".to_owned()),
            "stored under an older name"
        );
    }

    #[test]
    fn kinds_that_are_not_served() {
        let catalogue = catalogue_of(Naming::Svc.names());
        for plural in ["mutatingadmissionpolicies", "scales"] {
            assert!(catalogue.iter().all(|resource| resource.plural != plural), "{plural}");
        }
    }

    #[test]
    fn versions_of_one_kind_share_their_objects() {
        let catalogue = catalogue_of(Naming::Svc.names());
        let find =
            |version| catalogue.find("autoscaling", version, "horizontalpodautoscalers").unwrap();
        let (old, new) = (find("v1"), find("v2"));
        assert_eq!(old.key(Some("n"), "a"), new.key(Some("n"), "a"));
        assert!(new.is_stored_form() && !old.is_stored_form());
        let order: Vec<&str> = catalogue
            .group_versions()
            .into_iter()
            .filter(|(group, _)| *group == "autoscaling")
            .map(|(_, version)| version)
            .collect();
        assert_eq!(order, ["v2", "v1"]);
    }

    const POLICIES: &str = "admissionregistration.svc.io/v1beta1/mutatingadmissionpolicies";
    const BUNDLES: &str = "certificates.svc.io/v1beta1/clustertrustbundles";

    #[test]
    fn features_and_versions_can_be_switched() {
        let graph = Arc::new(Graph::builtin(Naming::Svc.names()));
        let check = |gates: &str, config: &str, path: &str, expect: bool| {
            let catalogue =
                catalogue_with(&graph, &gates.parse().unwrap(), &config.parse().unwrap());
            let [group, version, plural] = *path.split('/').collect::<Vec<_>>() else {
                panic!("{path}")
            };
            assert_eq!(
                catalogue.find(group, version, plural).is_some(),
                expect,
                "{gates} {config}: {path}"
            );
            // Its stored objects are known all the same.
            let known = catalogue.find_builtin(group, version, plural).unwrap();
            let key = known.key(Some("a"), "b");
            assert_eq!(catalogue.of_key(&key).unwrap().plural, plural);
            assert!(catalogue.stored().any(|stored| stored.prefix == known.prefix), "{path}");
        };
        check("", "", BUNDLES, true);
        check("ClusterTrustBundle=false", "", BUNDLES, false);
        check("", "certificates.svc.io/v1beta1=false", BUNDLES, false);
        check("", "api/beta=false", BUNDLES, false);
        check("", "", POLICIES, false);
        check("MutatingAdmissionPolicy=true", "", POLICIES, false);
        check("", "admissionregistration.svc.io/v1beta1", POLICIES, false);
        for config in ["admissionregistration.svc.io/v1beta1", "api/beta", "api/all"] {
            check("MutatingAdmissionPolicy=true", config, POLICIES, true);
        }
        check("", "batch/v1=false", "batch/v1/jobs", false);
        check("", "batch/v1/jobs=false", "batch/v1/jobs", false);
        check("", "batch/v1/jobs=false", "batch/v1/cronjobs", true);
        check("", "autoscaling/v2=false", "autoscaling/v1/horizontalpodautoscalers", true);
        check("", "autoscaling/v2=false", "autoscaling/v2/horizontalpodautoscalers", false);
    }

    #[test]
    fn resources_follow_their_kinds() {
        let catalogue = catalogue_of(Naming::Svc.names());
        let namespaces = catalogue.find("", "v1", "namespaces").unwrap();
        assert!(
            !namespaces.namespaced
                && namespaces.delete_returns_object
                && !namespaces.serves("deletecollection")
        );
        assert_eq!(
            namespaces.subresources.iter().map(|sub| sub.name.as_str()).collect::<Vec<_>>(),
            ["finalize", "status"]
        );
        let accounts = catalogue.find("", "v1", "serviceaccounts").unwrap();
        assert_eq!(accounts.subresource("token").unwrap().kind, "TokenRequest");
        let eviction = catalogue.find("", "v1", "pods").unwrap().subresource("eviction").unwrap();
        assert_eq!((eviction.group.as_str(), eviction.kind.as_str()), ("policy", "Eviction"));
    }
}
