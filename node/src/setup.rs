//! The set-up of nodes: the data folders of a new cluster, complete for a first start.
//!
//! Invariant: `node.json` is written last, so that a folder that has it is complete; a folder that
//! was left half made is refused, never silently completed.

use std::fs::Permissions;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use quorate_controllers::SERVICE_ADDRESS;
use quorate_env::Env;
use quorate_meta::Naming;
use quorate_raft::ClusterId;
use time::OffsetDateTime;

use crate::config::{Address, FORMAT, Founder, NodeConfig};
use crate::data_dir::DataDir;
use crate::error::{Error, at};
use crate::files::{PRIVATE_FOLDER, make_folder, write_private, write_public};
use crate::kubeconfig;
use crate::pki::sealed::ClusterSecret;
use crate::pki::{Authority, Identity, Subject, names};

/// How far the peer port of a `dev` node lies above its API port.
const PEER_PORT_OFFSET: u16 = 1000;

/// The administrator of a new cluster.
const ADMIN_USER: &str = "admin";
const ADMIN_GROUP: &str = "system:masters";

/// The domain of Services in most clusters.
const CLUSTER_DOMAIN: &str = "cluster.local";

/// What the founders of a cluster share before it has a store.
#[derive(Debug)]
pub(crate) struct NewCluster {
    /// The cluster's identity.
    pub(crate) cluster: ClusterId,
    naming: Naming,
    authority: Authority,
    peer_authority: Authority,
    secret: ClusterSecret,
    now: OffsetDateTime,
}

impl NewCluster {
    /// A new cluster's identity, authorities and secret.
    pub(crate) fn new(naming: Naming, env: &Env) -> Result<Self, Error> {
        let now = now(env);
        Ok(Self {
            cluster: ClusterId::generate(&*env.entropy),
            naming,
            authority: Authority::generate("quorate-ca", now)?,
            peer_authority: Authority::generate("quorate-peer-ca", now)?,
            secret: ClusterSecret::generate(&*env.entropy),
            now,
        })
    }

    /// A new cluster that goes on with the authorities and the secret of another one.
    pub(crate) fn with_credentials(
        naming: Naming,
        (authority, peer_authority): (Authority, Authority),
        secret: ClusterSecret,
        env: &Env,
    ) -> Self {
        let cluster = ClusterId::generate(&*env.entropy);
        Self { cluster, naming, authority, peer_authority, secret, now: now(env) }
    }

    /// Sets up the founder `node` in its folder. The first of `founders` starts the cluster with
    /// all of them.
    pub(crate) fn set_up(
        &self,
        dir: &DataDir,
        node: u64,
        api: Address,
        peer: Address,
        founders: &[Founder],
    ) -> Result<(), Error> {
        let first = founders.first().is_some_and(|founder| founder.node == node);
        let founders = if first { founders.to_vec() } else { vec![] };
        self.set_up_node(dir, node, (api, peer), first, founders)
    }

    /// Sets up the only node of a cluster whose log and state are there. Its authorities' keys are in
    /// that state already, or go from the folder into it at the first start (`with_keys`).
    pub(crate) fn set_up_restored(
        &self,
        dir: &DataDir,
        node: u64,
        addresses: (Address, Address),
        with_keys: bool,
    ) -> Result<(), Error> {
        self.set_up_node(dir, node, addresses, with_keys, vec![])
    }

    fn set_up_node(
        &self,
        dir: &DataDir,
        node: u64,
        (api, peer): (Address, Address),
        with_keys: bool,
        founders: Vec<Founder>,
    ) -> Result<(), Error> {
        let pki = dir.pki();
        write_public(
            &pki.join(names::AUTHORITY_CERTIFICATE),
            self.authority.identity().certificate.as_bytes(),
        )?;
        write_public(
            &pki.join(names::PEER_AUTHORITY_CERTIFICATE),
            self.peer_authority.identity().certificate.as_bytes(),
        )?;
        write_private(&dir.cluster_secret(), self.secret.as_bytes())?;
        let server = Subject::Server { names: server_names(self.naming, &api.advertise) };
        self.authority.issue(&server, self.now)?.write(&pki, names::SERVER)?;
        self.peer_authority
            .issue(&Subject::Peer { cluster: self.cluster, node }, self.now)?
            .write(&pki, names::PEER)?;
        if with_keys {
            self.authority.identity().write(&pki, names::AUTHORITY)?;
            self.peer_authority.identity().write(&pki, names::PEER_AUTHORITY)?;
        }
        let Self { cluster, naming, .. } = *self;
        NodeConfig { format: FORMAT, cluster, node, naming, api, peer, founders }.write(dir)
    }

