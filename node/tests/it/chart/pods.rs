//! The pods of the chart without Kubernetes: processes that do what a StatefulSet and a Deployment do. The
//! cluster that the pods run in is one of our own.

use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

use super::workspace;
use crate::support::{Client, Cluster, Helm, Kubectl, eventually, free_port, quorate};

const NAMESPACE: &str = "pods";
const REGISTRATION: &str = "quorate-registration";
/// A second pod of the same number, on a volume of its own, has this added to its place.
pub(super) const RIVAL: usize = 10;
/// Voters that there can be.
const VOTERS: usize = 5;

/// The pods, their processes, and the cluster that they run in. A pod is named by its place: its number, or
/// that of a rival.
pub(super) struct Pods {
    pub(super) host: Cluster,
    pub(super) kubectl: Kubectl,
    port: u16,
    running: Vec<Running>,
}

/// The containers of a pod: the node first.
struct Running {
    pod: usize,
    children: Vec<Child>,
}

impl Pods {
    /// The host with what the chart makes there for the steps. Nothing without helm or kubectl.
    pub(super) fn new() -> Option<Self> {
        let host = Cluster::start(1, &["--naming", "kubernetes"]);
        let kubectl = Kubectl::find(&host.root())?;
        let helm = Helm::find(&host.root())?;
        kubectl.run(&["create", "namespace", NAMESPACE]);
        let chart = workspace().join("deploy/helm/quorate");
        let chart = chart.to_str().unwrap();
        helm.run(&["install", "quorate", chart, "--namespace", NAMESPACE]);
        let credentials = host.spare("credentials");
        std::fs::create_dir(&credentials).unwrap();
        std::fs::copy(host.root().join("pki/ca.crt"), credentials.join("ca.crt")).unwrap();
        let token = kubectl.run(&["create", "token", "quorate", "--namespace", NAMESPACE]);
        std::fs::write(credentials.join("token"), token).unwrap();
        Some(Self { host, kubectl, port: free_port(), running: vec![] })
    }

    /// The same with pods of voters up to this number, which are ready.
    pub(super) async fn with_voters(voters: usize) -> Option<Self> {
        let mut pods = Self::new()?;
        for pod in 0..voters {
            pods.comes(pod, "voter");
        }
        let mut roles = vec!["voter"; voters];
        roles[0] = "leader";
        pods.have(&roles).await;
        Some(pods)
    }

    /// A pod's data folder.
    pub(super) fn folder(&self, pod: usize) -> PathBuf {
        self.host.spare(&format!("pod-{pod}/node"))
    }

    pub(super) fn is_set_up(&self, pod: usize) -> bool {
        self.folder(pod).join("node.json").exists()
    }

    /// Where clients reach a pod.
    pub(super) fn api(&self, pod: usize) -> String {
        format!("127.0.0.1:{}", usize::from(self.port) + pod % RIVAL)
    }

    fn peer(&self, pod: usize) -> String {
        format!("127.0.0.1:{}", usize::from(self.port) + 1000 + pod % RIVAL)
    }

    /// A client without credentials.
    pub(super) fn anonymous(&self, pod: usize) -> Client {
        Client::anonymous(&self.api(pod), &self.folder(pod).join("pki"))
    }

    /// A step of a pod, as the chart calls it.
    pub(super) fn step(&self, step: &str, pod: usize, role: &str) -> Command {
        let mut command = quorate(&["operator-step", step, "--role", role]);
        command.arg("--data-dir").arg(self.folder(pod));
        let name = format!("quorate-{}", pod % RIVAL);
        command.args(["--pod", &name, "--namespace", NAMESPACE]);
        command.args(["--registration", REGISTRATION, "--host-api", &self.host.address(1)]);
        command.arg("--host-credentials").arg(self.host.spare("credentials"));
        for voter in 0..VOTERS {
            command.args(["--peer", &self.peer(voter)]);
        }
        command
    }

