//! The cluster of `deploy/compose.yaml` in containers, under a project name, an image name and
//! ports of its own.
//!
//! Everything goes with it: containers, volumes, networks and the image, however the test ends.

mod disks;
mod engine;
mod faults;

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use super::cluster::free_port;
use super::{Client, eventually, skip};
pub(crate) use disks::Disks;
pub(crate) use engine::deploy_image;
use engine::{answers, deploy, docker, output};

/// The voters of `deploy/compose.yaml`, by their numbers.
pub(crate) const VOTERS: [u64; 3] = [1, 2, 3];
/// Its API node.
pub(crate) const API_NODE: u64 = 4;
/// Beside the file: what has Docker keep a node's data in a folder of [`Disks`], and what gives the
/// nodes their share of the processors.
const ON_DISKS: &str = "tests/it/support/compose/disks.yaml";
const WEIGHTS: &str = "tests/it/support/compose/weights.yaml";
/// Between two looks at a container: each starts a program.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// What a node is called in `deploy/compose.yaml`.
fn service(node: u64) -> String {
    if node == API_NODE { "api-1".to_owned() } else { format!("node-{node}") }
}

/// The running containers; they are removed with the test.
pub(crate) struct Compose {
    /// `docker compose` or `docker-compose`.
    command: &'static [&'static str],
    project: String,
    port: u16,
    /// Where the containers reach this machine.
    host: String,
    /// Whether the engine makes control groups itself.
    has_own_groups: bool,
    /// Variables of the file.
    variables: Vec<(&'static str, String)>,
    /// Credentials of the administrator.
    folder: TempDir,
    /// Where the nodes' data lies, if not in volumes of the engine's own.
    disks: Option<Disks>,
}

impl Compose {
    /// A cluster that is not there yet. Nothing, and why is printed, where no Docker engine
    /// answers: that is a matter of the machine, as `.ci/tools` cannot fetch one. Where one does,
    /// compose has to be there as well.
    pub(crate) fn find() -> Option<Self> {
        if !answers(&["docker", "version"]) {
            println!("skipped: no Docker engine answers");
            return None;
        }
        let commands: [&[&str]; 2] = [&["docker", "compose"], &["docker-compose"]];
        let found =
            commands.into_iter().find(|command| answers(&[command, &["version"][..]].concat()));
        let Some(command) = found else {
            skip("neither 'docker compose' nor 'docker-compose' is here");
            return None;
        };
        let port = free_port();
        let project = format!("quorate-test-{port}");
        // Where a node is put that is cut off. It is there from the beginning: its gateway is an
        // address of this machine.
        let aside = aside(&project);
        docker(&["network", "create", &aside]);
        let gateway = "{{(index .IPAM.Config 0).Gateway}}";
        let host = docker(&["network", "inspect", "--format", gateway, &aside]).trim().to_owned();
        let (folder, variables) = (TempDir::new().unwrap(), vec![]);
        let groups = docker(&["info", "--format", "{{.CgroupDriver}} {{.CgroupVersion}}"]);
        let has_own_groups = groups.trim() == "cgroupfs 1";
        Some(Self { command, project, port, host, has_own_groups, variables, folder, disks: None })
    }

