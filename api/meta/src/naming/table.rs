//! The table of names: a row per name, a constant per profile.

use super::Naming;

/// Every name that depends on the naming profile. Get it with `Naming::names`.
#[derive(Debug)]
pub struct Names {
    /// Which profile this is.
    pub naming: Naming,
    /// Domain of labels, annotations, secret types and signers of the system.
    pub domain: &'static str,
    /// What follows the neutral name of most groups, without the dot before it.
    pub group_suffix: &'static str,
    /// Group of Status, Table and the option kinds.
    pub group_meta: &'static str,
    /// Group of aggregated discovery.
    pub group_discovery: &'static str,
    /// Group of admission reviews.
    pub group_admission: &'static str,
    /// Group of audit events.
    pub group_audit: &'static str,
    /// Group of answers about the past.
    pub group_past: &'static str,
    /// Media type of protobuf bodies.
    pub media_protobuf: &'static str,
    /// Start of OpenAPI extensions.
    pub extension_prefix: &'static str,
    /// OpenAPI extension that marks an embedded object; irregular.
    pub extension_embedded: &'static str,
    /// Start of OpenAPI definition names of API types.
    pub openapi_api_prefix: &'static str,
    /// Start of OpenAPI definition names of the shared machinery types (ObjectMeta, Status, ...).
    pub openapi_machinery_prefix: &'static str,
    /// Signer of client certificates.
    pub signer_client: &'static str,
    /// Signer of node agents' client certificates.
    pub signer_client_node_agent: &'static str,
    /// Signer of node agents' serving certificates.
    pub signer_node_agent_serving: &'static str,
    /// Signer that cannot be asked through the current API.
    pub signer_legacy_unknown: &'static str,
    /// Annotation of service accounts that limits which secrets may be mounted.
    pub annotation_enforce_mountable_secrets: &'static str,
    /// Annotation of the bookmark that ends the initial events of a watch.
    pub annotation_initial_events_end: &'static str,
    /// Annotation of bootstrap roles which the server keeps in step.
    pub annotation_rbac_autoupdate: &'static str,
    /// Annotation that approves a custom resource of a protected group.
    pub annotation_api_approved: &'static str,
    /// Audit annotation of requests to deprecated versions.
    pub audit_deprecated: &'static str,
    /// Audit annotation with the release that removes a version.
    pub audit_removed_release: &'static str,
    /// Audit annotation with the authorizer's decision.
    pub audit_decision: &'static str,
    /// Audit annotation with the authorizer's reason.
    pub audit_reason: &'static str,
    /// What follows a webhook's name in audit keys.
    pub audit_webhook_infix: &'static str,
    /// Label of a namespace with its own name.
    pub label_metadata_name: &'static str,
    /// Label of bootstrap objects.
    pub label_bootstrapping: &'static str,
    /// Start of labels that aggregate roles into a bootstrap role.
    pub label_rbac_aggregate_prefix: &'static str,
    /// Start of user extra keys.
    pub user_extra_prefix: &'static str,
    /// Private claim of service account tokens.
    pub jwt_claim: &'static str,
    /// Finalizer in a namespace's spec.
    pub finalizer_namespace: &'static str,
    /// Finalizer of custom resource definitions.
    pub finalizer_custom_resources: &'static str,
    /// Start of names of trust bundles that belong to a signer of the system.
    pub trust_bundle_prefix: &'static str,
    /// Namespace of system objects.
    pub namespace_system: &'static str,
    /// Namespace which everybody may read.
    pub namespace_public: &'static str,
    /// Namespace of node leases.
    pub namespace_node_lease: &'static str,
    /// ConfigMap with the CA certificate in every namespace.
    pub configmap_root_ca: &'static str,
    /// Service of the API itself in the default namespace.
    pub service_api: &'static str,
    /// Response header with the flow schema's uid.
    pub header_flow_schema: &'static str,
    /// Response header with the priority level's uid.
    pub header_priority_level: &'static str,
    /// Start of CEL type names.
    pub cel_prefix: &'static str,
}

