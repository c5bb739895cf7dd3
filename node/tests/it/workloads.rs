//! Workloads through kubectl: created, changed, scaled and shown, with their related objects.
//!
//! Nothing runs them: no controller makes pods here. In the names of Kubernetes, which the client
//! hard-codes for some kinds.

use crate::support::{Cluster, Kubectl};

const NAMESPACE: [&str; 2] = ["-n", "work"];

struct Work {
    kubectl: Kubectl,
    _cluster: Cluster,
}

impl Work {
    fn start() -> Option<Self> {
        let cluster = Cluster::start(1, &["--naming", "kubernetes"]);
        let kubectl = Kubectl::find(&cluster.root())?;
        kubectl.run(&["create", "namespace", "work"]);
        Some(Self { kubectl, _cluster: cluster })
    }

    fn run(&self, arguments: &[&str]) -> String {
        self.kubectl.run(&[arguments, &NAMESPACE].concat())
    }

    /// One field of one object.
    fn field(&self, object: &str, path: &str) -> String {
        self.run(&["get", object, "-o", &format!("jsonpath={{{path}}}")])
    }
}

#[test]
fn workloads_are_made_scaled_and_shown() {
    let Some(work) = Work::start() else { return };
    deployments(&work);
    autoscaling(&work);
    batch(&work);
    budgets_and_quotas(&work);
    pods(&work);
}

fn deployments(work: &Work) {
    work.run(&["create", "deployment", "web", "--image=registry.example/web:1", "--replicas=2"]);
    assert_eq!(work.field("deployment/web", ".spec.strategy.rollingUpdate.maxSurge"), "25%");
    work.run(&["scale", "deployment/web", "--replicas=5"]);
    assert_eq!(work.field("deployment/web", ".spec.replicas"), "5");
    let refused = work.kubectl.fail(&[
        "scale",
        "deployment/web",
        "--current-replicas=1",
        "--replicas=2",
        "-n",
        "work",
    ]);
    assert!(refused.contains("Expected replicas to be 1, was 5"), "{refused}");
    work.run(&["set", "image", "deployment/web", "web=registry.example/web"]);
    assert_eq!(
        work.field("deployment/web", ".spec.template.spec.containers[0].image"),
        "registry.example/web"
    );
    work.run(&["set", "resources", "deployment/web", "--limits=cpu=0.5,memory=1024Mi"]);
    let limits = work.field("deployment/web", ".spec.template.spec.containers[0].resources.limits");
    assert_eq!(limits, r#"{"cpu":"500m","memory":"1Gi"}"#);
    assert_eq!(work.field("deployment/web", ".metadata.generation"), "4");
    let table = work.run(&["get", "deployments", "-o", "wide"]);
    for text in ["UP-TO-DATE", "0/5", "registry.example/web", "app=web"] {
        assert!(table.contains(text), "{text}: {table}");
    }
    let patch = r#"{"spec":{"selector":{"matchLabels":{"app":"other"}}}}"#;
    let refused = work.kubectl.fail(&["patch", "deployment", "web", "-p", patch, "-n", "work"]);
    assert!(refused.contains("field is immutable"), "{refused}");
}

fn autoscaling(work: &Work) {
    work.run(&["autoscale", "deployment", "web", "--min=2", "--max=9", "--cpu-percent=70"]);
    let old = work.run(&[
        "get",
        "horizontalpodautoscalers.v1.autoscaling",
        "web",
        "-o",
        "jsonpath={.spec.targetCPUUtilizationPercentage}",
    ]);
    assert_eq!(old, "70");
    assert_eq!(work.field("hpa/web", ".spec.metrics[0].resource.target.averageUtilization"), "70");
    let table = work.run(&["get", "hpa"]);
    assert!(table.contains("Deployment/web") && table.contains("cpu: <unknown>/70%"), "{table}");
}

fn batch(work: &Work) {
    work.run(&[
        "create",
        "cronjob",
        "nightly",
        "--image=registry.example/tool:1",
        "--schedule=0 3 * * *",
    ]);
    work.run(&["create", "job", "now", "--from=cronjob/nightly"]);
    work.run(&["create", "job", "once", "--image=registry.example/tool:1"]);
    let (uid, chosen) = (
        work.field("job/once", ".metadata.uid"),
        work.field("job/once", ".spec.selector.matchLabels.batch\\.kubernetes\\.io/controller-uid"),
    );
    assert_eq!(uid, chosen);
    let table = work.run(&["get", "jobs,cronjobs", "-o", "wide"]);
    for text in
        ["job.batch/now", "job.batch/once", "Running", "0/1", "cronjob.batch/nightly", "0 3 * * *"]
    {
        assert!(table.contains(text), "{text}: {table}");
    }
    let refused = work.kubectl.fail(&[
        "create",
        "cronjob",
        "odd",
        "--image=x",
        "--schedule=sometimes",
        "-n",
        "work",
    ]);
    assert!(refused.contains("spec.schedule"), "{refused}");
}

fn budgets_and_quotas(work: &Work) {
    work.run(&["create", "pdb", "careful", "--selector=app=web", "--min-available=50%"]);
    work.run(&["create", "quota", "small", "--hard=pods=10,limits.memory=2048Mi"]);
    work.run(&["create", "priorityclass", "urgent", "--value=1000"]);
    let table = work.run(&["get", "pdb,quota"]);
    assert!(table.contains("careful") && table.contains("50%") && table.contains("N/A"), "{table}");
    assert_eq!(work.field("quota/small", ".spec.hard.limits\\.memory"), "2Gi");
    let classes = work.kubectl.run(&["get", "priorityclasses"]);
    assert!(classes.contains("urgent") && classes.contains("PreemptLowerPriority"), "{classes}");
}

fn pods(work: &Work) {
    let alone =
        ["run", "alone", "--image=registry.example/web:1", "--port=80", "--labels=app=alone"];
    // The quota counts memory, so pods have to say how much they need.
    let refused = work.kubectl.fail(&[&alone[..], &NAMESPACE].concat());
    assert!(
        refused.contains("failed quota: small: must specify limits.memory for: alone"),
        "{refused}"
    );
    work.run(&["delete", "quota", "small"]);
    work.run(&alone);
    assert_eq!(work.field("pod/alone", ".status.qosClass"), "BestEffort");
    let table = work.run(&["get", "pods", "-o", "wide"]);
    for text in ["alone", "0/1", "Pending", "<none>"] {
        assert!(table.contains(text), "{text}: {table}");
    }
    let selected = work.run(&[
        "get",
        "pods",
        "--field-selector=status.phase=Pending,spec.nodeName=",
        "-o",
        "name",
    ]);
    assert_eq!(selected, "pod/alone\n");
    work.run(&["delete", "pod", "alone", "--timeout=30s"]);
    let gone = work.kubectl.fail(&["get", "pod", "alone", "-n", "work"]);
    assert!(gone.contains("not found"), "{gone}");
}
