//! `node.json`, the identity of a node: written once when the node is set up, read at every start.
//!
//! Invariant: everything in it is fixed for the life of the data folder, but for the addresses.
//! What an operator may tune is an option of `serve`, never kept here.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

use quorate_meta::Naming;
use quorate_raft::ClusterId;
use serde::{Deserialize, Serialize};

use crate::data_dir::DataDir;
use crate::error::Error;
use crate::files::{read_text, write_public};

/// The layout of data folders that this program reads and writes.
pub(crate) const FORMAT: u32 = 1;

/// The identity of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NodeConfig {
    /// [`FORMAT`] of the program that made the folder.
    pub(crate) format: u32,
    /// The cluster's identity.
    #[serde(with = "crate::serde_text")]
    pub(crate) cluster: ClusterId,
    /// The node's number, from 1.
    pub(crate) node: u64,
    /// The naming profile, fixed for the life of a cluster.
    #[serde(with = "crate::serde_text")]
    pub(crate) naming: Naming,
    /// Where clients reach it.
    pub(crate) api: Address,
    /// Where other nodes reach it.
    pub(crate) peer: Address,
    /// The first members, on the one node that founds the cluster; empty on all others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) founders: Vec<Founder>,
}

/// An address to bind and the address that others use, both `host:port`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Address {
    /// What the node binds.
    pub(crate) bind: String,
    /// What others connect to.
    pub(crate) advertise: String,
}

/// A voter from the start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Founder {
    /// Its number.
    pub(crate) node: u64,
    /// Its API address.
    pub(crate) api: String,
    /// Its peer address.
    pub(crate) peer: String,
}

impl Address {
    /// One address for both, as on loopback.
    pub(crate) fn same(address: impl ToString) -> Self {
        Self { bind: address.to_string(), advertise: address.to_string() }
    }

    /// What to bind and what to advertise; without the latter the former, which then must not be a
    /// wildcard. `option` is the one that says what to advertise.
    pub(crate) fn new(bind: &str, advertise: Option<&str>, option: &str) -> Result<Self, Error> {
        resolve(bind)?;
        let advertise = advertise.unwrap_or(bind);
        check_reachable(advertise, option)?;
        Ok(Self { bind: bind.to_owned(), advertise: advertise.to_owned() })
    }
}

/// Refuses an address that cannot be connected to. A host that does not resolve yet is accepted.
/// `option` is named in the error.
pub(crate) fn check_reachable(address: &str, option: &str) -> Result<(), Error> {
    let wrong = |why: &str| Err(Error::config(format_args!("{option}: '{address}' {why}")));
    let (host, port) = address.rsplit_once(':').unwrap_or_default();
    let is_bare_v6 = host.contains(':') && !(host.starts_with('[') && host.ends_with(']'));
    if host.is_empty() || is_bare_v6 || port.parse::<u16>().is_err() {
        return wrong("is not an address host:port");
    }
    if port.parse() == Ok(0_u16) {
        return wrong("names no port that others can connect to");
    }
    let ip = host.trim_matches(['[', ']']).parse::<IpAddr>();
    if ip.is_ok_and(|ip| ip.is_unspecified()) {
        return wrong("is no address that other machines can connect to");
    }
    Ok(())
}

impl NodeConfig {
    /// Reads and checks a node's configuration.
    pub(crate) fn read(dir: &DataDir) -> Result<Self, Error> {
        let path = dir.config();
        if !path.exists() {
            return Err(Error::config(format_args!(
                "{} is not the data folder of a node: 'quorate init', 'join' or 'dev' makes one",
                dir.path().display()
            )));
        }
        let wrong = |error: &dyn std::fmt::Display| {
            Error::config(format_args!("{}: {error}", path.display()))
        };
        let config: Self =
            serde_json::from_str(&read_text(&path)?).map_err(|error| wrong(&error))?;
        if config.format != FORMAT {
            return Err(wrong(&format_args!(
                "the folder has format {}, and this program reads format {FORMAT}",
                config.format
            )));
        }
        Ok(config)
    }

    /// Writes the configuration; the last step of setting up a node, so that a folder with it is
    /// complete.
    pub(crate) fn write(&self, dir: &DataDir) -> Result<(), Error> {
        let mut text = serde_json::to_vec_pretty(self).map_err(Error::failed)?;
        text.push(b'\n');
        write_public(&dir.config(), &text)
    }
}

/// `host:port` as a socket address.
pub(crate) fn resolve(address: &str) -> Result<SocketAddr, Error> {
    address
        .to_socket_addrs()
        .map_err(|error| {
            Error::config(format_args!("'{address}' is not an address host:port: {error}"))
        })?
        .next()
        .ok_or_else(|| Error::config(format_args!("'{address}' names no address")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_cannot_be_connected_to_are_refused() {
        let check = |address: &str, expect: &str| {
            let told = check_reachable(address, "--here")
                .err()
                .map(|error| error.to_string())
                .unwrap_or_default();
            assert_eq!(told, expect);
        };
        check("10.0.0.2:7443", "");
        check("[fd00::2]:7443", "");
        check("not-there-yet.example:7443", "");
        check("10.0.0.2", "--here: '10.0.0.2' is not an address host:port");
        check("fd00::2:7443", "--here: 'fd00::2:7443' is not an address host:port");
        check(":7443", "--here: ':7443' is not an address host:port");
        check("a.example:http", "--here: 'a.example:http' is not an address host:port");
        check("a.example:70000", "--here: 'a.example:70000' is not an address host:port");
        check("10.0.0.2:0", "--here: '10.0.0.2:0' names no port that others can connect to");
        check(
            "0.0.0.0:7443",
            "--here: '0.0.0.0:7443' is no address that other machines can connect to",
        );
        check("[::]:7443", "--here: '[::]:7443' is no address that other machines can connect to");
    }
}
