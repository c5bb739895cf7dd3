//! The chapters about what may be lost: backups, the past, members, the quorum, the disk.

use super::chapter::Chapter;
use super::keeping::{colour, shop, status, widgets};
use super::sandbox::until;
use super::starting::{cluster, members, voters};

/// What the rollout makes of the settings of the shop.
const ROLLOUT: &str = "
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
data: {colour: red}
";

#[test]
fn replace_a_member() {
    let Some(mut sandbox) = cluster(3) else { return };
    shop(&mut sandbox);
    sandbox.kill(3);
    Chapter::open("Replace a member").run_to_the_end(&mut sandbox);
    assert_eq!(members(&mut sandbox, 1), voters([1, 2, 4]));
    sandbox.kill(2);
    sandbox.run(3, "quorate status --ready --wait 1m --data-dir /var/lib/quorate");
    assert_eq!(colour(&mut sandbox), "blue");
}

#[test]
fn a_lost_quorum() {
    let Some(mut sandbox) = cluster(3) else { return };
    shop(&mut sandbox);
    sandbox.kill(2);
    sandbox.kill(3);
    let mut chapter = Chapter::open("A lost quorum");
    let told = chapter.run_with(&mut sandbox, "runuser");
    assert!(told.contains("given up  node 2") && told.contains("Nothing was changed"), "{told}");
    chapter.run_to_the_end(&mut sandbox);
    assert_eq!(members(&mut sandbox, 1), voters([1]));
    assert_eq!(colour(&mut sandbox), "blue");
    sandbox.run(1, "kubectl create configmap more --from-literal=a=b -n shop");
}

#[test]
fn a_full_disk() {
    let Some(mut sandbox) = cluster(3) else { return };
    shop(&mut sandbox);
    let mut chapter = Chapter::open("A full disk");
    let sizes = chapter.run_with(&mut sandbox, "du ");
    assert_eq!(sizes.lines().count(), 3, "{sizes}");
    chapter.run_to_the_end(&mut sandbox);
    until("the past is back", || {
        let archive = status(&mut sandbox, 1)["archives"][0].clone();
        (archive["oldest"] == 0 && archive["lag"] == 0).then_some(())
    });
}

#[test]
fn look_back_and_undo() {
    let Some(mut sandbox) = cluster(1) else { return };
    shop(&mut sandbox);
    widgets(&mut sandbox);
    sandbox.write(1, "rollout.yaml", ROLLOUT);
    sandbox.run(
        1,
        "kubectl apply --server-side --force-conflicts --field-manager rollout-7 -f rollout.yaml",
    );
    let mut chapter = Chapter::open("Look back, and undo");
    let first = chapter.run_until(&mut sandbox, "quorate diff");
    let first: u64 = first.lines().nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    sandbox.know("48212", &(first - 1).to_string());
    let told = chapter.run_with(&mut sandbox, "quorate diff");
    assert!(told.contains("-  colour: blue") && told.contains("+  colour: red"), "{told}");
    let told = chapter.run_with(&mut sandbox, "quorate blame");
    assert!(told.contains("rollout-7"), "{told}");
    chapter.run_until(&mut sandbox, "quorate undelete configmap settings");
    assert_eq!(colour(&mut sandbox), "blue");
    sandbox.run(1, "kubectl delete configmap settings -n shop");
    chapter.run_with(&mut sandbox, "quorate undelete configmap settings");
    assert_eq!(colour(&mut sandbox), "blue");
    sandbox.run(1, "kubectl delete namespace shop");
    chapter.run_with(&mut sandbox, "quorate undelete namespace");
    assert_eq!(colour(&mut sandbox), "blue");
    sandbox.run(1, "kubectl delete customresourcedefinition widgets.example.com");
    chapter.run_with(&mut sandbox, "quorate undelete customresourcedefinition");
    sandbox.run(1, "kubectl get customresourcedefinition widgets.example.com");
    chapter.run_to_the_end(&mut sandbox);
    let told = sandbox.run(1, "quorate history configmap settings -n shop -o json");
    assert!(!told.contains("colour\":\"red"), "{told}");
    assert_eq!(colour(&mut sandbox), "blue");
}
