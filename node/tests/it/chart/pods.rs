//! The steps of pods, with processes in place of pods: a cluster is founded once, grows, loses a disk, and
//! shrinks. The cluster that the pods run in is one of our own.

use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

use super::workspace;
use crate::support::{Cluster, Helm, Kubectl, eventually, free_port, quorate};

const NAMESPACE: &str = "pods";
/// A second pod of the number 0.
const RIVAL: usize = 10;
const REGISTRATION: &str = "quorate-registration";

/// The pods, their processes, and the cluster that they run in.
struct Pods {
    host: Cluster,
    kubectl: Kubectl,
    port: u16,
    running: Vec<Running>,
}

/// The containers of a pod.
struct Running {
    pod: usize,
    children: [Child; 2],
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pods_found_a_cluster_once_and_it_grows_and_shrinks() {
    let Some(mut pods) = Pods::new() else {
        return;
    };
    // Whichever comes first: only pod 0 founds.
    let early = pods.setup(1, "voter", "0s");
    assert_eq!(failure(&early), "quorate: the cluster is not founded yet");
    pods.found();
    success(&pods.setup(0, "voter", "0s"));
    pods.start(0, "voter");
    success(&pods.setup(1, "voter", "1m"));
    success(&pods.setup(2, "voter", "1m"));
    pods.start(1, "voter");
    pods.start(2, "voter");
    pods.have(&["leader", "voter", "voter"]).await;

    // A restart of a pod keeps its node.
    let identity = pods.node(2);
    pods.stop(2);
    success(&pods.leave(2));
    success(&pods.setup(2, "voter", "1m"));
    pods.start(2, "voter");
    assert_eq!(pods.node(2), identity);

    // The founder loses its disk: it does not found again, and its place is not given away.
    pods.stop(0);
    std::fs::remove_dir_all(pods.folder(0)).unwrap();
    let told = failure(&pods.setup(0, "voter", "2s"));
    assert!(told.contains("remove it first"), "{told}");
    Cluster::run(&["member", "remove", "1"], &pods.folder(1));
    success(&pods.setup(0, "voter", "1m"));
    pods.start(0, "voter");
    pods.have(&["leader", "voter", "voter"]).await;

    // Nor does it when the registration is lost besides: the leader registers the cluster again.
    pods.kubectl.run(&["delete", "secret", REGISTRATION, "--namespace", NAMESPACE]);
    eventually("the cluster is registered again", async || {
        let get = ["get", "secret", REGISTRATION, "--namespace", NAMESPACE];
        pods.kubectl.command(&get).output().unwrap().status.success().then_some(())
    })
    .await;

    // An API node leaves with its pod.
    success(&pods.setup(3, "api", "1m"));
    pods.start(3, "api");
    pods.have(&["leader", "learner", "voter", "voter"]).await;
    pods.stop(3);
    pods.have(&["leader", "voter", "voter"]).await;

    // Scaled down, all at once as a StatefulSet of this kind does; and up again, on what was left behind.
    pods.scale(1);
    let leaving = [pods.begin_leave(1), pods.begin_leave(2)];
    for step in leaving {
        success(&step.wait_with_output().unwrap());
    }
    pods.stop(1);
    pods.stop(2);
    success(&pods.leave(0));
    pods.have(&["leader"]).await;
    pods.scale(3);
    success(&pods.setup(1, "voter", "1m"));
    pods.start(1, "voter");
    pods.have(&["leader", "voter"]).await;
}

impl Pods {
    /// The host with what the chart makes there for the steps. Nothing without helm or kubectl.
    fn new() -> Option<Self> {
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

    /// Two that take themselves for pod 0, each with a volume: one of them founds.
    fn found(&self) {
        let both = [0, RIVAL].map(|pod| self.begin_setup(pod, "voter", "0s"));
        let ended = both.map(|step| step.wait_with_output().unwrap().status.success());
        assert_eq!(ended.iter().filter(|founded| **founded).count(), 1);
        let is_set_up = |pod| self.folder(pod).join("node.json").exists();
        assert_eq!([0, RIVAL].map(is_set_up), ended);
        if is_set_up(RIVAL) {
            let _ = std::fs::remove_dir(self.folder(0));
            std::fs::rename(self.folder(RIVAL), self.folder(0)).unwrap();
        }
    }

    fn folder(&self, pod: usize) -> PathBuf {
        self.host.spare(&format!("pod-{pod}/node"))
    }

    fn peer(&self, pod: usize) -> String {
        format!("127.0.0.1:{}", usize::from(self.port) + 1000 + pod % RIVAL)
    }

    /// A step of a pod, as the chart calls it.
    fn step(&self, step: &str, pod: usize, role: &str) -> Command {
        let mut command = quorate(&["operator-step", step, "--role", role]);
        command.arg("--data-dir").arg(self.folder(pod));
        let name = format!("quorate-{}", pod % RIVAL);
        command.args(["--pod", &name, "--namespace", NAMESPACE]);
        command.args(["--registration", REGISTRATION, "--host-api", &self.host.address(1)]);
        command.arg("--host-credentials").arg(self.host.spare("credentials"));
        for voter in 0..3 {
            command.args(["--peer", &self.peer(voter)]);
        }
        command
    }

    fn begin_setup(&self, pod: usize, role: &str, wait: &str) -> Child {
        let mut command = self.step("setup", pod, role);
        let api = format!("127.0.0.1:{}", usize::from(self.port) + pod % RIVAL);
        let peer = self.peer(pod);
        command.args(["--wait", wait, "--bind", &api, "--peer-bind", &peer]);
        command.args(["--peer-advertise", &peer]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn setup(&self, pod: usize, role: &str, wait: &str) -> Output {
        self.begin_setup(pod, role, wait).wait_with_output().unwrap()
    }

    fn begin_leave(&self, pod: usize) -> Child {
        let mut command = self.step("leave", pod, "voter");
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn leave(&self, pod: usize) -> Output {
        self.begin_leave(pod).wait_with_output().unwrap()
    }

    /// Starts a pod's containers.
    fn start(&mut self, pod: usize, role: &str) {
        let log = std::fs::File::create(self.folder(pod).with_extension("log")).unwrap();
        let mut serve = quorate(&["serve", "--data-dir"]);
        serve.arg(self.folder(pod)).stdout(Stdio::null()).stderr(log.try_clone().unwrap());
        let mut follow = self.step("follow", pod, role);
        follow.args(["--interval", "200ms"]).stdout(Stdio::null()).stderr(log);
        let children = [serve, follow].map(|mut command| command.spawn().unwrap());
        self.running.push(Running { pod, children });
    }

    /// Stops a pod: both containers are told at once.
    fn stop(&mut self, pod: usize) {
        let at = self.running.iter().position(|running| running.pod == pod).unwrap();
        self.running.remove(at).end();
    }

    fn scale(&self, replicas: usize) {
        let replicas = format!("--replicas={replicas}");
        self.kubectl.run(&["scale", "statefulset/quorate", &replicas, "--namespace", NAMESPACE]);
    }

    /// Waits until the members have these roles, as the first pod sees them.
    async fn have(&self, roles: &[&str]) {
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

    /// The number of a pod's node.
    fn node(&self, pod: usize) -> u64 {
        let text = std::fs::read_to_string(self.folder(pod).join("node.json")).unwrap();
        let config: Value = serde_json::from_str(&text).unwrap();
        config["node"].as_u64().unwrap()
    }
}

impl Running {
    fn end(mut self) {
        for child in &self.children {
            let id = child.id().to_string();
            Command::new("kill").arg(id).stderr(Stdio::null()).status().unwrap();
        }
        for child in &mut self.children {
            child.wait().unwrap();
        }
    }
}

impl Drop for Pods {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for pod in 0..4 {
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
fn success(output: &Output) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[track_caller]
fn failure(output: &Output) -> String {
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8_lossy(&output.stderr).trim_end().to_owned()
}