pub(super) const SVC: Names = Names {
    naming: Naming::Svc,
    domain: "svc.io",
    group_suffix: "svc.io",
    group_meta: "meta.svc.io",
    group_discovery: "apidiscovery.svc.io",
    group_admission: "admission.svc.io",
    group_audit: "audit.svc.io",
    group_past: "past.svc.io",
    media_protobuf: "application/vnd.svc.protobuf",
    extension_prefix: "x-svc-",
    extension_embedded: "x-svc-embedded-type",
    openapi_api_prefix: "io.svc.api",
    openapi_machinery_prefix: "io.svc.apimachinery",
    signer_client: "svc.io/apiserver-client",
    signer_client_node_agent: "svc.io/apiserver-client-node-agent",
    signer_node_agent_serving: "svc.io/node-agent-serving",
    signer_legacy_unknown: "svc.io/legacy-unknown",
    annotation_enforce_mountable_secrets: "svc.io/enforce-mountable-secrets",
    annotation_initial_events_end: "svc.io/initial-events-end",
    annotation_rbac_autoupdate: "rbac.authorization.svc.io/autoupdate",
    annotation_api_approved: "api-approved.svc.io",
    audit_deprecated: "svc.io/deprecated",
    audit_removed_release: "svc.io/removed-release",
    audit_decision: "authorization.svc.io/decision",
    audit_reason: "authorization.svc.io/reason",
    audit_webhook_infix: ".webhook.admission.svc.io/",
    label_metadata_name: "svc.io/metadata.name",
    label_bootstrapping: "svc.io/bootstrapping",
    label_rbac_aggregate_prefix: "rbac.authorization.svc.io/aggregate-to-",
    user_extra_prefix: "authentication.svc.io/",
    jwt_claim: "svc.io",
    finalizer_namespace: "svc",
    finalizer_custom_resources: "customresourcecleanup.apiextensions.svc.io",
    trust_bundle_prefix: "svc.io:",
    namespace_system: "svc-system",
    namespace_public: "svc-public",
    namespace_node_lease: "svc-node-lease",
    configmap_root_ca: "svc-root-ca.crt",
    service_api: "svc",
    header_flow_schema: "X-Svc-PF-FlowSchema-UID",
    header_priority_level: "X-Svc-PF-PriorityLevel-UID",
    cel_prefix: "svc.",
};

pub(super) const KUBERNETES: Names = Names {
    naming: Naming::Kubernetes,
    domain: "kubernetes.io",
    group_suffix: "k8s.io",
    group_meta: "meta.k8s.io",
    group_discovery: "apidiscovery.k8s.io",
    group_admission: "admission.k8s.io",
    group_audit: "audit.k8s.io",
    group_past: "past.quorate.io",
    media_protobuf: "application/vnd.kubernetes.protobuf",
    extension_prefix: "x-kubernetes-",
    extension_embedded: "x-kubernetes-embedded-resource",
    openapi_api_prefix: "io.k8s.api",
    openapi_machinery_prefix: "io.k8s.apimachinery",
    signer_client: "kubernetes.io/kube-apiserver-client",
    signer_client_node_agent: "kubernetes.io/kube-apiserver-client-kubelet",
    signer_node_agent_serving: "kubernetes.io/kubelet-serving",
    signer_legacy_unknown: "kubernetes.io/legacy-unknown",
    annotation_enforce_mountable_secrets: "kubernetes.io/enforce-mountable-secrets",
    annotation_initial_events_end: "k8s.io/initial-events-end",
    annotation_rbac_autoupdate: "rbac.authorization.kubernetes.io/autoupdate",
    annotation_api_approved: "api-approved.kubernetes.io",
    audit_deprecated: "k8s.io/deprecated",
    audit_removed_release: "k8s.io/removed-release",
    audit_decision: "authorization.k8s.io/decision",
    audit_reason: "authorization.k8s.io/reason",
    audit_webhook_infix: ".webhook.admission.k8s.io/",
    label_metadata_name: "kubernetes.io/metadata.name",
    label_bootstrapping: "kubernetes.io/bootstrapping",
    label_rbac_aggregate_prefix: "rbac.authorization.k8s.io/aggregate-to-",
    user_extra_prefix: "authentication.kubernetes.io/",
    jwt_claim: "kubernetes.io",
    finalizer_namespace: "kubernetes",
    finalizer_custom_resources: "customresourcecleanup.apiextensions.k8s.io",
    trust_bundle_prefix: "kubernetes.io:",
    namespace_system: "kube-system",
    namespace_public: "kube-public",
    namespace_node_lease: "kube-node-lease",
    configmap_root_ca: "kube-root-ca.crt",
    service_api: "kubernetes",
    header_flow_schema: "X-Kubernetes-PF-FlowSchema-UID",
    header_priority_level: "X-Kubernetes-PF-PriorityLevel-UID",
    cel_prefix: "kubernetes.",
};
