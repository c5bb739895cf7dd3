//! helm with a chart that has a definition in `crds/`, and an object of it among the templates.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{DEFINITION, NAME};
use crate::support::{Cluster, Kubectl, skip};

/// Where `.ci/tools` puts it, below the workspace.
const PLACE: &str = "target/tools/helm";
const CHART: &str = "apiVersion: v2\nname: crafts\nversion: 0.1.0\n";
const VALUES: &str = "benches: 2\n";
const TEMPLATE: &str = "apiVersion: craft.example.com/v1\nkind: Workshop\nmetadata: {name: kiln}\nspec:\n  trade: pottery\n  benches: {{ .Values.benches }}\n";

#[test]
fn a_chart_brings_its_definition_and_its_objects() {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join(PLACE);
    if !program.exists() {
        return skip(&format!("no {PLACE}; run .ci/tools"));
    }
    let cluster = Cluster::start(1, &["--naming", "kubernetes"]);
    let Some(kubectl) = Kubectl::find(&cluster.root()) else {
        return;
    };
    let chart = cluster.spare("chart");
    write_chart(&chart);
    let helm = Helm {
        program,
        home: cluster.spare("helm"),
        config: cluster.root().join("admin.kubeconfig"),
    };
    let chart = chart.to_str().unwrap();
    let benches = || kubectl.run(&["get", "wsh", "kiln", "-o", "jsonpath={.spec.benches}"]);

    helm.run(&["install", "crafts", chart, "--wait", "--timeout=30s"]);
    assert_eq!(benches(), "2");
    helm.run(&["upgrade", "crafts", chart, "--set=benches=5", "--wait", "--timeout=30s"]);
    assert_eq!(benches(), "5");
    helm.run(&["rollback", "crafts", "1", "--wait", "--timeout=30s"]);
    assert_eq!(benches(), "2");
    helm.run(&["uninstall", "crafts", "--wait", "--timeout=30s"]);
    assert_eq!(kubectl.run(&["get", "wsh", "-o", "name"]), "");
    // helm never removes a definition.
    kubectl.run(&["get", "crd", NAME]);
}

fn write_chart(folder: &Path) {
    for part in ["crds", "templates"] {
        std::fs::create_dir_all(folder.join(part)).unwrap();
    }
    std::fs::copy(DEFINITION, folder.join("crds/definition.yaml")).unwrap();
    std::fs::write(folder.join("Chart.yaml"), CHART).unwrap();
    std::fs::write(folder.join("values.yaml"), VALUES).unwrap();
    std::fs::write(folder.join("templates/kiln.yaml"), TEMPLATE).unwrap();
}

struct Helm {
    program: PathBuf,
    /// Where it keeps what it remembers.
    home: PathBuf,
    config: PathBuf,
}

impl Helm {
    /// Runs a command that must succeed.
    #[track_caller]
    fn run(&self, arguments: &[&str]) {
        let output = Command::new(&self.program)
            .args(arguments)
            .env("KUBECONFIG", &self.config)
            .env("HELM_CACHE_HOME", &self.home)
            .env("HELM_CONFIG_HOME", &self.home)
            .env("HELM_DATA_HOME", &self.home)
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(
            output.status.success(),
            "helm {arguments:?}\n{}{}",
            text(&output.stdout),
            text(&output.stderr)
        );
    }
}
