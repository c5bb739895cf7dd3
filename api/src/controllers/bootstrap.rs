//! The namespaces that every cluster has from its first leader on.

use quorate_meta::{Map, well_known};

use super::context::Context;
use crate::error::Error;
use crate::registry::NAMESPACES;

/// Makes what is missing.
pub(super) async fn run(context: &Context) -> Result<(), Error> {
    let names = context.api.names;
    let namespaces =
        [well_known::NAMESPACE_DEFAULT, names.namespace_system, names.namespace_public, names.namespace_node_lease];
    let resource = context.resource(NAMESPACES)?;
    for name in namespaces {
        if context.api.store.snapshot().get(&resource.key(None, name)).is_none() {
            context.ensure(NAMESPACES, None, name, Map::new()).await?;
        }
    }
    Ok(())
}
