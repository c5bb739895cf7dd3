//! Node authorization: what kubelets may do, users `system:node:NAME` in the group `system:nodes`.
//!
//! [`NodeAuthorizer`] decides about requests by the names of objects and by the pods of the node;
//! [`NodeRestriction`] checks objects that a node writes. Not here: what all nodes may alike, which
//! are the rules of the role `system:node`.

mod authorizer;
mod claim_status;
mod graph;
mod own_node;
mod references;
mod restriction;
#[cfg(test)]
mod tests;

pub(super) use self::authorizer::NodeAuthorizer;
pub use self::references::service_account as service_account_of;
pub use self::restriction::NodeRestriction;

/// Allowed, or why not.
type Check = Result<(), String>;

fn ensure(is_allowed: bool, why: &str) -> Check {
    if is_allowed { Ok(()) } else { Err(why.to_owned()) }
}
