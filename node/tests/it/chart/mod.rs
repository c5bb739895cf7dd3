//! The chart of `deploy/helm/quorate`: rendered for a matrix of values, held against the schemas of the
//! release, and applied to a cluster of our own; and the steps that its pods carry out.

mod commands;
mod founding;
mod life;
mod pods;
mod rows;
mod values;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Cluster, Helm, Kubectl};

/// Where `.ci/tools` puts Python, below the workspace.
const PYTHON: &str = "target/tools/python/bin/python";
/// The whole definitions of other projects' kinds, where they are at hand, beside the workspace.
const REAL: &str = "../shared/real/crds/prometheus-operator";
const REAL_DEFINITIONS: [&str; 2] = ["servicemonitors", "prometheusrules"];

/// Values under which all of the templates' choices are made, each with several of the others.
const MATRIX: &[(&str, &[&str])] = &[
    ("default", &[]),
    (
        "one",
        &[
            "voters.replicas=1",
            "naming=kubernetes",
            "probes.mode=exec",
            "networkPolicy.enabled=false",
            "archive.enabled=false",
        ],
    ),
    (
        "five",
        &["voters.replicas=5", "voters.antiAffinity=soft", "podDisruptionBudget.enabled=false"],
    ),
    ("api", &["api.enabled=true", "service.apiNodesOnly=true", "service.type=LoadBalancer"]),
    (
        "hpa",
        &[
            "api.enabled=true",
            "api.autoscaling.enabled=true",
            "naming=kubernetes",
            "voters.antiAffinity=none",
            "voters.topologyKeys=null",
        ],
    ),
    (
        "cert-manager",
        &[
            "certificates.mode=certManager",
            "certificates.certManager.issuerRef.name=ca",
            "certificates.certManager.extraDnsNames={api.example.com}",
            "certificates.certManager.extraIpAddresses={10.0.0.1}",
            "api.enabled=true",
        ],
    ),
    (
        "secret",
        &["certificates.mode=secret", "certificates.secretName=serving", "voters.replicas=1"],
    ),
    (
        "monitoring",
        &[
            "monitoring.serviceMonitor.enabled=true",
            "monitoring.serviceMonitor.credentialsSecret=m",
            "monitoring.prometheusRule.enabled=true",
            "monitoring.dashboards.enabled=true",
        ],
    ),
    (
        "backup",
        &[
            "backup.enabled=true",
            "backup.to=s3://bucket/cluster",
            "backup.keySecret.name=key",
            "backup.credentialsSecret=s3",
            "backup.withCredentials=true",
            "archive.retention=30d",
            "archive.size=10GiB",
            "naming=kubernetes",
        ],
    ),
    (
        "everything",
        &[
            "voters.replicas=5",
            "api.enabled=true",
            "api.autoscaling.enabled=true",
            "certificates.mode=certManager",
            "certificates.certManager.issuerRef.name=ca",
            "monitoring.serviceMonitor.enabled=true",
            "monitoring.serviceMonitor.credentialsSecret=m",
            "monitoring.prometheusRule.enabled=true",
            "monitoring.dashboards.enabled=true",
            "backup.enabled=true",
            "backup.to=file:///backup",
            "backup.keySecret.name=key",
            "otlp.endpoint=https://collector:4317",
            "otlp.protocol=grpc",
            "otlp.samplingRatePerMillion=1000",
            "otlp.authoritySecret=ca",
            "otlp.headersSecret=headers",
            "otlp.resourceAttributes.env=prod",
            "service.apiNodesOnly=true",
            "extraArgs={--max-watches=9}",
            "extraEnv[0].name=A",
            "extraEnv[0].value=b",
            "voters.storage.className=fast",
            "voters.priorityClassName=high",
            "voters.podLabels.team=x",
            "voters.nodeSelector.disk=fast",
            "imagePullSecrets[0].name=pull",
        ],
    ),
];

/// Values that the schema refuses, and what it says of them.
const REFUSED: &[(&str, &str)] = &[
    ("voters.replicas=2", "replicas"),
    ("voters.replicas=7", "replicas"),
    ("naming=other", "naming"),
    ("naem=svc", "naem"),
    ("voters.storage.size=lots", "size"),
    ("certificates.mode=secret", "secretName"),
    ("certificates.mode=vault", "mode"),
    ("backup.enabled=true", "to"),
    ("backup.enabled=true,backup.to=s3://b", "name"),
    ("backup.to=ftp://host/x", "to"),
    ("api.autoscaling.targetCPUUtilizationPercentage=0", "targetCPUUtilizationPercentage"),
    ("service.port=0", "port"),
    ("image.digest=sha256:12", "digest"),
    ("store.sizeLimit=8GB", "sizeLimit"),
    ("store.sizeLmit=8GiB", "sizeLmit"),
    ("archive.size=lots", "size"),
    ("archive.retention=", "retention"),
    ("archive.enabled=often", "enabled"),
    ("otlp.endpoint=collector:4317", "endpoint"),
    ("otlp.protocol=http/json", "protocol"),
    ("otlp.samplingRatePerMillion=1000001", "samplingRatePerMillion"),
    ("otlp.resourceAttributes.a=b=c", "resourceAttributes"),
    ("certificates.mode=certManager", "name"),
    ("monitoring.serviceMonitor.enabled=true", "credentialsSecret"),
    ("probes.liveness.sucessThreshold=1", "sucessThreshold"),
    ("shutdownDelay=soon", "shutdownDelay"),
    ("probes.mode=tcp", "mode"),
    ("extraArgs={serve}", "extraArgs"),
];

