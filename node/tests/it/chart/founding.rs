//! Of all pods that may take themselves for the first one, one founds, once: whatever is restarted, cut off
//! or lost meanwhile, there are never two clusters.

use serde_json::Value;

use super::pods::{Pods, RIVAL, failure, success};
use crate::support::{Cluster, eventually};

const OTHERS_SERVE: &str = "quorate: a member answers, and will register the cluster again";

fn cluster(pods: &Pods, pod: usize) -> Value {
    pods.config(pod)["cluster"].clone()
}

/// The cluster that is registered.
fn founded(pods: &Pods) -> String {
    let (state, cluster) = pods.registered().expect("a registration");
    assert_eq!(state, "founded");
    cluster
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_rivals_at_the_founding_one_founds() {
    let Some(pods) = Pods::new() else { return };
    // Whichever comes first: only pod 0 founds.
    let early = pods.setup(1, "voter", "0s");
    assert_eq!(failure(&early), "quorate: the cluster is not founded yet");
    assert_eq!(pods.registered(), None);

    // Two that take themselves for pod 0, each with a volume.
    let both = [0, RIVAL].map(|pod| pods.begin_setup(pod, "voter", "0s"));
    let ended = both.map(|step| step.wait_with_output().unwrap().status.success());
    assert_eq!(ended.iter().filter(|founded| **founded).count(), 1);
    let winner = if ended[0] { 0 } else { RIVAL };
    assert_eq!(cluster(&pods, winner), founded(&pods));
    // The other one's was never served; it will join.
    let told = failure(&pods.setup(RIVAL - winner, "voter", "0s"));
    assert_eq!(told, "quorate: the leader has not made a join token yet");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_founding_that_was_interrupted_is_begun_again() {
    let Some(pods) = Pods::new() else { return };
    // Killed after the claim.
    let slow = ["--wait", "0s", "--objection-time", "1h"];
    let mut killed = pods.begin_setup_with(0, "voter", &slow);
    let claimed = || pods.registered().is_some_and(|(state, _)| state == "founding");
    eventually("a claim", async || claimed().then_some(())).await;
    killed.kill().unwrap();
    killed.wait().unwrap();
    // Killed after the folder was made, before it was registered.
    pods.half_found(0);
    let unregistered = cluster(&pods, 0);
    assert!(claimed());
    success(&pods.setup(0, "voter", "0s"));
    assert_ne!(cluster(&pods, 0), unregistered);
    assert_eq!(cluster(&pods, 0), founded(&pods));

    // Killed after it was registered, before it knew: nothing is lost.
    let before = cluster(&pods, 0);
    success(&pods.setup(0, "voter", "0s"));
    assert_eq!(cluster(&pods, 0), before);

    // One that was cut off after its claim, while another pod 0 has founded.
    pods.half_found(RIVAL);
    let told = failure(&pods.setup(RIVAL, "voter", "0s"));
    assert_eq!(told, "quorate: the leader has not made a join token yet");
    assert_eq!(founded(&pods), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_is_never_founded_beside_one_that_was() {
    let Some(mut pods) = Pods::with_voters(3).await else { return };
    let own = cluster(&pods, 0);
    assert_eq!(founded(&pods), own);

    // A founding of before that was never registered gives way; its place is taken.
    pods.half_found(RIVAL);
    let told = failure(&pods.setup(RIVAL, "voter", "0s"));
    assert!(told.contains("remove it first"), "{told}");
    assert!(!pods.is_set_up(RIVAL));

    // The registration is lost, and no leader registers the cluster again: a member answers.
    for pod in 0..3 {
        pods.stop_following(pod);
    }
    pods.delete_registration();
    for begun in [false, true] {
        if begun {
            pods.half_found(RIVAL);
        }
        assert_eq!(failure(&pods.setup(RIVAL, "voter", "0s")), OTHERS_SERVE);
        assert_eq!(pods.registered(), None);
    }

    // No member answers either: the host knows that voters are ready.
    for pod in 0..3 {
        pods.stop(pod);
    }
    pods.are_ready(2);
    assert_eq!(failure(&pods.setup(RIVAL, "voter", "0s")), OTHERS_SERVE);
    pods.are_ready(0);

    // It claims the founding; a voter that starts again registers its cluster in the place of the claim.
    let slow = ["--wait", "0s", "--objection-time", "20s"];
    let rival = pods.begin_setup_with(RIVAL, "voter", &slow);
    eventually("a claim", async || pods.registered()).await;
    success(&pods.setup(1, "voter", "0s"));
    assert_eq!(founded(&pods), own);
    let told = failure(&rival.wait_with_output().unwrap());
    assert_eq!(told, "quorate: another pod has changed the registration");
    let told = failure(&pods.setup(RIVAL, "voter", "0s"));
    assert_eq!(told, "quorate: the leader has not made a join token yet");

    // All start again, with what they had, and others can join.
    for pod in 0..3 {
        pods.comes(pod, "voter");
    }
    pods.have(&["leader", "voter", "voter"]).await;
    assert_eq!(founded(&pods), own);
    pods.comes(3, "voter");
    pods.have(&["leader", "voter", "voter", "voter"]).await;
    assert_eq!(cluster(&pods, 3), own);

    // A volume of another cluster is never served.
    pods.stop(3);
    pods.lose(3);
    let other = Cluster::start(1, &[]);
    let copied = std::process::Command::new("cp")
        .args(["--recursive".as_ref(), other.node(1).as_os_str(), pods.folder(3).as_os_str()])
        .status();
    assert!(copied.unwrap().success());
    let told = failure(&pods.setup(3, "voter", "1m"));
    assert!(told.contains("only one of them can be right"), "{told}");
}
