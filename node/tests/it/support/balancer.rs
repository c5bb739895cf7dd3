//! A load balancer in front of a cluster: each new connection goes to the next node that takes one.
//!
//! It passes bytes on and looks at none, so clients still speak TLS with the node. One that checks
//! the nodes gives no connection to a node that is not ready, and closes those that it has: without
//! that, a client waits for a machine that is gone as long as its own limits say. Ends with the test.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::{Client, Cluster};

/// Between two checks of a node.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// How long a node may take to say that it is ready.
const CHECK_TIMEOUT: Duration = Duration::from_secs(2);
/// Failures in a row that take a node out.
const CHECK_FAILURES: u32 = 2;

/// The load balancer; it ends with the runtime of its test.
pub(crate) struct Balancer {
    address: String,
    tasks: Vec<JoinHandle<()>>,
}

/// A node behind it.
#[derive(Clone)]
struct Backend {
    address: String,
    /// Whether it is given connections.
    is_in: watch::Receiver<bool>,
}

impl Balancer {
    /// In front of these nodes, which it does not check.
    pub(crate) async fn start(cluster: &Cluster, nodes: &[u64]) -> Self {
        // A channel without a sender keeps its value.
        let (_, always) = watch::channel(true);
        let backend = |node| Backend { address: cluster.address(node), is_in: always.clone() };
        Self::listen(nodes.iter().copied().map(backend).collect(), vec![]).await
    }

    /// In front of these addresses, which it checks through clients of its own.
    pub(crate) async fn checking(
        nodes: Vec<(String, impl Fn() -> Client + Send + 'static)>,
    ) -> Self {
        let (mut backends, mut checks) = (vec![], vec![]);
        for (address, client) in nodes {
            let (put_in, is_in) = watch::channel(true);
            backends.push(Backend { address, is_in });
            checks.push(tokio::spawn(check(client, put_in)));
        }
        Self::listen(backends, checks).await
    }

    async fn listen(backends: Vec<Backend>, mut tasks: Vec<JoinHandle<()>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let backends: Arc<[Backend]> = backends.into();
        let next = Arc::new(AtomicUsize::new(0));
        tasks.push(tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(pass_on(client, backends.clone(), next.clone()));
            }
        }));
        Self { address, tasks }
    }

    /// What clients connect to.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// Serves one connection; when no node takes it, it is closed.
async fn pass_on(mut client: TcpStream, backends: Arc<[Backend]>, next: Arc<AtomicUsize>) {
    for _ in 0..backends.len() {
        let turn = next.fetch_add(1, Ordering::Relaxed);
        let Backend { address, mut is_in } = backends[turn % backends.len()].clone();
        if !*is_in.borrow() {
            continue;
        }
        if let Ok(mut node) = TcpStream::connect(&address).await {
            // However it ends, both ends are closed then.
            tokio::select! {
                _ = copy_bidirectional(&mut client, &mut node) => {}
                () = is_out(&mut is_in) => {}
            }
            return;
        }
    }
}

async fn is_out(is_in: &mut watch::Receiver<bool>) {
    if is_in.wait_for(|is_in| !is_in).await.is_err() {
        // Nothing checks the node.
        std::future::pending().await
    }
}

/// Asks a node again and again, on a new connection each time, as a connection may be all that is
/// wrong.
async fn check(client: impl Fn() -> Client, put_in: watch::Sender<bool>) {
    let mut failures = 0;
    while !put_in.is_closed() {
        let mut client = client();
        let asked = tokio::time::timeout(CHECK_TIMEOUT, client.is_ready()).await;
        failures = if asked == Ok(true) { 0 } else { failures + 1 };
        put_in.send_if_modified(|is_in| {
            std::mem::replace(is_in, failures < CHECK_FAILURES) != (failures < CHECK_FAILURES)
        });
        tokio::time::sleep(CHECK_INTERVAL).await;
    }
}
