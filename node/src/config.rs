//! `node.json`: who a node is. Written once when the node is set up, read at every start.
//!
//! Invariant: everything in it is fixed for the life of the data folder, but for the addresses. What an operator may tune
//! is an option of `serve`, never kept here.

use std::net::{SocketAddr, ToSocketAddrs};

use quorate_meta::Naming;
use quorate_raft::ClusterId;
use serde::{Deserialize, Serialize};

use crate::data_dir::DataDir;
use crate::error::Error;
use crate::pki;

/// The layout of data folders that this program reads and writes.
pub(crate) const FORMAT: u32 = 1;

/// Who a node is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NodeConfig {
    /// [`FORMAT`] of the program that made the folder.
    pub(crate) format: u32,
    /// The cluster's identity.
    #[serde(with = "crate::text")]
    pub(crate) cluster: ClusterId,
    /// The node's number, from 1.
    pub(crate) node: u64,
    /// The naming profile, fixed for the life of a cluster.
    #[serde(with = "crate::text")]
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

/// A voter of the first hour.
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

    /// What to bind and what to advertise; without the latter the former, which then must not be a wildcard.
    pub(crate) fn new(bind: &str, advertise: Option<&str>) -> Result<Self, Error> {
        let bound = resolve(bind)?;
        let advertise = advertise.unwrap_or(bind);
        if resolve(advertise).is_ok_and(|address| address.ip().is_unspecified()) {
            return Err(Error::config(format_args!(
                "other machines cannot connect to {bound}: name an address to advertise"
            )));
        }
        Ok(Self { bind: bind.to_owned(), advertise: advertise.to_owned() })
    }
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
        let wrong = |error: &dyn std::fmt::Display| Error::config(format_args!("{}: {error}", path.display()));
        let config: Self = serde_json::from_str(&pki::read_text(&path)?).map_err(|error| wrong(&error))?;
        if config.format != FORMAT {
            return Err(wrong(&format_args!(
                "the folder has format {}, and this program reads format {FORMAT}",
                config.format
            )));
        }
        Ok(config)
    }

    /// Writes the configuration; the last step of setting up a node, so that a folder with it is complete.
    pub(crate) fn write(&self, dir: &DataDir) -> Result<(), Error> {
        let mut text = serde_json::to_vec_pretty(self).map_err(Error::failed)?;
        text.push(b'\n');
        pki::write_public(&dir.config(), &text)
    }
}

/// `host:port` as a socket address.
pub(crate) fn resolve(address: &str) -> Result<SocketAddr, Error> {
    address
        .to_socket_addrs()
        .map_err(|error| Error::config(format_args!("'{address}' is not an address host:port: {error}")))?
        .next()
        .ok_or_else(|| Error::config(format_args!("'{address}' names no address")))
}