    /// The same cluster with this variable of the file.
    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.variables.push((name, value.to_owned()));
        self
    }

    /// The same cluster with its data on these disks.
    pub(crate) fn on(mut self, disks: Disks) -> Self {
        self.disks = Some(disks);
        self
    }

    /// The address of this machine, as the containers see it.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// The disks of the nodes, where they have some of their own.
    pub(crate) fn disks(&self) -> Option<&Disks> {
        self.disks.as_ref()
    }

    /// Builds the image. Unoptimized, which uses what the tests have compiled already; the rest is
    /// as in a release.
    pub(crate) fn build_image(&self) {
        output(deploy_image().arg(self.image()));
    }

    /// Brings the cluster up and waits until all its containers are healthy and its nodes ready.
    pub(crate) async fn up(&self) {
        self.compose(&["up", "--detach"]);
        for node in VOTERS {
            self.healthy(node).await;
        }
        for what in ["pki/.", "admin.kubeconfig"] {
            let (from, to) = (format!("{}:/data/{what}", self.container(1)), self.folder.path());
            docker(&["cp", &from, to.to_str().unwrap()]);
        }
        for node in VOTERS.into_iter().chain([API_NODE]) {
            self.ready(node).await;
        }
        self.healthy(API_NODE).await;
    }

    /// Waits until the container of a node is healthy, as the file has it checked.
    pub(crate) async fn healthy(&self, node: u64) {
        let what = format!("node {node} is healthy");
        self.until(&what, node, "{{.State.Health.Status}}", |health| health == "healthy").await;
    }

    /// Waits until the engine says something of a node's container.
    async fn until(&self, what: &str, node: u64, template: &str, is_so: impl Fn(&str) -> bool) {
        eventually(what, async || {
            if is_so(&self.inspect(node, template)) {
                return Some(());
            }
            tokio::time::sleep(LOOK_AGAIN).await;
            None
        })
        .await;
    }

    /// What the engine says of a node's container, by a template.
    pub(crate) fn inspect(&self, node: u64, template: &str) -> String {
        docker(&["inspect", "--format", template, &self.container(node)]).trim().to_owned()
    }

    /// What the engine says of the image.
    pub(crate) fn inspect_image(&self) -> Value {
        let image: Value =
            serde_json::from_str(&docker(&["image", "inspect", &self.image()])).unwrap();
        image[0].clone()
    }

    /// What a node has said last.
    pub(crate) fn logs(&self, node: u64) -> String {
        let mut command = Command::new("docker");
        command.args(["logs", "--tail", "200", &self.container(node)]).stdin(Stdio::null());
        String::from_utf8_lossy(&command.output().unwrap().stderr).into_owned()
    }

    /// What the kernel says of a node's process.
    pub(crate) fn process_status(&self, node: u64) -> String {
        let pid = self.inspect(node, "{{.State.Pid}}");
        std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap()
    }

    /// A file of a node's container.
    pub(crate) fn file(&self, node: u64, path: &str) -> Vec<u8> {
        let copy = self.folder.path().join("copied");
        let from = format!("{}:{path}", self.container(node));
        docker(&["cp", &from, copy.to_str().unwrap()]);
        std::fs::read(copy).unwrap()
    }

    /// Where clients reach a node.
    pub(crate) fn address(&self, node: u64) -> String {
        format!("127.0.0.1:{}", u64::from(self.port) + node - 1)
    }

    /// The folder with the administrator's credentials and kubeconfig.
    pub(crate) fn credentials(&self) -> &Path {
        self.folder.path()
    }

    /// An administrator at a node.
    pub(crate) fn client(&self, node: u64) -> Client {
        Client::new(&self.address(node), self.folder.path(), "admin")
    }

    /// Waits until a node says that it is ready.
    pub(crate) async fn ready(&self, node: u64) {
        eventually(&format!("node {node} is ready"), async || {
            // A new connection each time: an old one may lead through a network that the node has
            // left.
            self.client(node).is_ready().await.then_some(())
        })
        .await;
    }

    /// The leader's number, as a node sees it once it knows one.
    pub(crate) async fn leader(&self, asked: u64) -> u64 {
        eventually(&format!("node {asked} knows a leader"), async || {
            let status = ["/quorate", "status", "--data-dir", "/data", "-o", "json"];
            let mut asking = Command::new("docker");
            asking.arg("exec").arg(self.container(asked)).args(status).stdin(Stdio::null());
            let told = asking.output().unwrap().stdout;
            let status = serde_json::from_slice::<Value>(&told).unwrap_or_default();
            let leader = status["leader"].as_u64();
            if leader.is_none() {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
            leader
        })
        .await
    }

    fn container(&self, node: u64) -> String {
        let labels = [("project", &*self.project), ("service", &service(node))];
        let labels = labels.map(|(name, value)| format!("label=com.docker.compose.{name}={value}"));
        let filters = ["--filter", &labels[0], "--filter", &labels[1]];
        docker(&[&["ps", "--quiet", "--all"], &filters[..]].concat()).trim().to_owned()
    }

    fn image(&self) -> String {
        format!("quorate:{}", self.project)
    }

    fn network(&self) -> String {
        format!("{}_cluster", self.project)
    }

    fn aside(&self) -> String {
        aside(&self.project)
    }

    /// Runs compose on the project; must succeed.
    fn compose(&self, arguments: &[&str]) -> String {
        output(self.prepared().args(arguments))
    }

    fn prepared(&self) -> Command {
        let mut command = Command::new(self.command[0]);
        command
            .args(&self.command[1..])
            .args(["-p", &self.project, "-f"])
            .arg(deploy("compose.yaml"));
        let beside = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
        if self.has_own_groups {
            command.arg("-f").arg(beside(WEIGHTS));
        }
        if let Some(disks) = &self.disks {
            command.arg("-f").arg(beside(ON_DISKS)).env("QUORATE_TEST_DISKS", disks.folder());
        }
        for node in 1..=4_u16 {
            command.env(format!("QUORATE_PORT_{node}"), (self.port + node - 1).to_string());
        }
        command.env("QUORATE_IMAGE", self.image());
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }
}

impl Drop for Compose {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for node in VOTERS.into_iter().chain([API_NODE]) {
                let mut status = Command::new("docker");
                status.args(["exec", &self.container(node), "/quorate", "status"]);
                let status = status.args(["--data-dir", "/data"]).stdin(Stdio::null()).output();
                println!("-- node {node}: {}", told(&status.unwrap()));
            }
            let logs = self.prepared().args(["logs", "--no-color", "--tail", "30"]).output();
            println!("{}", told(&logs.unwrap()));
        }
        let mut down = self.prepared();
        // What is paused cannot be stopped.
        down.args(["down", "--volumes", "--remove-orphans", "--timeout", "5"]);
        let (mut unpause, mut network, mut image) =
            (self.prepared(), Command::new("docker"), Command::new("docker"));
        unpause.arg("unpause");
        network.args(["network", "rm", &self.aside()]);
        image.args(["image", "rm", &self.image()]);
        // Whatever of it was never made cannot be removed; that is no failure.
        for command in [&mut unpause, &mut down, &mut network, &mut image] {
            let _ = command.stdin(Stdio::null()).output();
        }
    }
}

fn told(output: &Output) -> String {
    let both = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&both).into_owned()
}

fn aside(project: &str) -> String {
    format!("{project}_aside")
}
