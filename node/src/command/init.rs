//! `quorate init`: sets up the first node of a new cluster, or its first nodes. Serving them is the
//! next command.

use std::collections::BTreeSet;
use std::path::Path;

use quorate_env::Env;

use crate::cli::{ADVERTISE, Init, MAX_FOUNDERS, PEER_ADVERTISE};
use crate::config::{Address, Founder, check_reachable};
use crate::data_dir::DataDir;
use crate::error::Error;
use crate::setup::{NewCluster, make_empty};
use crate::terminal::print_line;

/// The number of the first node.
const FIRST: u64 = 1;

/// Makes the data folders.
pub(crate) fn run(options: &Init, env: &Env) -> Result<(), Error> {
    let nodes = nodes(options)?;
    if options.if_needed && nodes.iter().all(|node| node.dir.is_set_up()) {
        print_line(format_args!("{} is set up already", options.data_dir.display()));
        return Ok(());
    }
    for node in &nodes {
        make_empty(node.dir.path())?;
    }
    let founders: Vec<Founder> = nodes
        .iter()
        .map(|node| Founder {
            node: node.number,
            api: node.api.advertise.clone(),
            peer: node.peer.advertise.clone(),
        })
        .collect();
    let cluster = NewCluster::new(options.naming, env)?;
    // The first one comes last: a folder that has it has the others.
    for node in nodes.iter().rev() {
        if node.number == FIRST {
            cluster.write_admin(node.dir.path(), &format!("https://{}", node.api.advertise))?;
        }
        cluster.set_up(&node.dir, node.number, node.api.clone(), node.peer.clone(), &founders)?;
    }
    for node in &nodes {
        let dir = node.dir.path().display();
        print_line(format_args!(
            "node {} of cluster {} is set up in {dir}",
            node.number, cluster.cluster
        ));
    }
    explain(nodes[0].dir.path());
    Ok(())
}

/// A node to be set up.
struct NewNode {
    number: u64,
    dir: DataDir,
    api: Address,
    peer: Address,
}

/// One node in the folder itself, or one for each founding host in a folder below it.
fn nodes(options: &Init) -> Result<Vec<NewNode>, Error> {
    let (root, given) = (&options.data_dir, &options.addresses);
    if options.founder.is_empty() {
        let api = Address::new(&given.bind, given.advertise.as_deref(), ADVERTISE)?;
        let peer = Address::new(&given.peer_bind, given.peer_advertise.as_deref(), PEER_ADVERTISE)?;
        return Ok(vec![NewNode { number: FIRST, dir: DataDir::new(root), api, peer }]);
    }
    let hosts: BTreeSet<_> = options.founder.iter().collect();
    if hosts.len() < options.founder.len() || hosts.len() as u64 > MAX_FOUNDERS {
        return Err(Error::config(format_args!(
            "--founder: name each host once, and {MAX_FOUNDERS} at most"
        )));
    }
    let address = |bind: &str, host: &str| {
        let port = bind.rsplit_once(':').map(|(_, port)| port);
        let port = port
            .ok_or_else(|| Error::config(format_args!("'{bind}' is not an address host:port")))?;
        let advertise = format!("{host}:{port}");
        check_reachable(&advertise, "--founder")?;
        Ok::<_, Error>(Address { bind: bind.to_owned(), advertise })
    };
    (FIRST..)
        .zip(&options.founder)
        .map(|(number, host)| {
            let (api, peer) = (address(&given.bind, host)?, address(&given.peer_bind, host)?);
            Ok(NewNode { number, dir: DataDir::of_node(root, number), api, peer })
        })
        .collect()
}

fn explain(first: &Path) {
    let dir = first.display();
    print_line(format_args!("  serve it:           quorate serve --data-dir {dir}"));
    print_line(format_args!("  administrate it:    export KUBECONFIG={dir}/admin.kubeconfig"));
    print_line(format_args!("  add further nodes:  quorate token create --data-dir {dir}"));
}
