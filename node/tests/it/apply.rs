//! kubectl apply, server-side and client-side, and every other kind of change to applied objects.

use std::path::{Path, PathBuf};

use crate::support::{Cluster, Kubectl};

const SHOP: [&str; 2] = ["-n", "shop"];

/// A Deployment; `labels` is what an owner of labels adds.
fn deployment(image: &str, replicas: Option<u32>, labels: &str) -> String {
    let replicas = replicas.map(|replicas| format!("  replicas: {replicas}\n")).unwrap_or_default();
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  namespace: shop\n  labels: {{app: web{labels}}}\nspec:\n{replicas}  selector: {{matchLabels: {{app: web}}}}\n  template:\n    metadata: {{labels: {{app: web}}}}\n    spec:\n      containers:\n      - {{name: main, image: \"{image}\"}}\n"
    )
}

struct Shop {
    kubectl: Kubectl,
    manifest: PathBuf,
}

impl Shop {
    /// A manifest on disk.
    fn write(&self, text: &str) -> &str {
        std::fs::write(&self.manifest, text).unwrap();
        self.manifest.to_str().unwrap()
    }

    #[track_caller]
    fn run(&self, arguments: &[&str]) -> String {
        self.kubectl.run(&[arguments, &SHOP].concat())
    }

    #[track_caller]
    fn fail(&self, arguments: &[&str]) -> String {
        self.kubectl.fail(&[arguments, &SHOP].concat())
    }

    /// What a JSON path finds in the Deployment.
    #[track_caller]
    fn has(&self, path: &str, expect: &str) {
        let found = self.run(&["get", "deployment", "web", "-o", &format!("jsonpath={{{path}}}")]);
        assert_eq!(found, expect, "{path}");
    }
}

fn shop(cluster: &Cluster) -> Option<Shop> {
    let kubectl = Kubectl::find(&cluster.root())?;
    kubectl.run(&["create", "namespace", "shop"]);
    Some(Shop { kubectl, manifest: Path::new(&cluster.root()).join("manifest.yaml") })
}

fn drive(naming: &str) {
    let cluster = Cluster::start(1, &["--naming", naming]);
    let Some(shop) = shop(&cluster) else { return };
    on_the_server_side(&shop);
    conflicts(&shop);
    in_other_ways(&shop);
    from_the_client_side_and_back(&shop);
}

#[test]
fn in_the_names_of_the_documents() {
    drive("svc");
}

#[test]
fn in_the_names_of_kubernetes() {
    drive("kubernetes");
}

fn on_the_server_side(shop: &Shop) {
    let file = shop.write(&deployment("web:1", Some(2), ""));
    let applied = shop.run(&["apply", "--server-side", "-f", file]);
    assert_eq!(applied, "deployment.apps/web serverside-applied\n");
    shop.has(".metadata.managedFields[*].manager", "kubectl");
    let version =
        shop.run(&["get", "deployment", "web", "-o", "jsonpath={.metadata.resourceVersion}"]);
    shop.run(&["apply", "--server-side", "-f", file]);
    shop.has(".metadata.resourceVersion", &version);
    let same = shop.run(&["diff", "--server-side", "-f", file]);
    assert_eq!(same, "");
    let file = shop.write(&deployment("web:2", Some(2), ""));
    let difference = shop.fail(&["diff", "--server-side", "-f", file]);
    assert!(
        difference.contains("image: web:1") && difference.contains("image: web:2"),
        "{difference}"
    );
    shop.run(&["apply", "--server-side", "--dry-run=server", "-f", file]);
    shop.has(".spec.template.spec.containers[0].image", "web:1");
    shop.run(&["apply", "--server-side", "-f", file]);
    shop.has(".spec.template.spec.containers[0].image", "web:2");
}

fn conflicts(shop: &Shop) {
    let file = shop.write(&deployment("web:3", Some(2), ""));
    let other = ["apply", "--server-side", "--field-manager=other", "-f", file];
    let refused = shop.fail(&other);
    assert!(
        refused.contains(
            "conflict with \"kubectl\": .spec.template.spec.containers[name=\"main\"].image"
        ),
        "{refused}"
    );
    shop.run(&[&other[..], &["--force-conflicts"]].concat());
    shop.has(".spec.template.spec.containers[0].image", "web:3");
    // A manager that gives up a field of another manager leaves it there; the only manager of a
    // field takes it along.
    let file = shop.write(&deployment("web:3", None, ""));
    shop.run(&["apply", "--server-side", "-f", file]);
    shop.has(".spec.replicas", "2");
    shop.run(&["apply", "--server-side", "--field-manager=other", "-f", file]);
    shop.has(".spec.replicas", "1");
}

fn in_other_ways(shop: &Shop) {
    shop.run(&["label", "deployment", "web", "tier=front"]);
    shop.run(&["annotate", "deployment", "web", "example.com/note=seen"]);
    shop.run(&["set", "image", "deployment/web", "main=web:4"]);
    shop.has(".spec.template.spec.containers[0].image", "web:4");
    let patch =
        r#"{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"side:1"}]}}}}"#;
    shop.run(&["patch", "deployment", "web", "--type=strategic", "-p", patch]);
    shop.has(".spec.template.spec.containers[*].name", "side main");
    let mut edit = shop.kubectl.command(&["edit", "deployment", "web", "-n", "shop"]);
    let edited = edit.env("KUBE_EDITOR", "sed -i s/side:1/side:2/").output().unwrap();
    assert!(edited.status.success(), "{}", String::from_utf8_lossy(&edited.stderr));
    shop.has(".spec.template.spec.containers[?(@.name==\"side\")].image", "side:2");
    let live = shop.run(&["get", "deployment", "web", "-o", "yaml"]).replace("web:4", "web:5");
    let file = shop.write(&live);
    shop.run(&["replace", "-f", file]);
    shop.has(".spec.template.spec.containers[?(@.name==\"main\")].image", "web:5");
    shop.has(".metadata.labels.tier", "front");
    shop.has(".metadata.annotations.example\\.com/note", "seen");
    shop.run(&["delete", "deployment", "web"]);
}

fn from_the_client_side_and_back(shop: &Shop) {
    let file = shop.write(&deployment("web:1", None, ", old: label"));
    shop.run(&["apply", "-f", file]);
    // The client moves its entry over, so that what it no longer wants goes.
    let file = shop.write(&deployment("web:2", None, ""));
    shop.run(&["apply", "--server-side", "-f", file]);
    shop.has(".spec.template.spec.containers[0].image", "web:2");
    shop.has(".metadata.labels", r#"{"app":"web"}"#);
    let file = shop.write(&deployment("web:3", None, ", new: label"));
    let configured = shop.run(&["apply", "-f", file]);
    assert_eq!(configured, "deployment.apps/web configured\n");
    shop.has(".metadata.labels", r#"{"app":"web","new":"label"}"#);
    let again = shop.run(&["apply", "-f", file]);
    assert_eq!(again, "deployment.apps/web unchanged\n");
}
