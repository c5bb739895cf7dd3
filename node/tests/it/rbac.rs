//! RBAC through kubectl: reviews, grants, reconciliation.

use std::fs;
use std::time::{Duration, Instant};

use crate::support::{Cluster, Kubectl};

/// How long the cluster may take for what it does in the background.
const PATIENCE: Duration = Duration::from_secs(120);

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
    let Some(kubectl) = Kubectl::find(&cluster.root()) else {
        return;
    };
    kubectl.run(&["create", "namespace", "shop"]);
    grant(&kubectl);
    ask(&kubectl);
    mend(&kubectl, &cluster);
    give_away(&kubectl);
    aggregate(&kubectl);
    who(&kubectl);
}

fn grant(kubectl: &Kubectl) {
    kubectl.run(&[
        "create",
        "role",
        "reader",
        "--verb=get,list",
        "--resource=configmaps",
        "-n",
        "shop",
    ]);
    kubectl.run(&["create", "rolebinding", "reads", "--role=reader", "--user=joe", "-n", "shop"]);
    kubectl.run(&["create", "clusterrole", "looker", "--verb=get", "--non-resource-url=/looks/*"]);
    kubectl.run(&[
        "create",
        "clusterrolebinding",
        "looks",
        "--clusterrole=looker",
        "--group=lookers",
    ]);
    let wide = kubectl.run(&["get", "rolebindings", "-n", "shop", "-o", "wide"]);
    assert!(wide.contains("Role/reader") && wide.contains("joe"), "{wide}");
}

fn ask(kubectl: &Kubectl) {
    let yes = |arguments: &[&str]| {
        assert_eq!(
            kubectl.run(&[&["auth", "can-i"], arguments].concat()),
            "yes\n",
            "{arguments:?}"
        );
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
    let maps = list
        .lines()
        .find(|line| line.starts_with("configmaps"))
        .unwrap_or_else(|| panic!("{list}"));
    assert!(maps.ends_with("[get list]"), "{list}");
    assert!(list.contains("selfsubjectaccessreviews.authorization.k8s.io"), "{list}");
    let refused = kubectl.fail(&["get", "secrets", "-n", "shop", "--as", "joe"]);
    let expect =
        "User \"joe\" cannot list resource \"secrets\" in API group \"\" in the namespace \"shop\"";
    assert!(refused.contains(expect), "{refused}");
}

fn mend(kubectl: &Kubectl, cluster: &Cluster) {
    let file = cluster.spare("role.yaml");
    fs::write(&file, MENDED).unwrap();
    let said = kubectl.run(&["auth", "reconcile", "-f", &file.display().to_string()]);
    assert!(said.contains("reconciled"), "{said}");
    assert_eq!(
        kubectl.run(&["auth", "can-i", "get", "secrets", "-n", "shop", "--as", "joe"]),
        "yes\n"
    );
    // What is there beyond what is asked for stays.
    assert_eq!(
        kubectl.run(&["auth", "can-i", "list", "configmaps", "-n", "shop", "--as", "joe"]),
        "yes\n"
    );
    shrink(kubectl, cluster);
}

/// What is reconciled may also lose what is not asked for; a binding is mended like a role.
const SHRUNK: &str = "\
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: shop}
rules:
- apiGroups: ['']
  resources: [secrets]
  verbs: [get]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reads, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects:
- {kind: ServiceAccount, name: robot, namespace: shop}
";

fn shrink(kubectl: &Kubectl, cluster: &Cluster) {
    let file = cluster.spare("shrunk.yaml");
    fs::write(&file, SHRUNK).unwrap();
    let file = file.display().to_string();
    let robot = [
        "auth",
        "can-i",
        "get",
        "secrets",
        "-n",
        "shop",
        "--as",
        "system:serviceaccount:shop:robot",
    ];
    kubectl.fail(&robot);
    let dry = kubectl.run(&["auth", "reconcile", "-f", &file, "--dry-run=client"]);
    assert!(dry.contains("reconciled"), "{dry}");
    kubectl.fail(&robot);
    kubectl.run(&[
        "auth",
        "reconcile",
        "-f",
        &file,
        "--remove-extra-permissions",
        "--remove-extra-subjects",
    ]);
    assert_eq!(kubectl.run(&robot), "yes\n");
    kubectl.fail(&["auth", "can-i", "list", "configmaps", "-n", "shop", "--as", "joe"]);
    kubectl.fail(&["auth", "can-i", "get", "secrets", "-n", "shop", "--as", "joe"]);
}

/// A role that takes over what others have.
fn aggregate(kubectl: &Kubectl) {
    kubectl.run(&["create", "clusterrole", "sum", "--aggregation-rule=in=sum"]);
    kubectl.run(&[
        "create",
        "clusterrole",
        "part",
        "--verb=watch",
        "--resource=deployments.apps/scale,pods",
    ]);
    kubectl.run(&["label", "clusterrole", "part", "in=sum"]);
    kubectl.run(&[
        "create",
        "clusterrolebinding",
        "sums",
        "--clusterrole=sum",
        "--serviceaccount=shop:robot",
    ]);
    let robot = ["--as", "system:serviceaccount:shop:robot"];
    // The controller takes the rules over in the background.
    let end = Instant::now() + PATIENCE;
    let ask =
        ["auth", "can-i", "watch", "deployments.apps", "--subresource=scale", robot[0], robot[1]];
    while !kubectl.command(&ask).output().unwrap().status.success() {
        assert!(Instant::now() < end, "the rules are never taken over");
    }
    let described = kubectl.run(&["describe", "clusterrole", "sum"]);
    assert!(
        described.contains("deployments.apps/scale") && described.contains("[watch]"),
        "{described}"
    );
}

fn who(kubectl: &Kubectl) {
    let said = kubectl.run(&["auth", "whoami"]);
    assert!(
        said.starts_with("ATTRIBUTE") && said.contains("admin") && said.contains("system:masters"),
        "{said}"
    );
    let acting =
        ["auth", "whoami", "--as", "ann", "--as-group", "lookers", "--as-uid", "u-1", "-o", "json"];
    let said: serde_json::Value = serde_json::from_str(&kubectl.run(&acting)).unwrap();
    let expect = serde_json::json!({
        "username": "ann", "uid": "u-1", "groups": ["lookers", "system:authenticated"]
    });
    assert_eq!(said["status"]["userInfo"], expect);
}

fn give_away(kubectl: &Kubectl) {
    let admin =
        ["create", "rolebinding", "runs", "--clusterrole=admin", "--user=ann", "-n", "shop"];
    kubectl.run(&admin);
    let give = |resource: &str, name: &str| -> Vec<String> {
        let words =
            ["create", "role", name, "--verb=get,delete", resource, "-n", "shop", "--as", "ann"];
        words.map(str::to_owned).to_vec()
    };
    let run = |words: &[String]| {
        kubectl.command(&words.iter().map(String::as_str).collect::<Vec<_>>()).output().unwrap()
    };
    let own = run(&give("--resource=configmaps", "own"));
    assert!(own.status.success(), "{}", String::from_utf8_lossy(&own.stderr));
    let more = run(&give("--resource=nodes", "more"));
    let said = String::from_utf8_lossy(&more.stderr).into_owned();
    assert!(
        !more.status.success()
            && said.contains("attempting to grant RBAC permissions not currently held"),
        "{said}"
    );
}
