//! Names that are the same in both naming profiles. Everything that differs is in `Names`.

/// The group `system:masters`, whose members are authorized for everything.
pub const GROUP_MASTERS: &str = "system:masters";
/// Group of every authenticated user.
pub const GROUP_AUTHENTICATED: &str = "system:authenticated";
/// Group of every unauthenticated user.
pub const GROUP_UNAUTHENTICATED: &str = "system:unauthenticated";
/// Name of the anonymous user.
pub const USER_ANONYMOUS: &str = "system:anonymous";
/// Group of all nodes.
pub const GROUP_NODES: &str = "system:nodes";
/// Prefix of the user names of nodes, before their own.
pub const USER_NODE_PREFIX: &str = "system:node:";
/// Group of all service accounts; `:NAMESPACE` is appended for those of one namespace.
pub const GROUP_SERVICE_ACCOUNTS: &str = "system:serviceaccounts";
/// Prefix of service account user names, before `NAMESPACE:NAME`.
pub const USER_SERVICE_ACCOUNT_PREFIX: &str = "system:serviceaccount:";

/// Annotation in which kubectl keeps what it applied on the client side.
pub const ANNOTATION_LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// First four bytes of every protobuf body.
pub const PROTOBUF_MAGIC: [u8; 4] = [0x6b, 0x38, 0x73, 0x00];

/// Media type of JSON.
pub const MEDIA_JSON: &str = "application/json";
/// Media type of YAML.
pub const MEDIA_YAML: &str = "application/yaml";
/// Media type of CBOR.
pub const MEDIA_CBOR: &str = "application/cbor";
/// Media type of a watch in CBOR: a sequence of data items.
pub const MEDIA_CBOR_SEQUENCE: &str = "application/cbor-seq";
/// Media type of a JSON Patch body.
pub const MEDIA_JSON_PATCH: &str = "application/json-patch+json";
/// Media type of a JSON Merge Patch body.
pub const MEDIA_MERGE_PATCH: &str = "application/merge-patch+json";
/// Media type of a strategic merge patch body.
pub const MEDIA_STRATEGIC_PATCH: &str = "application/strategic-merge-patch+json";
/// Media type of a server-side apply body.
pub const MEDIA_APPLY_PATCH: &str = "application/apply-patch+yaml";
/// Media type of a server-side apply body in CBOR.
pub const MEDIA_APPLY_PATCH_CBOR: &str = "application/apply-patch+cbor";

/// Finalizer of foreground deletion, which keeps an owner until its dependents are deleted.
pub const FINALIZER_FOREGROUND: &str = "foregroundDeletion";
/// Finalizer of orphaning, which keeps dependents without their owner.
pub const FINALIZER_ORPHAN: &str = "orphan";

/// Namespace of objects without one.
pub const NAMESPACE_DEFAULT: &str = "default";
