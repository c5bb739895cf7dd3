//! helm with a chart that has a definition in `crds/`, and an object of it among the templates.

use std::path::Path;

use super::{DEFINITION, NAME};
use crate::support::{Cluster, Helm, Kubectl};

const CHART: &str = "apiVersion: v2\nname: crafts\nversion: 0.1.0\n";
const VALUES: &str = "benches: 2\n";
const TEMPLATE: &str = "apiVersion: craft.example.com/v1\nkind: Workshop\nmetadata: {name: kiln}\nspec:\n  trade: pottery\n  benches: {{ .Values.benches }}\n";

#[test]
fn a_chart_brings_its_definition_and_its_objects() {
    let cluster = Cluster::start(1, &["--naming", "kubernetes"]);
    let (Some(kubectl), Some(helm)) = (Kubectl::find(&cluster.root()), Helm::find(&cluster.root()))
    else {
        return;
    };
    let chart = cluster.spare("chart");
    write_chart(&chart);
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
