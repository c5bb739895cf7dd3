//! The range of services' addresses, and the service through which pods reach the API itself.
//!
//! Not here: the endpoints of that service, which are the members' addresses (`api_endpoints`).

use quorate_meta::{Map, Names, Value, well_known};

use super::object::{BootstrapObject, list, spec};
use crate::context::Context;
use quorate_registry::error::Error;

/// Where services get their addresses from in a new cluster; further ServiceCIDRs may add more.
const SERVICE_RANGE: &str = "10.96.0.0/16";
/// The address that the API's own Service has in every cluster: the first one of the range.
pub const SERVICE_ADDRESS: &str = "10.96.0.1";
const API_PORT: i64 = 443;

/// The range of a new cluster.
pub(super) fn service_cidr(names: &Names) -> BootstrapObject {
    let finalizer = format!("{}/service-cidr-finalizer", names.group("networking"));
    let mut metadata = Map::new();
    metadata.insert("finalizers", list(&[finalizer]));
    BootstrapObject {
        group: "networking",
        plural: "servicecidrs",
        name: names.service_api.to_owned(),
        metadata,
        fields: spec("spec", Map::from([("cidrs", list(&[SERVICE_RANGE]))])),
        autoupdate_annotation: None,
        creates_only: true,
    }
}

/// Makes the API's own service, where it is missing. That may have to wait until another controller
/// has released the range of its address.
pub(crate) async fn api_service(context: &Context, port: u16) -> Result<(), Error> {
    let (name, namespace) = (context.names.service_api, well_known::NAMESPACE_DEFAULT);
    let key = context.resource("services")?.key(Some(namespace), name);
    if context.store.snapshot().get(&key).is_some() {
        return Ok(());
    }
    let https = Map::from([
        ("name", Value::from("https")),
        ("protocol", "TCP".into()),
        ("port", API_PORT.into()),
        ("targetPort", i64::from(port).into()),
    ]);
    let own = Map::from([
        ("clusterIP", Value::from(SERVICE_ADDRESS)),
        ("ports", Value::List(vec![https.into()])),
    ]);
    let labels = Map::from([("component", "apiserver"), ("provider", name)]);
    let metadata = spec("labels", labels);
    let fields = Map::from([("metadata", Value::Map(metadata)), ("spec", own.into())]);
    context.ensure("services", Some(namespace), name, fields).await
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn the_address_is_the_first_of_the_range() {
        let (base, _) = SERVICE_RANGE.split_once('/').expect("a range has a length");
        let base: Ipv4Addr = base.parse().expect("a range begins with an address");
        assert_eq!(SERVICE_ADDRESS, Ipv4Addr::from_bits(base.to_bits() + 1).to_string());
    }
}
