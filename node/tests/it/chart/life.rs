//! The life of the pods: restarts, lost volumes and machines, scaling, probes and certificates.

use std::fs;

use serde_json::Value;

use super::pods::{Pods, failure, success};
use super::workspace;
use crate::support::{Cluster, Helm, eventually, quorate};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pods_grow_and_shrink_a_cluster_in_order() {
    let Some(mut pods) = Pods::with_voters(3).await else { return };
    // A restart of a pod keeps its node.
    let identity = pods.node(2);
    pods.stop(2);
    success(&pods.leave(2));
    pods.comes(2, "voter");
    assert_eq!(pods.node(2), identity);

    pods.scale(5);
    pods.comes(3, "voter");
    pods.comes(4, "voter");
    pods.have(&["leader", "voter", "voter", "voter", "voter"]).await;

    // All at once, as a StatefulSet of this kind does.
    pods.shrink(3, &[3, 4]);
    pods.have(&["leader", "voter", "voter"]).await;
    pods.shrink(1, &[1, 2]);
    pods.have(&["leader"]).await;
    // The last one stays, whatever the set is scaled to.
    success(&pods.leave(0));
    pods.scale(0);
    success(&pods.leave(0));
    pods.have(&["leader"]).await;

    // Up again, on what was left behind: under a new number.
    pods.scale(3);
    pods.comes(1, "voter");
    pods.have(&["leader", "voter"]).await;
    assert!(pods.node(1) > 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_volumes_and_machines_are_replaced() {
    let Some(mut pods) = Pods::with_voters(3).await else { return };
    // A voter loses its disk, the founder too: none founds again, and no place is given away.
    for pod in [1, 0] {
        let lost = pods.node(pod).to_string();
        pods.stop(pod);
        pods.lose(pod);
        let told = failure(&pods.setup(pod, "voter", "2s"));
        assert!(told.contains("remove it first"), "{told}");
        Cluster::run(&["member", "remove", &lost], &pods.folder(2));
        pods.comes(pod, "voter");
        pods.have(&["leader", "voter", "voter"]).await;
    }

    // The registration is lost besides: the leader registers the cluster again.
    pods.delete_registration();
    let own = pods.config(0)["cluster"].clone();
    eventually("the cluster is registered again", async || {
        pods.registered().filter(|(state, cluster)| state == "founded" && own == **cluster)
    })
    .await;

    // An API node leaves with its pod.
    pods.comes(3, "api");
    pods.have(&["leader", "learner", "voter", "voter"]).await;
    pods.stop(3);
    pods.have(&["leader", "voter", "voter"]).await;

    // One whose machine is lost cannot; the next pod of its address takes its place.
    pods.comes(4, "api");
    pods.have(&["leader", "learner", "voter", "voter"]).await;
    let lost = pods.node(4);
    pods.kill(4);
    pods.lose(4);
    pods.comes(4, "api");
    assert_eq!(pods.node(4), lost);
    pods.have(&["leader", "learner", "voter", "voter"]).await;
    pods.is_ready(4).await;
    pods.stop(4);
    pods.have(&["leader", "voter", "voter"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_leader_removes_api_nodes_whose_pods_are_gone() {
    let Some(mut pods) = Pods::new() else { return };
    // As the chart says it: one Service leads to all.
    let service = ["--wait", "1m", "--objection-time", "0s", "--advertise", "quorate.pods.svc:443"];
    let set_up = |pods: &Pods, pod, role| {
        success(&pods.begin_setup_with(pod, role, &service).wait_with_output().unwrap());
    };
    set_up(&pods, 0, "voter");
    let labels = "app.kubernetes.io/component=api";
    pods.start_with(0, "voter", &["--api-pods", labels, "--forget-after", "0s"]);
    pods.have(&["leader"]).await;
    // The pod as the host knows it: all have the address of this machine.
    let pod = r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "api", "labels": {"app.kubernetes.io/component": "api"}},
        "spec": {"automountServiceAccountToken": false, "containers": [{"name": "quorate", "image": "quorate"}]}}"#;
    let file = pods.host.spare("pod.json");
    fs::write(&file, pod).unwrap();
    let namespace = ["--namespace", "pods"];
    pods.kubectl.run(&[&["create", "--filename", file.to_str().unwrap()][..], &namespace].concat());
    let status = r#"{"status": {"podIP": "127.0.0.1", "podIPs": [{"ip": "127.0.0.1"}]}}"#;
    let patch = ["patch", "pod", "api", "--subresource=status", "--type=merge", "--patch", status];
    pods.kubectl.run(&[&patch[..], &namespace].concat());

    set_up(&pods, 3, "api");
    pods.start(3, "api");
    pods.have(&["leader", "learner"]).await;
    // The leader looks all the time, and the host has the pod.
    pods.is_ready(3).await;
    pods.have(&["leader", "learner"]).await;
    pods.kill(3);
    pods.kubectl.run(&[&["delete", "pod", "api", "--force"][..], &namespace].concat());
    pods.have(&["leader"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn probes_kill_no_node_for_a_lost_quorum() {
    let Some(mut pods) = Pods::with_voters(3).await else { return };
    let probes = Probes::find(&pods);
    eventually("it is ready", async || probes.ready(&pods).await.then_some(())).await;
    assert!(probes.alive(&pods).await);
    pods.stop(1);
    pods.stop(2);
    eventually("it is not ready", async || (!probes.ready(&pods).await).then_some(())).await;
    for _ in 0..3 {
        assert!(probes.alive(&pods).await, "without a quorum");
    }
    pods.comes(1, "voter");
    eventually("it is ready again", async || probes.ready(&pods).await.then_some(())).await;
    // Without credentials, the health may be asked for and nothing else.
    pods.anonymous(0).get("/api/v1/namespaces").await.expect(403);
}

/// The probes of the chart, of both modes: the paths and the command lines.
struct Probes {
    alive: (String, Vec<String>),
    ready: (String, Vec<String>),
}

impl Probes {
    fn find(pods: &Pods) -> Self {
        let helm = Helm::find(&pods.host.root()).unwrap();
        let chart = workspace().join("deploy/helm/quorate");
        let voter = |mode: &str| {
            let mode = format!("probes.mode={mode}");
            let show = ["--show-only", "templates/voters.yaml", "--set", &mode];
            let template = ["template", "q", chart.to_str().unwrap()];
            let text = helm.run(&[&template[..], &show].concat());
            let set: Value = serde_saphyr::from_str(&text).unwrap();
            set["spec"]["template"]["spec"]["containers"][0].clone()
        };
        let (https, exec) = (voter("https"), voter("exec"));
        let of = |probe: &str| {
            let path = https[probe]["httpGet"]["path"].as_str().unwrap().to_owned();
            let command = exec[probe]["exec"]["command"].as_array().unwrap();
            let words = command[1..].iter().map(|word| word.as_str().unwrap());
            let words = words.filter(|word| !word.starts_with("--data-dir="));
            (path, words.map(str::to_owned).collect())
        };
        assert_eq!(of("startupProbe"), of("livenessProbe"));
        Self { alive: of("livenessProbe"), ready: of("readinessProbe") }
    }

    async fn alive(&self, pods: &Pods) -> bool {
        Self::pass(&self.alive, pods).await
    }

    async fn ready(&self, pods: &Pods) -> bool {
        Self::pass(&self.ready, pods).await
    }

    /// Whether both modes say so of the first pod.
    async fn pass((path, words): &(String, Vec<String>), pods: &Pods) -> bool {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let command = quorate(&words).arg("--data-dir").arg(pods.folder(0)).output().unwrap();
        pods.anonymous(0).get(path).await.status == 200 && command.status.success()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_of_a_secret_is_served_and_follows_it() {
    let Some(mut pods) = Pods::new() else { return };
    // What a Secret is mounted as.
    let mounted = pods.host.spare("tls");
    fs::create_dir(&mounted).unwrap();
    let put = |certificate: &str, key: &str| {
        fs::write(mounted.join("tls.crt"), certificate).unwrap();
        fs::write(mounted.join("tls.key"), key).unwrap();
    };
    let [(first, first_key), (second, second_key)] = ["a", "b"].map(|_| {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        (made.cert.pem(), made.signing_key.serialize_pem())
    });
    put(&first, &first_key);
    let folder = mounted.to_str().unwrap().to_owned();
    let option = ["--server-certificate", folder.as_str()];
    let options = [&["--wait", "1m", "--objection-time", "0s"][..], &option].concat();
    success(&pods.begin_setup_with(0, "voter", &options).wait_with_output().unwrap());
    let served = pods.folder(0).join("pki/server.crt");
    let is_served = |expect: &str| fs::read_to_string(&served).unwrap() == expect;
    assert!(is_served(&first));
    pods.start_with(0, "voter", &option);
    pods.have(&["leader"]).await;

    // Seen half: the old one stays.
    put(&second, &first_key);
    let told = pods.folder(0).with_extension("log");
    eventually("the half is refused", async || {
        let log = fs::read_to_string(&told).unwrap();
        log.contains("the key does not belong to the certificate").then_some(())
    })
    .await;
    assert!(is_served(&first));
    put(&second, &second_key);
    eventually("the new one is taken over", async || is_served(&second).then_some(())).await;
}
