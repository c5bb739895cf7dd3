//! A load balancer in front of a cluster: each new connection goes to the next node that takes one.
//!
//! It passes bytes on and looks at none, so clients still speak TLS with the node. Ends with the
//! test.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::Cluster;

/// The load balancer; it ends with the runtime of its test.
pub(crate) struct Balancer {
    address: String,
    task: JoinHandle<()>,
}

impl Balancer {
    /// In front of these nodes.
    pub(crate) async fn start(cluster: &Cluster, nodes: &[u64]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let nodes: Arc<[String]> = nodes.iter().map(|node| cluster.address(*node)).collect();
        let next = Arc::new(AtomicUsize::new(0));
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(pass_on(client, nodes.clone(), next.clone()));
            }
        });
        Self { address, task }
    }

    /// What clients connect to.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Serves one connection; when no node takes it, it is closed.
async fn pass_on(mut client: TcpStream, nodes: Arc<[String]>, next: Arc<AtomicUsize>) {
    for _ in 0..nodes.len() {
        let turn = next.fetch_add(1, Ordering::Relaxed);
        if let Ok(mut node) = TcpStream::connect(&nodes[turn % nodes.len()]).await {
            // However it ends, both ends are closed now.
            let _ = copy_bidirectional(&mut client, &mut node).await;
            return;
        }
    }
}