    /// The setup step with further options.
    pub(super) fn begin_setup_with(&self, pod: usize, role: &str, options: &[&str]) -> Child {
        let mut command = self.step("setup", pod, role);
        let peer = self.peer(pod);
        command.args(["--bind", &self.api(pod), "--peer-bind", &peer, "--peer-advertise", &peer]);
        command.args(options);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    pub(super) fn begin_setup(&self, pod: usize, role: &str, wait: &str) -> Child {
        self.begin_setup_with(pod, role, &["--wait", wait, "--objection-time", "0s"])
    }

    pub(super) fn setup(&self, pod: usize, role: &str, wait: &str) -> Output {
        self.begin_setup(pod, role, wait).wait_with_output().unwrap()
    }

    pub(super) fn begin_leave(&self, pod: usize) -> Child {
        let mut command = self.step("leave", pod, "voter");
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    pub(super) fn leave(&self, pod: usize) -> Output {
        self.begin_leave(pod).wait_with_output().unwrap()
    }

    /// A pod was killed between the making of its folder, as the founder, and the registration.
    pub(super) fn half_found(&self, pod: usize) {
        let mut init = quorate(&["init", "--bind", &self.api(pod), "--peer-bind", &self.peer(pod)]);
        success(&init.arg("--data-dir").arg(self.folder(pod)).output().unwrap());
    }

    /// A pod begins: its setup, then its containers.
    pub(super) fn comes(&mut self, pod: usize, role: &str) {
        success(&self.setup(pod, role, "1m"));
        self.start(pod, role);
    }

    /// Starts a pod's containers.
    pub(super) fn start(&mut self, pod: usize, role: &str) {
        self.start_with(pod, role, &[]);
    }

    /// The same, with options of the follow step.
    pub(super) fn start_with(&mut self, pod: usize, role: &str, options: &[&str]) {
        let log = self.folder(pod).with_extension("log");
        let log = std::fs::File::options().create(true).append(true).open(log).unwrap();
        let mut serve = quorate(&["serve", "--anonymous-auth", "--data-dir"]);
        serve.arg(self.folder(pod)).stdout(Stdio::null()).stderr(log.try_clone().unwrap());
        let mut follow = self.step("follow", pod, role);
        follow.args(["--interval", "200ms"]).args(options).stdout(Stdio::null()).stderr(log);
        let children = [serve, follow].map(|mut command| command.spawn().unwrap()).into();
        self.running.push(Running { pod, children });
    }

    /// Stops a pod: all containers are told at once.
    pub(super) fn stop(&mut self, pod: usize) {
        self.take(pod).end("TERM");
    }

    /// A pod is gone with its machine.
    pub(super) fn kill(&mut self, pod: usize) {
        self.take(pod).end("KILL");
    }

    /// Ends everything beside the node of a pod.
    pub(super) fn stop_following(&mut self, pod: usize) {
        let running = self.running.iter_mut().find(|running| running.pod == pod).unwrap();
        let children = running.children.split_off(1);
        Running { pod, children }.end("TERM");
    }

    fn take(&mut self, pod: usize) -> Running {
        let at = self.running.iter().position(|running| running.pod == pod).unwrap();
        self.running.remove(at)
    }

    /// A pod's volume is lost.
    pub(super) fn lose(&self, pod: usize) {
        std::fs::remove_dir_all(self.folder(pod)).unwrap();
    }

    pub(super) fn scale(&self, replicas: usize) {
        let replicas = format!("--replicas={replicas}");
        self.kubectl.run(&["scale", "statefulset/quorate", &replicas, "--namespace", NAMESPACE]);
    }

    /// The set is scaled down to so many of its pods, all of which leave at once.
    pub(super) fn shrink(&mut self, replicas: usize, leaving: &[usize]) {
        self.scale(replicas);
        let steps: Vec<_> = leaving.iter().map(|pod| self.begin_leave(*pod)).collect();
        for step in steps {
            success(&step.wait_with_output().unwrap());
        }
        for pod in leaving {
            self.stop(*pod);
        }
    }

    /// So many voters are ready, says the host.
    pub(super) fn are_ready(&self, voters: usize) {
        let status = format!(r#"{{"status":{{"replicas":{voters},"readyReplicas":{voters}}}}}"#);
        let patch = ["patch", "statefulset", "quorate", "--subresource=status", "--type=merge"];
        self.kubectl.run(&[&patch[..], &["--patch", &status, "--namespace", NAMESPACE]].concat());
    }

    /// The state of the registration and the cluster that it names; nothing where there is none.
    pub(super) fn registered(&self) -> Option<(String, String)> {
        let get = ["get", "secret", REGISTRATION, "--namespace", NAMESPACE, "--output"];
        let form = r#"go-template={{.data.state | base64decode}} {{with .data.cluster}}{{. | base64decode}}{{end}}"#;
        let output = self.kubectl.command(&[&get[..], &[form]].concat()).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let (state, cluster) = text.split_once(' ')?;
        output.status.success().then(|| (state.to_owned(), cluster.to_owned()))
    }

    pub(super) fn delete_registration(&self) {
        self.kubectl.run(&["delete", "secret", REGISTRATION, "--namespace", NAMESPACE]);
    }

    /// Waits until the members have these roles, as the first pod sees them.
    pub(super) async fn have(&self, roles: &[&str]) {
        eventually(&format!("members: {roles:?}"), async || {
            let status = self.host.status(&self.folder(0))?;
            let members = status["members"].as_array()?;
            let mut found: Vec<_> =
                members.iter().filter_map(|member| member["role"].as_str()).collect();
            found.sort_unstable();
            (found == roles).then_some(())
        })
        .await;
    }

    /// Waits until a pod's node answers for sure.
    pub(super) async fn is_ready(&self, pod: usize) {
        eventually("the node is ready", async || {
            let ready =
                quorate(&["status", "--ready", "--data-dir"]).arg(self.folder(pod)).output();
            ready.unwrap().status.success().then_some(())
        })
        .await;
    }

    /// The identity of a pod's node.
    pub(super) fn config(&self, pod: usize) -> Value {
        let text = std::fs::read_to_string(self.folder(pod).join("node.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    /// The number of a pod's node.
    pub(super) fn node(&self, pod: usize) -> u64 {
        self.config(pod)["node"].as_u64().unwrap()
    }
}

impl Running {
    fn end(mut self, signal: &str) {
        for child in &self.children {
            let id = child.id().to_string();
            Command::new("kill").args(["-s", signal, &id]).stderr(Stdio::null()).status().unwrap();
        }
        for child in &mut self.children {
            child.wait().unwrap();
        }
    }
}

impl Drop for Pods {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for pod in (0..VOTERS).chain(RIVAL..RIVAL + 1) {
                let log = self.folder(pod).with_extension("log");
                println!("-- pod {pod}\n{}", std::fs::read_to_string(log).unwrap_or_default());
            }
        }
        for mut running in self.running.drain(..) {
            for child in &mut running.children {
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }
}

#[track_caller]
pub(super) fn success(output: &Output) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// What a step says that fails.
#[track_caller]
pub(super) fn failure(output: &Output) -> String {
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8_lossy(&output.stderr).trim_end().to_owned()
}
