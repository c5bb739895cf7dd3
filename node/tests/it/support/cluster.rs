//! A `dev` cluster of real processes, whose nodes can be killed and started again.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use super::{Client, eventually};

/// API ports that tests take, ten apart; peer ports lie 1000 above. Below the range that systems
/// give to clients.
static NEXT_PORT: AtomicU16 = AtomicU16::new(0);
const FIRST_PORT: u16 = 20_000;
const PORT_BLOCKS: u16 = 90;

/// The binary under test with these arguments.
pub(crate) fn quorate(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quorate"));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// A running cluster; its processes and its folder go with it.
pub(crate) struct Cluster {
    folder: TempDir,
    port: u16,
    supervisor: Child,
    /// Nodes that were started again by hand, and further nodes.
    others: Vec<Child>,
}

impl Cluster {
    /// Starts a cluster and waits until it is ready.
    pub(crate) fn start(nodes: usize, arguments: &[&str]) -> Self {
        Self::start_with(nodes, arguments, TempDir::new().unwrap(), "")
    }

    /// The same in a folder that may hold something already; `log` says how much the nodes log, if
    /// not as usual.
    pub(crate) fn start_with(nodes: usize, arguments: &[&str], folder: TempDir, log: &str) -> Self {
        Self::start_on(free_port(), nodes, arguments, folder, log)
    }

    /// The same with the ports from this one on.
    pub(crate) fn start_on(
        port: u16,
        nodes: usize,
        arguments: &[&str],
        folder: TempDir,
        log: &str,
    ) -> Self {
        let supervisor = supervise(&folder.path().join("data"), nodes, port, arguments, log);
        Self { folder, port, supervisor, others: vec![] }
    }

    /// The folder that `dev` was given.
    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// A folder beside it, for a further node.
    pub(crate) fn spare(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The data folder of a node, from 1.
    pub(crate) fn node(&self, node: u64) -> PathBuf {
        self.root().join(format!("node-{node}"))
    }

    /// The API address of a node, from 1. Numbers beyond the first nodes have addresses that are
    /// free.
    pub(crate) fn address(&self, node: u64) -> String {
        format!("127.0.0.1:{}", u64::from(self.port) + node - 1)
    }

    /// The peer address of a node, from 1.
    pub(crate) fn peer_address(&self, node: u64) -> String {
        format!("127.0.0.1:{}", u64::from(self.port) + 1000 + node - 1)
    }

    /// An administrator at a node.
    pub(crate) fn client(&self, node: u64) -> Client {
        Client::new(&self.address(node), &self.root().join("pki"), "admin")
    }

    /// Kills a node without warning.
    pub(crate) fn kill(&mut self, node: u64) {
        self.end(node, "KILL");
    }

    /// Tells a node to stop, and waits until it has.
    pub(crate) fn stop(&mut self, node: u64) {
        self.end(node, "TERM");
    }

    fn end(&mut self, node: u64, how: &str) {
        let pid = std::fs::read_to_string(self.node(node).join("pid")).unwrap();
        signal(&pid, how);
        while is_running(&pid) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Sends a signal to a node's process.
    pub(crate) fn signal(&self, node: u64, name: &str) {
        signal(&self.pid(node), name);
    }

    fn pid(&self, node: u64) -> String {
        std::fs::read_to_string(self.node(node).join("pid")).unwrap()
    }

    /// Bytes of memory that a node's process has now.
    pub(crate) fn resident(&self, node: u64) -> u64 {
        self.memory(node, "VmRSS:")
    }

    /// The most that it had since [`Cluster::forget_peak`].
    pub(crate) fn peak_resident(&self, node: u64) -> u64 {
        self.memory(node, "VmHWM:")
    }

    /// Measures the peak from here on.
    pub(crate) fn forget_peak(&self, node: u64) {
        std::fs::write(format!("/proc/{}/clear_refs", self.pid(node)), "5").unwrap();
    }

    fn memory(&self, node: u64, what: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid(node))).unwrap();
        let line = status.lines().find(|line| line.starts_with(what)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
    }

    /// The value of a metric of a node; `None` where it has no such line.
    pub(crate) async fn metric(&self, node: u64, series: &str) -> Option<f64> {
        let page = self.client(node).get("/metrics").await.expect(200).body;
        let lines = page.as_str().unwrap().lines();
        let value = lines.filter_map(|line| line.strip_prefix(series)?.strip_prefix(' ')).next()?;
        value.parse().ok()
    }

    /// Starts a node again, or a further one; does not wait.
    pub(crate) fn serve(&mut self, folder: &Path) {
        self.serve_with(folder, &[]);
    }

    /// The same with these arguments.
    pub(crate) fn serve_with(&mut self, folder: &Path, arguments: &[&str]) {
        let log = std::fs::File::options()
            .create(true)
            .append(true)
            .open(folder.join("node.log"))
            .unwrap();
        let mut command = quorate(&["serve", "--data-dir"]);
        command.arg(folder).args(arguments).stdout(Stdio::null()).stderr(log);
        self.others.push(command.spawn().unwrap());
    }

    /// Waits until a node says that it is ready.
    pub(crate) async fn ready(&self, node: u64) {
        let mut client = self.client(node);
        eventually(&format!("node {node} is ready"), async || {
            client.is_ready().await.then_some(())
        })
        .await;
    }

    /// What `quorate status -o json` prints for a node, if it answers.
    pub(crate) fn status(&self, folder: &Path) -> Option<Value> {
        let output = quorate(&["status", "-o", "json", "--data-dir"]).arg(folder).output().unwrap();
        output.status.success().then(|| serde_json::from_slice(&output.stdout).unwrap())
    }

    /// The leader's number, once the node knows one.
    pub(crate) async fn leader(&self, asked: u64) -> u64 {
        eventually("a leader", async || self.status(&self.node(asked))?["leader"].as_u64()).await
    }

    /// Runs a command of the binary that must succeed, and gives its output.
    pub(crate) fn run(arguments: &[&str], folder: &Path) -> String {
        let output = quorate(arguments).arg("--data-dir").arg(folder).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(
            output.status.success(),
            "{arguments:?}: {}{}",
            text(&output.stdout),
            text(&output.stderr)
        );
        text(&output.stdout)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.show_logs();
        }
        for child in self.others.iter_mut().chain([&mut self.supervisor]) {
            signal(&child.id().to_string(), "TERM");
        }
        for child in self.others.iter_mut().chain([&mut self.supervisor]) {
            child.wait().unwrap();
        }
    }
}

impl Cluster {
    /// The ends of the nodes' logs, for a failed test.
    fn show_logs(&self) {
        let Ok(folders) = std::fs::read_dir(self.root()) else {
            return;
        };
        for folder in folders.flatten() {
            let text = std::fs::read_to_string(folder.path().join("node.log")).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            println!("-- {}", folder.path().display());
            lines.iter().skip(lines.len().saturating_sub(30)).for_each(|line| println!("{line}"));
        }
    }
}

fn supervise(root: &Path, nodes: usize, port: u16, arguments: &[&str], log: &str) -> Child {
    let mut command =
        quorate(&["dev", "--nodes", &nodes.to_string(), "--bind", &format!("127.0.0.1:{port}")]);
    if !log.is_empty() {
        command.env("QUORATE_LOG", log);
    }
    let mut child =
        command.args(arguments).arg("--data-dir").arg(root).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut said = String::new();
    while !said.contains("\nready ") {
        let read = output.read_line(&mut said).unwrap();
        assert!(read > 0, "dev ended before it was ready:\n{said}");
    }
    // The rest is not needed, and must not block the supervisor.
    std::thread::spawn(move || std::io::copy(&mut output, &mut std::io::sink()));
    child
}

/// The first of ten ports that are free, as are the ten that lie 1000 above.
pub(crate) fn free_port() -> u16 {
    for _ in 0..PORT_BLOCKS {
        let block = NEXT_PORT.fetch_add(1, Ordering::Relaxed)
            + (std::process::id() % u32::from(PORT_BLOCKS)) as u16;
        let port = FIRST_PORT + block % PORT_BLOCKS * 10;
        let is_free = |port| std::net::TcpListener::bind(("127.0.0.1", port)).is_ok();
        if (port..port + 10).chain(port + 1000..port + 1010).all(is_free) {
            return port;
        }
    }
    panic!("no free ports");
}

fn signal(pid: &str, name: &str) {
    Command::new("kill").args(["-s", name, pid]).stderr(Stdio::null()).status().unwrap();
}

/// Whether a process has a thread that may hold a file or a lock. A zombie stays listed, but only
/// its first thread does.
fn is_running(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
    let is_zombie = stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('Z'));
    threads > usize::from(is_zombie)
}
