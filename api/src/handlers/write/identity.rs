//! The identity of an object in a body: the namespace and the name that the path says.

use quorate_meta::{Map, Value};

use quorate_registry::Resource;
use quorate_registry::error::Error;

/// Gives the object the path's namespace; refuses one that says another.
pub(in crate::handlers) fn set_namespace(
    resource: &Resource,
    namespace: Option<&str>,
    object: &mut Value,
) -> Result<(), Error> {
    let Some(metadata) = metadata(object) else {
        return Ok(());
    };
    let Some(namespace) = namespace.filter(|_| resource.namespaced) else {
        metadata.remove("namespace");
        return Ok(());
    };
    match metadata.get_str("namespace").unwrap_or_default() {
        "" => {
            metadata.insert("namespace", namespace);
            Ok(())
        }
        own if own == namespace => Ok(()),
        _ => Err(Error::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        )),
    }
}

/// Refuses an object whose name is not the path's.
pub(in crate::handlers) fn check_name(name: &str, object: &Value) -> Result<(), Error> {
    match object.str_at(&["metadata", "name"]).unwrap_or_default() {
        "" => Err(Error::bad_request(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        ))),
        own if own == name => Ok(()),
        own => Err(Error::bad_request(format!(
            "the name of the object ({own}) does not match the name on the URL ({name})"
        ))),
    }
}

fn metadata(object: &mut Value) -> Option<&mut Map> {
    object.as_map_mut()?.map_mut("metadata")
}
