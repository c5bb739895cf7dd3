//! The cluster of `deploy/compose.yaml` in containers, under a project name, an image name and
//! ports of its own.
//!
//! Everything goes with it: containers, volumes, networks and the image, however the test ends.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use super::cluster::free_port;
use super::{Client, eventually};

/// What a node is called in `deploy/compose.yaml`: three voters, then an API node.
fn service(node: u64) -> String {
    if node > 3 { "api-1".to_owned() } else { format!("node-{node}") }
}

/// The running containers; they are removed with the test.
pub(crate) struct Compose {
    /// `docker compose` or `docker-compose`.
    command: &'static [&'static str],
    project: String,
    port: u16,
    /// Credentials of the administrator.
    folder: TempDir,
}

impl Compose {
    /// A cluster that is not there yet. Without an engine that answers, or without compose, the
    /// reason.
    pub(crate) fn find() -> Result<Self, &'static str> {
        if !answers(&["docker", "version"]) {
            return Err("no Docker engine answers");
        }
        let commands: [&[&str]; 2] = [&["docker", "compose"], &["docker-compose"]];
        let found =
            commands.into_iter().find(|command| answers(&[command, &["version"][..]].concat()));
        let command = found.ok_or("neither 'docker compose' nor 'docker-compose' is here")?;
        let port = free_port();
        Ok(Self {
            command,
            project: format!("quorate-test-{port}"),
            port,
            folder: TempDir::new().unwrap(),
        })
    }

    /// Builds the image. Unoptimized, which uses what the tests have compiled already; the rest is
    /// as in a release. Other tests run meanwhile and measure time: they go first.
    pub(crate) fn build_image(&self) {
        let mut command = Command::new("nice");
        command.args(["-n", "10"]).arg(deploy("image"));
        // What cargo tells the tests of this package would make it build dependencies anew that
        // look at it.
        for (name, _) in std::env::vars_os() {
            let cargo = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "LD_LIBRARY_PATH"];
            if name.to_str().is_some_and(|name| cargo.iter().any(|prefix| name.starts_with(prefix)))
            {
                command.env_remove(name);
            }
        }
        output(command.args(["--profile", "dev", &self.image()]));
    }

    /// Brings the cluster up and waits until all its containers are healthy and its nodes ready.
    pub(crate) async fn up(&self) {
        self.compose(&["up", "--detach"]);
        for node in 1..=3 {
            let container = self.container(node);
            eventually(&format!("node {node} is healthy"), async || {
                let health =
                    docker(&["inspect", "--format", "{{.State.Health.Status}}", &container]);
                (health.trim() == "healthy").then_some(())
            })
            .await;
        }
        docker(&[
            "cp",
            &format!("{}:/data/pki/.", self.container(1)),
            self.folder.path().to_str().unwrap(),
        ]);
        for node in 1..=3 {
            self.ready(node).await;
        }
    }

    /// An administrator at a node.
    pub(crate) fn client(&self, node: u64) -> Client {
        let port = u64::from(self.port) + node - 1;
        Client::new(&format!("127.0.0.1:{port}"), self.folder.path(), "admin")
    }

    /// Waits until a node says that it is ready.
    pub(crate) async fn ready(&self, node: u64) {
        let mut client = self.client(node);
        eventually(&format!("node {node} is ready"), async || {
            let answer = client.send(http::Method::GET, "/readyz", None).await.ok()?;
            (answer.status == 200).then_some(())
        })
        .await;
    }

    /// The leader's number, as a node sees it.
    pub(crate) fn leader(&self, asked: u64) -> u64 {
        let container = self.container(asked);
        let status = docker(&[
            "exec",
            &container,
            "/quorate",
            "status",
            "--data-dir",
            "/data",
            "-o",
            "json",
        ]);
        let status: Value = serde_json::from_str(&status).unwrap();
        status["leader"].as_u64().expect("a node that is ready knows the leader")
    }

    /// Takes a node off the network of the cluster. Clients of this machine still reach it: over a
    /// network of its own.
    pub(crate) fn cut_off(&self, node: u64) {
        let container = self.container(node);
        docker(&["network", "create", &self.aside()]);
        docker(&["network", "disconnect", &self.network(), &container]);
        docker(&["network", "connect", &self.aside(), &container]);
    }

    /// Takes it back.
    pub(crate) fn reconnect(&self, node: u64) {
        let container = self.container(node);
        docker(&["network", "disconnect", &self.aside(), &container]);
        docker(&["network", "connect", "--alias", &service(node), &self.network(), &container]);
    }

    /// Stops a node, which must end by itself and well.
    pub(crate) fn stop(&self, node: u64) {
        let container = self.container(node);
        self.compose(&["stop", &service(node)]);
        let code = docker(&["inspect", "--format", "{{.State.ExitCode}}", &container]);
        assert_eq!(code.trim(), "0", "exit code of node {node}");
    }

    /// Starts a stopped node again.
    pub(crate) fn start(&self, node: u64) {
        self.compose(&["start", &service(node)]);
    }

    fn container(&self, node: u64) -> String {
        let ids = self.compose(&["ps", "--quiet", "--all", &service(node)]);
        ids.trim().to_owned()
    }

    fn image(&self) -> String {
        format!("quorate:{}", self.project)
    }

    fn network(&self) -> String {
        format!("{}_cluster", self.project)
    }

    fn aside(&self) -> String {
        format!("{}_aside", self.project)
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
        for node in 1..=4_u16 {
            command.env(format!("QUORATE_PORT_{node}"), (self.port + node - 1).to_string());
        }
        command.env("QUORATE_IMAGE", self.image());
        command
    }
}

impl Drop for Compose {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let logs = self.prepared().args(["logs", "--no-color", "--tail", "30"]).output();
            println!(
                "{}",
                logs.map(|logs| String::from_utf8_lossy(&logs.stdout).into_owned())
                    .unwrap_or_default()
            );
        }
        let mut down = self.prepared();
        down.args(["down", "--volumes", "--remove-orphans", "--timeout", "5"]);
        let (mut network, mut image) = (Command::new("docker"), Command::new("docker"));
        network.args(["network", "rm", &self.aside()]);
        image.args(["image", "rm", &self.image()]);
        // Whatever of it was never made cannot be removed; that is no failure.
        for command in [&mut down, &mut network, &mut image] {
            let _ = command.stdin(Stdio::null()).output();
        }
    }
}

fn deploy(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("deploy").join(name)
}

fn answers(command: &[&str]) -> bool {
    let output = Command::new(command[0]).args(&command[1..]).stdin(Stdio::null()).output();
    output.is_ok_and(|output| output.status.success())
}

fn docker(arguments: &[&str]) -> String {
    output(Command::new("docker").args(arguments))
}

/// What a command prints that must succeed.
#[track_caller]
fn output(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{command:?}: {}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    text(&output.stdout)
}
