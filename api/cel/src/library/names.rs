//! Names and types of the libraries' own values.
//!
//! Invariant: the names of the `svc` profile; addresses and networks are opaque, the others are objects without declared
//! fields, which decides what the checker says of a field of theirs.

use crate::types::Type;

pub(crate) const IP: &str = "net.IP";
pub(crate) const CIDR: &str = "net.CIDR";
pub(crate) const URL: &str = "svc.URL";
pub(crate) const QUANTITY: &str = "svc.Quantity";
pub(crate) const SEMVER: &str = "svc.Semver";
pub(crate) const NAMED_FORMAT: &str = "svc.NamedFormat";
pub(crate) const AUTHORIZER: &str = "svc.authorization.Authorizer";
pub(crate) const PATH_CHECK: &str = "svc.authorization.PathCheck";
pub(crate) const GROUP_CHECK: &str = "svc.authorization.GroupCheck";
pub(crate) const RESOURCE_CHECK: &str = "svc.authorization.ResourceCheck";
pub(crate) const DECISION: &str = "svc.authorization.Decision";

/// The names that differ between the naming profiles.
pub(crate) const PROFILED: [&str; 9] = [
    URL,
    QUANTITY,
    SEMVER,
    NAMED_FORMAT,
    AUTHORIZER,
    PATH_CHECK,
    GROUP_CHECK,
    RESOURCE_CHECK,
    DECISION,
];

/// An opaque type.
pub(crate) fn opaque(name: &str) -> Type {
    Type::Opaque(name.into())
}

/// An object type.
pub(crate) fn object(name: &str) -> Type {
    Type::Object(name.into())
}
