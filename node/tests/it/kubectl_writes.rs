//! Writes of kubectl, every kind of them, on Deployments, Services and ConfigMaps, in both
//! naming profiles.

use std::path::PathBuf;

use crate::support::{Cluster, Kubectl};

/// An object that is written in every way, and its manifest; `{value}` in it is what changes.
struct Subject {
    object: &'static str,
    manifest: &'static str,
    /// Where the value is.
    path: &'static str,
}

const SUBJECTS: [Subject; 3] = [
    Subject {
        object: "deployment.apps/web",
        manifest: "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers:\n      - {name: main, image: \"web-{value}\"}\n",
        path: ".spec.template.spec.containers[0].image",
    },
    Subject {
        object: "service/door",
        manifest: "apiVersion: v1\nkind: Service\nmetadata: {name: door, namespace: shop}\nspec:\n  selector: {app: \"web-{value}\"}\n  ports:\n  - {name: http, port: 80}\n  - {name: more, port: 81}\n",
        path: ".spec.selector.app",
    },
    Subject {
        object: "configmap/settings",
        manifest: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: shop}\ndata: {image: \"web-{value}\", colour: green}\n",
        path: ".data.image",
    },
];

struct Shop {
    kubectl: Kubectl,
    manifest: PathBuf,
}

impl Shop {
    /// The manifest of a subject on disk.
    fn write(&self, subject: &Subject, value: &str) -> &str {
        self.write_text(&subject.manifest.replace("{value}", value))
    }

    fn write_text(&self, text: &str) -> &str {
        std::fs::write(&self.manifest, text).unwrap();
        self.manifest.to_str().unwrap()
    }

    #[track_caller]
    fn run(&self, arguments: &[&str]) -> String {
        self.kubectl.run(&[arguments, &["-n", "shop"]].concat())
    }

    #[track_caller]
    fn fail(&self, arguments: &[&str]) -> String {
        self.kubectl.fail(&[arguments, &["-n", "shop"]].concat())
    }

    #[track_caller]
    fn field(&self, object: &str, path: &str) -> String {
        self.run(&["get", object, "-o", &format!("jsonpath={{{path}}}")])
    }

    #[track_caller]
    fn has(&self, subject: &Subject, value: &str) {
        assert_eq!(
            self.field(subject.object, subject.path),
            format!("web-{value}"),
            "{}",
            subject.object
        );
    }
}

fn drive(naming: &str) {
    let cluster = Cluster::start(1, &["--naming", naming]);
    let Some(kubectl) = Kubectl::find(&cluster.root()) else {
        return;
    };
    kubectl.run(&["create", "namespace", "shop"]);
    let shop = Shop { kubectl, manifest: cluster.root().join("manifest.yaml") };
    for subject in &SUBJECTS {
        apply(&shop, subject);
        change(&shop, subject);
        apply_on_the_server_side(&shop, subject);
        delete_with_dependents(&shop, subject);
    }
    set_and_scale(&shop);
}

#[test]
fn writes_in_the_names_of_the_documents() {
    drive("svc");
}

#[test]
fn writes_in_the_names_of_kubernetes() {
    drive("kubernetes");
}

fn apply(shop: &Shop, subject: &Subject) {
    let object = subject.object;
    let file = shop.write(subject, "1");
    shop.run(&["apply", "--dry-run=server", "-f", file]);
    assert!(shop.fail(&["get", object]).contains("not found"));
    assert_eq!(shop.run(&["apply", "-f", file]), format!("{object} created\n"));
    assert_eq!(shop.run(&["apply", "-f", file]), format!("{object} unchanged\n"));
    assert_eq!(shop.run(&["diff", "-f", file]), "");
    let file = shop.write(subject, "2");
    let difference = shop.fail(&["diff", "-f", file]);
    assert!(difference.contains("web-1") && difference.contains("web-2"), "{difference}");
    assert_eq!(shop.run(&["apply", "-f", file]), format!("{object} configured\n"));
    shop.has(subject, "2");
}

