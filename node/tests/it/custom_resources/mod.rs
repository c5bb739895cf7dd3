//! Custom resources through clients that people use: kubectl, helm, and operators made of kopf
//! and of kube-rs.

mod helm;
mod kopf;
mod kube_rs;
mod kubectl;
mod operators;

use crate::support::Kubectl;

/// The folder of the manifests.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/custom_resources");
/// The definition of Workshops, in the names of Kubernetes.
const DEFINITION: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/custom_resources/definition.yaml");
/// The name of the definition.
const NAME: &str = "workshops.craft.example.com";
/// The Workshops of the namespace `default`.
const WORKSHOPS: &str = "/apis/craft.example.com/v1/namespaces/default/workshops";

/// Makes the definition and waits until its resource is served.
fn define(kubectl: &Kubectl) {
    kubectl.run(&["apply", "-f", DEFINITION]);
    established(kubectl);
}

fn established(kubectl: &Kubectl) {
    let object = format!("crd/{NAME}");
    kubectl.run(&["wait", "--for=condition=Established", "--timeout=30s", &object]);
}