#[test]
fn the_chart_is_accepted_with_each_of_its_values() {
    let cluster = Cluster::start(1, &["--naming", "kubernetes"]);
    let root = cluster.root();
    let (Some(helm), Some(kubectl)) = (Helm::find(&root), Kubectl::find(&root)) else {
        return;
    };
    define_others_kinds(&kubectl);
    let chart = workspace().join("deploy/helm/quorate");
    let chart = chart.to_str().unwrap();
    helm.run(&["lint", "--strict", chart]);
    for (name, values) in MATRIX {
        let (values, namespace) = (values.join(","), format!("chart-{name}"));
        let text = helm.run(&["template", "q", chart, "--namespace", &namespace, "--set", &values]);
        let file = cluster.spare(name);
        fs::write(&file, &text).unwrap();
        let file = file.to_str().unwrap();
        check_schemas(name, file);
        kubectl.run(&["create", "namespace", &namespace]);
        let apply = ["apply", "--validate=strict", "--filename", file];
        kubectl.run(&[&apply[..], &["--dry-run=server"]].concat());
        let told = kubectl.run(&apply);
        assert_eq!(told.lines().count(), text.matches("\nkind: ").count(), "{name}: {told}");
    }
    let above = "api.enabled=true,api.autoscaling.enabled=true,api.autoscaling.minReplicas=11";
    let told = helm.fail(&["template", "q", chart, "--set", above]);
    assert!(told.contains("minReplicas is above maxReplicas"), "{told}");
    for (values, expect) in REFUSED {
        let told = helm.fail(&["template", "q", chart, "--set", values]);
        assert!(told.contains(expect) && told.contains("schema"), "{values}: {told}");
    }
    scales(&helm, &kubectl, chart);
}

/// A release is installed, scaled by upgrades, and taken away; what its pods have made stays.
fn scales(helm: &Helm, kubectl: &Kubectl, chart: &str) {
    let replicas = || {
        let get = ["get", "statefulset", "quorate", "-o", "jsonpath={.spec.replicas}"];
        kubectl.run(&[&get[..], &["--namespace", "quorate"]].concat())
    };
    let place = ["quorate", chart, "--namespace", "quorate"];
    let told = helm.run(&[&["install"][..], &place, &["--create-namespace"]].concat());
    assert!(told.contains("port-forward service/quorate 6443:443"), "{told}");
    assert_eq!(replicas(), "3");
    let template = ["get", "statefulset", "quorate", "-o", "jsonpath={.spec.template}"];
    let template = || kubectl.run(&[&template[..], &["--namespace", "quorate"]].concat());
    let before = template();
    for (set, expect) in [("voters.replicas=5", "5"), ("voters.replicas=1", "1")] {
        helm.run(&[&["upgrade"][..], &place, &["--set", set]].concat());
        assert_eq!(replicas(), expect);
        // Or each voter would be started again.
        assert_eq!(template(), before);
    }
    // The volumes of a set stay as they are, whatever the limits become; a new set gets what they ask for.
    let volume = || {
        let size = "jsonpath={.spec.volumeClaimTemplates[0].spec.resources.requests.storage}";
        kubectl.run(&["get", "statefulset", "quorate", "-o", size, "--namespace", "quorate"])
    };
    assert_eq!(volume(), "22Gi");
    let told = helm.run(&[&["upgrade"][..], &place, &["--set", "archive.size=100GiB"]].concat());
    assert!(
        told.contains("have 22Gi; store, history and archive may take 112Gi.\nWARNING"),
        "{told}"
    );
    assert_eq!(volume(), "22Gi");
    // The set is made again around its pods and volumes.
    let orphan = ["delete", "statefulset", "quorate", "--cascade=orphan", "--namespace", "quorate"];
    kubectl.run(&orphan);
    let sizes = ["--set", "archive.size=100GiB", "--set", "voters.storage.size=112Gi"];
    helm.run(&[&["upgrade"][..], &place, &["--reuse-values"], &sizes].concat());
    assert_eq!(volume(), "112Gi");
    kubectl.run(&orphan);
    helm.run(&["rollback", "quorate", "1", "--namespace", "quorate"]);
    assert_eq!(volume(), "22Gi");
    assert_eq!(replicas(), "3");
    helm.run(&["uninstall", "quorate", "--namespace", "quorate"]);
    let left =
        kubectl.run(&["get", "statefulsets,services", "--namespace", "quorate", "-o", "name"]);
    assert_eq!(left, "");
}

/// Serves the kinds of other projects: by their own definitions where those are at hand.
fn define_others_kinds(kubectl: &Kubectl) {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/chart/definitions.yaml");
    kubectl.run(&["apply", "--server-side", "--filename", own.to_str().unwrap()]);
    for plural in REAL_DEFINITIONS {
        let file = workspace().join(REAL).join(format!("{plural}.monitoring.coreos.com.yaml"));
        if file.exists() {
            let force = ["apply", "--server-side", "--force-conflicts", "--filename"];
            kubectl.run(&[&force[..], &[file.to_str().unwrap()]].concat());
        }
    }
    let established = ["wait", "--for=condition=Established", "--all", "crd", "--timeout=30s"];
    kubectl.run(&established);
}

/// Holds the objects of a file against the strict schemas of the release.
fn check_schemas(name: &str, file: &str) {
    let python = workspace().join(PYTHON);
    if !python.exists() {
        return crate::support::skip(&format!("no {PYTHON}; run .ci/tools"));
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/chart/validate.py");
    let output =
        Command::new(python).arg(script).stdin(fs::File::open(file).unwrap()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {told}{errors}");
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}