fn change(shop: &Shop, subject: &Subject) {
    let object = subject.object;
    shop.run(&["label", object, "tier=front"]);
    assert!(shop.fail(&["label", object, "tier=back"]).contains("--overwrite is false"));
    shop.run(&["label", object, "tier=back", "--overwrite"]);
    let (resource, _) = object.split_once('/').unwrap();
    assert_eq!(
        shop.run(&["get", resource, "-l", "tier=back", "-o", "name"]),
        format!("{object}\n")
    );
    shop.run(&["label", object, "tier-"]);
    assert_eq!(shop.field(object, ".metadata.labels.tier"), "");
    shop.run(&["annotate", object, "example.com/note=seen"]);
    assert_eq!(shop.field(object, ".metadata.annotations.example\\.com/note"), "seen");
    let mut edit = shop.kubectl.command(&["edit", object, "-n", "shop"]);
    let edited = edit.env("KUBE_EDITOR", "sed -i s/web-2/web-3/").output().unwrap();
    assert!(edited.status.success(), "{}", String::from_utf8_lossy(&edited.stderr));
    shop.has(subject, "3");
    let live = shop.run(&["get", object, "-o", "yaml"]);
    let file = shop.write_text(&live.replace("web-3", "web-4"));
    shop.run(&["replace", "-f", file]);
    shop.has(subject, "4");
    // The same manifest again: it names a version that is no more.
    let refused = shop.fail(&["replace", "-f", file]);
    assert!(refused.contains("the object has been modified"), "{refused}");
    assert_eq!(shop.field(object, ".metadata.annotations.example\\.com/note"), "seen");
    let uid = shop.field(object, ".metadata.uid");
    let file = shop.write(subject, "5");
    shop.run(&["replace", "--force", "-f", file]);
    shop.has(subject, "5");
    assert_ne!(shop.field(object, ".metadata.uid"), uid);
}

fn apply_on_the_server_side(shop: &Shop, subject: &Subject) {
    let object = subject.object;
    let file = shop.write(subject, "6");
    let applied = ["apply", "--server-side", "--field-manager=owner", "-f", file];
    let refused = shop.fail(&applied);
    assert!(refused.contains("conflict with \"kubectl-replace\""), "{refused}");
    shop.run(&[&applied[..], &["--force-conflicts"]].concat());
    shop.has(subject, "6");
    let version = shop.field(object, ".metadata.resourceVersion");
    shop.run(&applied);
    assert_eq!(shop.field(object, ".metadata.resourceVersion"), version);
    assert_eq!(shop.run(&["diff", "--server-side", "--field-manager=owner", "-f", file]), "");
}

/// A ConfigMap that names the subject as its owner.
fn depend(shop: &Shop, subject: &Subject) {
    let uid = shop.field(subject.object, ".metadata.uid");
    let field = |name: &str| {
        let text = subject.manifest.split_once(&format!("{name}: ")).unwrap().1;
        text.split(['\n', ',', '}']).next().unwrap().to_owned()
    };
    let owner = format!(
        "{{apiVersion: {}, kind: {}, name: {}, uid: {uid}, blockOwnerDeletion: true}}",
        field("apiVersion"),
        field("kind"),
        field("name")
    );
    let text = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: dependent\n  namespace: shop\n  ownerReferences:\n  - {owner}\n"
    );
    shop.run(&["create", "-f", shop.write_text(&text)]);
}

fn delete_with_dependents(shop: &Shop, subject: &Subject) {
    let object = subject.object;
    depend(shop, subject);
    shop.run(&["delete", object, "--cascade=orphan", "--timeout=60s"]);
    assert!(shop.fail(&["get", object]).contains("not found"));
    assert_eq!(shop.field("configmap/dependent", ".metadata.ownerReferences"), "");
    shop.run(&["delete", "configmap/dependent"]);
    shop.run(&["create", "-f", shop.write(subject, "7")]);
    depend(shop, subject);
    shop.run(&["delete", object, "--dry-run=server"]);
    shop.has(subject, "7");
    shop.run(&["delete", object, "--cascade=foreground", "--timeout=60s"]);
    for gone in [object, "configmap/dependent"] {
        assert!(shop.fail(&["get", gone]).contains("not found"));
    }
}

fn set_and_scale(shop: &Shop) {
    const WEB: &str = "deployment.apps/web";
    let container =
        |path: &str| shop.field(WEB, &format!(".spec.template.spec.containers[0].{path}"));
    shop.run(&["create", "-f", shop.write(&SUBJECTS[0], "1")]);
    shop.run(&["set", "image", WEB, "main=web-2"]);
    assert_eq!(container("image"), "web-2");
    shop.run(&["set", "env", WEB, "COLOUR=green", "SIZE=big"]);
    assert_eq!(container("env[*].name"), "COLOUR SIZE");
    shop.run(&["set", "env", WEB, "COLOUR-"]);
    assert_eq!(container("env[*].value"), "big");
    shop.run(&["set", "resources", WEB, "--limits=cpu=0.5,memory=1024Mi"]);
    assert_eq!(container("resources.limits"), r#"{"cpu":"500m","memory":"1Gi"}"#);
    shop.run(&["scale", WEB, "--replicas=5"]);
    assert_eq!(shop.field(WEB, ".spec.replicas"), "5");
    assert_eq!(shop.field(WEB, ".metadata.generation"), "6");
    shop.run(&["delete", WEB]);
}
