//! The official client asks about rights, grants and mends them.

use std::fs;

use crate::support::{Cluster, Kubectl};

const MENDED: &str = "\
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: shop}
rules:
- apiGroups: ['']
  resources: [configmaps, secrets]
  verbs: [get]
";

#[test]
fn rights_are_granted_asked_for_and_mended() {
    let cluster = Cluster::start(1, &["--naming", "kubernetes"]);
    let Some(kubectl) = Kubectl::find(&cluster.root()) else { return };
    kubectl.run(&["create", "namespace", "shop"]);
    grant(&kubectl);
    ask(&kubectl);
    mend(&kubectl, &cluster);
    give_away(&kubectl);
}

fn grant(kubectl: &Kubectl) {
    kubectl.run(&["create", "role", "reader", "--verb=get,list", "--resource=configmaps", "-n", "shop"]);
    kubectl.run(&["create", "rolebinding", "reads", "--role=reader", "--user=joe", "-n", "shop"]);
    kubectl.run(&["create", "clusterrole", "looker", "--verb=get", "--non-resource-url=/looks/*"]);
    kubectl.run(&["create", "clusterrolebinding", "looks", "--clusterrole=looker", "--group=lookers"]);
    let wide = kubectl.run(&["get", "rolebindings", "-n", "shop", "-o", "wide"]);
    assert!(wide.contains("Role/reader") && wide.contains("joe"), "{wide}");
}

fn ask(kubectl: &Kubectl) {
    let yes = |arguments: &[&str]| {
        assert_eq!(kubectl.run(&[&["auth", "can-i"], arguments].concat()), "yes\n", "{arguments:?}");
    };
    let no = |arguments: &[&str]| {
        let said = kubectl.fail(&[&["auth", "can-i"], arguments].concat());
        assert!(said.starts_with("no"), "{arguments:?}: {said}");
    };
    yes(&["delete", "nodes"]);
    yes(&["list", "configmaps", "-n", "shop", "--as", "joe"]);
    no(&["delete", "configmaps", "-n", "shop", "--as", "joe"]);
    no(&["list", "configmaps", "-n", "default", "--as", "joe"]);
    no(&["get", "secrets/x", "-n", "shop", "--as", "joe"]);
    yes(&["get", "/looks/here", "--as", "ann", "--as-group", "lookers"]);
    no(&["get", "/looks/here", "--as", "ann"]);
    let list = kubectl.run(&["auth", "can-i", "--list", "-n", "shop", "--as", "joe"]);
    let maps = list.lines().find(|line| line.starts_with("configmaps")).unwrap_or_else(|| panic!("{list}"));
    assert!(maps.ends_with("[get list]"), "{list}");
    assert!(list.contains("selfsubjectaccessreviews.authorization.k8s.io"), "{list}");
    let refused = kubectl.fail(&["get", "secrets", "-n", "shop", "--as", "joe"]);
    let expect = "User \"joe\" cannot list resource \"secrets\" in API group \"\" in the namespace \"shop\"";
    assert!(refused.contains(expect), "{refused}");
}

fn mend(kubectl: &Kubectl, cluster: &Cluster) {
    let file = cluster.spare("role.yaml");
    fs::write(&file, MENDED).unwrap();
    let said = kubectl.run(&["auth", "reconcile", "-f", &file.display().to_string()]);
    assert!(said.contains("reconciled"), "{said}");
    assert_eq!(kubectl.run(&["auth", "can-i", "get", "secrets", "-n", "shop", "--as", "joe"]), "yes\n");
    // What is there beyond what is asked for stays.
    assert_eq!(kubectl.run(&["auth", "can-i", "list", "configmaps", "-n", "shop", "--as", "joe"]), "yes\n");
}

fn give_away(kubectl: &Kubectl) {
    let admin = ["create", "rolebinding", "runs", "--clusterrole=admin", "--user=ann", "-n", "shop"];
    kubectl.run(&admin);
    let give = |resource: &str, name: &str| -> Vec<String> {
        let words = ["create", "role", name, "--verb=get,delete", resource, "-n", "shop", "--as", "ann"];
        words.map(str::to_owned).to_vec()
    };
    let run =
        |words: &[String]| kubectl.command(&words.iter().map(String::as_str).collect::<Vec<_>>()).output().unwrap();
    let own = run(&give("--resource=configmaps", "own"));
    assert!(own.status.success(), "{}", String::from_utf8_lossy(&own.stderr));
    let more = run(&give("--resource=nodes", "more"));
    let said = String::from_utf8_lossy(&more.stderr).into_owned();
    assert!(
        !more.status.success() && said.contains("attempting to grant RBAC permissions not currently held"),
        "{said}"
    );
}
