//! The Lease of this server's process: one object in the system namespace that says that the server
//! is there, renewed while it is (KEP-1965).
//!
//! Invariants: the Lease of an address is the same after a restart, with another holder; a renewal
//! that fails is made up for by the next one. A server that stops leaves its Lease, which expires.
//!
//! Not here: the removal of Leases that have expired, which is a controller's.

use std::sync::Arc;
use std::time::Duration;

use quorate_meta::{Map, Time, Value};
use quorate_registry::error::Error;
use quorate_registry::write::{GivenOptions, Target, UpdateOptions, WriteOptions};
use quorate_registry::{Part, Resource};
use quorate_schema::apply_defaults;
use sha2::{Digest, Sha256};
use tokio::time::sleep;

use crate::Api;

/// How often the Lease is renewed.
pub const RENEWAL: Duration = Duration::from_secs(10);
/// Seconds after its renewal at which the Lease has expired.
const DURATION_SECONDS: i64 = 3600;
/// The component that holds such Leases.
const COMPONENT: &str = "kube-apiserver";
/// The field manager of Leases.
const MANAGER: &str = "apiserver";
/// Bytes of the hash in the name of a Lease.
const HASH_BYTES: usize = 16;
/// The alphabet of base 32 (RFC 4648, section 6), in small letters.
const BASE32: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
/// Bits of a letter of it.
const LETTER_BITS: usize = 5;

/// What the Lease says of the server.
#[derive(Debug)]
pub struct IdentityLeaseOptions {
    /// The name of the host that the process runs on.
    pub host: String,
    /// How often it is renewed: [`RENEWAL`].
    pub interval: Duration,
}

/// Renews the Lease without an end.
pub async fn run(api: Arc<Api>, options: IdentityLeaseOptions) {
    let name = lease_name(&api.address);
    let holder = format!("{name}_{}", uuid_of(&api));
    loop {
        if let Err(error) = renew(&api, &name, &holder, &options.host).await {
            tracing::debug!(%error, name, "the lease of this server is not renewed");
        }
        sleep(options.interval).await;
    }
}

/// The name of the Lease of the server at this address.
fn lease_name(address: &str) -> String {
    let hash = Sha256::digest(address.as_bytes());
    let bit = |at: usize| {
        let byte = hash.get(at / 8).copied().filter(|_| at < 8 * HASH_BYTES).unwrap_or_default();
        usize::from(byte >> (7 - at % 8) & 1)
    };
    let letter = |at: usize| {
        let number = (0..LETTER_BITS).fold(0, |number, more| number << 1 | bit(at + more));
        char::from(BASE32[number])
    };
    let letters: String = (0..8 * HASH_BYTES).step_by(LETTER_BITS).map(letter).collect();
    format!("apiserver-{letters}")
}

fn uuid_of(api: &Api) -> String {
    uuid::Builder::from_random_bytes(api.process).into_uuid().to_string()
}

async fn renew(api: &Api, name: &str, holder: &str, host: &str) -> Result<(), Error> {
    let catalogue = api.catalogue.load();
    let leases = catalogue.find_builtin(&api.names.group("coordination"), "v1", "leases");
    let leases = leases.ok_or_else(|| Error::internal("there is no resource of leases"))?;
    let target = Target { resource: leases, namespace: Some(api.names.namespace_system), name };
    let write = WriteOptions { dry_run: false, manager: MANAGER, given: GivenOptions::NONE };
    let now = Time::from_ms(api.env.clock.now_ms());
    let renewed = |mut lease: Value| {
        for (label, value) in labels(api, host) {
            lease.set_at(&["metadata", "labels", &label], value);
        }
        lease.set_at(&["spec", "holderIdentity"], holder);
        lease.set_at(&["spec", "leaseDurationSeconds"], DURATION_SECONDS);
        lease.set_at(&["spec", "renewTime"], now.microseconds());
        lease
    };
    if api.store.snapshot().get(&target.key()).is_none() {
        let mut lease = renewed(Value::Map(Map::new()));
        lease.set_at(&["apiVersion"], leases.api_version.as_str());
        lease.set_at(&["kind"], leases.kind.as_str());
        lease.set_at(&["metadata", "name"], name);
        complete(api, leases, &mut lease);
        return api.writer().create(target, lease, write).await.map(drop);
    }
    let options =
        UpdateOptions { write, part: Part::Main, if_match: None, replaces: false, named: None };
    let change = |current: Option<&Value>| Ok(renewed(current.cloned().unwrap_or_default()));
    api.writer().update(target, options, change).await.map(drop)
}

/// The labels by which such a Lease is found.
fn labels(api: &Api, host: &str) -> [(String, String); 2] {
    [
        (format!("apiserver.{}", api.names.domain_key("identity")), COMPONENT.to_owned()),
        (api.names.domain_key("hostname"), host.to_owned()),
    ]
}

fn complete(api: &Api, resource: &Resource, object: &mut Value) {
    apply_defaults(&resource.graph(), resource.ty(), object);
    resource.strategy.default(api.names, object);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_lease_is_that_of_an_address() {
        let check = |address: &str, expect: &str| assert_eq!(lease_name(address), expect);
        check("127.0.0.1:6443", "apiserver-c3y6ysdpi25vjvktqjedqgvh7i");
        check("", "apiserver-4oymiquy7qobjgx36tejs35zeq");
    }
}
