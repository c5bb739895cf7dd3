//! The chapters from a bare machine to a cluster that people use.

use serde_json::Value;

use super::chapter::Chapter;
use super::sandbox::Sandbox;

/// A cluster of as many members as the guide makes it: one, or three voters.
pub(super) fn cluster(members: u64) -> Option<Sandbox> {
    let mut sandbox = Sandbox::new()?;
    let mut chapter = Chapter::open("On machines");
    chapter.run_until(&mut sandbox, "quorate token create");
    if members > 1 {
        chapter.run_until(&mut sandbox, "quorate member list");
        third_member(&mut sandbox);
    }
    chapter.leave();
    Some(sandbox)
}

/// `The third does the same with 10.0.0.3 and 3.`
fn third_member(sandbox: &mut Sandbox) {
    for command in [
        "runuser -u quorate -- quorate join 10.0.0.1:7443 --token TOKEN \
            --ca-hash sha256:HASH --data-dir /var/lib/quorate --bind 10.0.0.3:6443 --peer-bind 10.0.0.3:7443",
        "systemctl enable --now quorate",
        "quorate status --ready --wait 1m --data-dir /var/lib/quorate",
        "quorate member promote 3 --data-dir /var/lib/quorate",
    ] {
        sandbox.run(3, command);
    }
}

/// The number and the role of each member, as a node sees them.
pub(super) fn members(sandbox: &mut Sandbox, machine: u64) -> Vec<(u64, String)> {
    let printed = sandbox.run(machine, "quorate member list -o json --data-dir /var/lib/quorate");
    let members: Value = serde_json::from_str(&printed).unwrap();
    let member = |member: &Value| {
        let role = member["role"].as_str().unwrap();
        let role = if role == "learner" { role } else { "voter" };
        (member["node"].as_u64().unwrap(), role.to_owned())
    };
    members.as_array().unwrap().iter().map(member).collect()
}

/// Voters with these numbers.
pub(super) fn voters<const N: usize>(numbers: [u64; N]) -> Vec<(u64, String)> {
    numbers.map(|number| (number, "voter".to_owned())).to_vec()
}

#[test]
fn on_a_laptop() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let namespaces = Chapter::open("On a laptop").run_to_the_end(&mut sandbox);
    assert!(namespaces.contains("kube-system"), "{namespaces}");
    for node in 1..=3 {
        sandbox.run(1, &format!("quorate status --ready --data-dir quorate-data/node-{node}"));
    }
}

#[test]
fn on_machines() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let mut chapter = Chapter::open("On machines");
    chapter.run_until(&mut sandbox, "quorate member list");
    assert_eq!(members(&mut sandbox, 2), voters([1, 2]));
    third_member(&mut sandbox);
    let told = chapter.run_to_the_end(&mut sandbox);
    assert_eq!(told.matches("leader").count(), 1, "{told}");
    assert_eq!(members(&mut sandbox, 3), voters([1, 2, 3]));
    sandbox.kill(1);
    sandbox.run(2, "quorate status --ready --wait 1m --data-dir /var/lib/quorate");
}

#[test]
fn access() {
    let Some(mut sandbox) = cluster(1) else { return };
    let mut chapter = Chapter::open("Access");
    let may = chapter.run_with(&mut sandbox, "kubectl --kubeconfig jane.kubeconfig auth can-i");
    assert_eq!(may, "yes\n");
    assert_eq!(sandbox.run(1, "stat -c %a jane.kubeconfig"), "600\n");
    chapter.run_until(&mut sandbox, "kubectl delete rolebinding developers");
    let settings = "kubectl get configmap settings -n shop -o jsonpath={.data.colour}";
    assert_eq!(sandbox.run(1, settings), "blue");
    chapter.run_until(&mut sandbox, "kubectl create serviceaccount robot");
    let jane = "kubectl --kubeconfig jane.kubeconfig auth can-i create configmaps -n shop";
    let (may, told) = sandbox.try_run(1, jane);
    assert!(!may && told.starts_with("no"), "{told}");
    let token = chapter.run_with(&mut sandbox, "kubectl create token robot");
    let may = chapter.run_with(&mut sandbox, "kubectl auth can-i list configmaps");
    assert_eq!(may, "yes\n");
    let token = token.trim();
    let with_token = "kubectl --kubeconfig /dev/null --server https://10.0.0.1:6443 \
        --certificate-authority /var/lib/quorate/pki/ca.crt";
    let list = format!("{with_token} --token {token} get configmaps -n shop -o name");
    assert!(sandbox.run(1, &list).contains("configmap/settings"));
    let (may, _) = sandbox.try_run(1, &list.replace("configmaps", "secrets"));
    assert!(!may, "the role 'view' shows no Secrets");
    assert_eq!(chapter.run_to_the_end(&mut sandbox), "yes\n");
}
