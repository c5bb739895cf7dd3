//! The past on the command line: commands of the binary against a cluster of real processes.

mod bad_manifest;
mod definition;
mod heartbeats;
mod hurt_archive;
mod namespace;
mod object;
mod pages;
mod purge;
mod refusals;
mod status;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use http::Method;
use serde_json::{Value, json};

use crate::support::{Client, Cluster, eventually, quorate};

/// The commands with a cluster's kubeconfig.
struct PastCommands {
    kubeconfig: PathBuf,
}

impl PastCommands {
    fn new(cluster: &Cluster) -> Self {
        Self::with(&cluster.root().join("admin.kubeconfig"))
    }

    fn with(kubeconfig: &Path) -> Self {
        Self { kubeconfig: kubeconfig.to_owned() }
    }

    /// A command that has not started.
    fn command(&self, line: &str) -> Command {
        let words: Vec<&str> = line.split(' ').collect();
        let mut command = quorate(&words);
        command.env("KUBECONFIG", &self.kubeconfig);
        command
    }

    /// What a command prints that must succeed.
    #[track_caller]
    fn run(&self, line: &str) -> String {
        let output = self.command(line).output().unwrap();
        assert!(output.status.success(), "{line}\n{}", all(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// What a command says that must fail.
    #[track_caller]
    fn fail(&self, line: &str) -> String {
        let output = self.command(line).output().unwrap();
        assert!(!output.status.success(), "{line}\n{}", all(&output));
        all(&output)
    }

    /// The records that a command prints, a line each.
    #[track_caller]
    fn records(&self, line: &str) -> Vec<Value> {
        self.run(line).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// Backs up; gives the options by which the repository is read.
fn back_up(cluster: &Cluster, past: &PastCommands) -> String {
    let (folder, key) = (cluster.spare("backups"), cluster.spare("backup.key"));
    let (folder, key) = (folder.display(), key.display());
    past.run(&format!("backup key {key}"));
    past.run(&format!("backup create --to {folder} --key-file {key}"));
    format!("--from {folder} --key-file {key}")
}

fn all(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

/// The path of a ConfigMap.
fn map(namespace: &str, name: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/configmaps/{name}")
}

/// Creates an object; gives it as it is stored.
async fn create(client: &mut Client, path: &str, object: Value) -> Value {
    client.post(path, &object).await.expect(201).body
}

/// Creates a ConfigMap.
async fn make_map(client: &mut Client, namespace: &str, name: &str, value: &str) -> Value {
    let path = format!("/api/v1/namespaces/{namespace}/configmaps");
    let object =
        json!({"metadata": {"name": name, "labels": {"app": "web"}}, "data": {"k": value}});
    create(client, &path, object).await
}

/// Changes an object by a merge patch.
async fn patch(client: &mut Client, path: &str, change: Value) -> Value {
    client.send(Method::PATCH, path, Some(&change)).await.unwrap().expect(200).body
}

/// Deletes an object and waits until it is gone.
async fn delete(client: &mut Client, path: &str) {
    client.send(Method::DELETE, path, None).await.unwrap().expect(200);
    eventually(&format!("{path} is gone"), async || {
        (client.get(path).await.status == 404).then_some(())
    })
    .await;
}

/// `metadata.resourceVersion`.
fn version(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap()
}

/// `metadata.uid`.
fn uid(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().unwrap()
}