    /// Leaves what the administrator needs in a folder; see [`write_admin`].
    pub(crate) fn write_admin(&self, folder: &Path, server: &str) -> Result<(), Error> {
        write_admin(&self.authority, self.now, folder, server)
    }

    /// Makes the folder of a `dev` cluster: `pki/`, `admin.kubeconfig` and a folder for each node;
    /// that of the first is complete last, so that a folder that has it has everything.
    pub(crate) fn set_up_dev(
        &self,
        root: &Path,
        nodes: u64,
        bind: SocketAddr,
    ) -> Result<(), Error> {
        let founders = dev_founders(nodes, bind)?;
        self.authority.identity().write(&root.join("pki"), names::AUTHORITY)?;
        self.write_admin(root, &format!("https://{bind}"))?;
        for founder in founders.iter().rev() {
            let dir = DataDir::of_node(root, founder.node);
            self.set_up(
                &dir,
                founder.node,
                Address::same(&founder.api),
                Address::same(&founder.peer),
                &founders,
            )?;
        }
        Ok(())
    }
}

/// Leaves `pki/admin.{crt,key}` and `admin.kubeconfig` in a folder, for the administrator whom this
/// authority certifies.
pub(crate) fn write_admin(
    authority: &Authority,
    now: OffsetDateTime,
    folder: &Path,
    server: &str,
) -> Result<(), Error> {
    let client =
        Subject::Client { user: ADMIN_USER.to_owned(), group: Some(ADMIN_GROUP.to_owned()) };
    let admin = authority.issue(&client, now)?;
    admin.write(&folder.join("pki"), names::ADMIN)?;
    let Identity { certificate, .. } = authority.identity();
    kubeconfig::write(&folder.join("admin.kubeconfig"), server, certificate, ADMIN_USER, &admin)
}

/// Makes a folder for a new node that only its owner may look into; refuses one that holds
/// anything.
pub(crate) fn make_empty(folder: &Path) -> Result<(), Error> {
    make_folder(folder)?;
    DataDir::new(folder).refuse_root()?;
    let mut entries = std::fs::read_dir(folder).map_err(at(folder))?;
    if entries.next().is_some() {
        return Err(Error::config(format_args!(
            "{} is not empty: a new node needs a folder of its own (what an interrupted command has left can be deleted)",
            folder.display()
        )));
    }
    // Only the folder's owner can change its mode; for another user the node warns at its start.
    let _ = std::fs::set_permissions(folder, Permissions::from_mode(PRIVATE_FOLDER));
    Ok(())
}

/// The time of certificates.
pub(crate) fn now(env: &Env) -> OffsetDateTime {
    let seconds =
        i64::try_from(env.clock.now_ms() / 1000).expect("the clock is before the year 292 billion");
    OffsetDateTime::from_unix_timestamp(seconds).expect("the clock is before the year 9999")
}

/// Every name under which clients may reach a node.
pub(crate) fn server_names(naming: Naming, advertised: &str) -> Vec<String> {
    let host =
        advertised.rsplit_once(':').map_or(advertised, |(host, _)| host).trim_matches(['[', ']']);
    let service = match naming {
        Naming::Svc => "svc",
        Naming::Kubernetes => "kubernetes",
    };
    let mut names: Vec<String> =
        ["localhost", "127.0.0.1", "::1", host, SERVICE_ADDRESS].map(str::to_owned).to_vec();
    names.extend([
        service.to_owned(),
        format!("{service}.default"),
        format!("{service}.default.svc"),
    ]);
    names.push(format!("{service}.default.svc.{CLUSTER_DOMAIN}"));
    names.sort();
    names.dedup();
    names
}

fn dev_founders(nodes: u64, bind: SocketAddr) -> Result<Vec<Founder>, Error> {
    let port = |node: u64, offset: u16| {
        let step = u16::try_from(node - 1).ok()?;
        bind.port().checked_add(step)?.checked_add(offset)
    };
    (1..=nodes)
        .map(|node| {
            let (api, peer) = port(node, 0).zip(port(node, PEER_PORT_OFFSET)).ok_or_else(|| {
                Error::config(format_args!("port {} leaves no room for {nodes} nodes", bind.port()))
            })?;
            let at = |port| SocketAddr::new(bind.ip(), port).to_string();
            Ok(Founder { node, api: at(api), peer: at(peer) })
        })
        .collect()
}
