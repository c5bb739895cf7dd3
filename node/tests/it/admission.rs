//! Admission as its operators handle it: suspended where it refuses everything, and rehearsed before
//! it refuses anything.

use http::Method;
use serde_json::{Value, json};

use crate::support::{Client, Cluster};

const REGISTRATION: &str = "/apis/admissionregistration.svc.io/v1";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A policy that refuses every write.
fn policy() -> Value {
    let rule = json!({"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]});
    json!({
        "apiVersion": "admissionregistration.svc.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "nothing"},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": "false", "message": "nothing at all"}],
        },
    })
}

async fn create(client: &mut Client, name: &str) -> u16 {
    client.post(MAPS, &json!({"metadata": {"name": name}})).await.status
}

/// Whether a finding of a rehearsal names a config map among its examples.
fn names(finding: &Value, of: &str, name: &str) -> bool {
    let examples = finding["examples"].as_array().unwrap();
    finding["of"] == of
        && finding["resource"] == "configmaps"
        && finding["namespace"] == "default"
        && examples.iter().any(|example| example["name"] == name)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_that_refuses_everything_is_suspended_at_any_node() {
    let cluster = Cluster::start(3, &[]);
    for node in 1..=3 {
        cluster.ready(node).await;
    }
    let mut client = cluster.client(1);
    assert_eq!(create(&mut client, "before").await, 201);

    let file = cluster.spare("policy.yaml");
    std::fs::write(&file, policy().to_string()).unwrap();
    let test = ["policy", "test", file.to_str().unwrap(), "--output", "json"];
    let report: Value = serde_json::from_str(&Cluster::run(&test, &cluster.node(2))).unwrap();
    let findings = report["findings"].as_array().unwrap();
    for of in ["write", "object"] {
        assert!(findings.iter().any(|finding| names(finding, of, "before")), "{report}");
    }
    assert_eq!(create(&mut client, "nothing-was-enforced").await, 201);

    let policies = format!("{REGISTRATION}/validatingadmissionpolicies");
    client.post(&policies, &policy()).await.expect(201);
    let binding = json!({
        "metadata": {"name": "nothing"},
        "spec": {"policyName": "nothing", "validationActions": ["Deny"]},
    });
    let bindings = format!("{REGISTRATION}/validatingadmissionpolicybindings");
    client.post(&bindings, &binding).await.expect(201);
    assert_eq!(create(&mut client, "refused").await, 422);

    let suspend = ["admission", "suspend", "nothing", "--for", "10m"];
    let told = Cluster::run(&suspend, &cluster.node(3));
    assert!(told.starts_with("validatingadmissionpolicies/nothing is suspended until "), "{told}");
    assert_eq!(create(&mut cluster.client(3), "suspended").await, 201);
    let status = Cluster::run(&["admission", "status"], &cluster.node(2));
    assert!(status.contains("suspended until "), "{status}");

    Cluster::run(&["admission", "resume", "nothing"], &cluster.node(1));
    assert_eq!(create(&mut client, "refused-again").await, 422);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rehearsal_is_for_those_who_may_read_everything() {
    let cluster = Cluster::start(1, &[]);
    cluster.ready(1).await;
    let body = json!({"candidates": [policy()]});
    let mut reader = cluster
        .client(1)
        .saying(&[("impersonate-user", "jane"), ("impersonate-group", "system:authenticated")]);
    assert_eq!(reader.post("/admission/rehearsal", &body).await.status, 403);
    assert_eq!(reader.get("/admission/breakers").await.status, 403);
    let mut admin = cluster.client(1);
    let open = admin.get("/admission/breakers").await.expect(200).body;
    assert_eq!(open, json!({"breakers": []}));
    admin.post("/admission/rehearsal", &body).await.expect(200);
    let get = admin.send(Method::GET, "/admission/rehearsal", None).await.unwrap();
    assert_eq!(get.status, 405);
    for body in [json!({}), json!({"candidates": [policy()], "continue": "elsewhere"}), json!([])] {
        assert_eq!(admin.post("/admission/rehearsal", &body).await.status, 400, "{body}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn past_requests_are_rehearsed_as_those_who_made_them() {
    let cluster = Cluster::start(1, &[]);
    cluster.ready(1).await;
    let administrators = ("impersonate-group", "system:masters");
    for (user, name) in [("ann", "good"), ("bob", "bad")] {
        let mut client = cluster.client(1).saying(&[("impersonate-user", user), administrators]);
        assert_eq!(create(&mut client, name).await, 201);
    }
    let mut by_user = policy();
    let rule = json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]});
    by_user["spec"]["matchConstraints"]["resourceRules"] = json!([rule]);
    by_user["spec"]["validations"] =
        json!([{"expression": "request.userInfo.username != 'bob'", "message": "not bob"}]);
    let file = cluster.spare("policy.yaml");
    std::fs::write(&file, by_user.to_string()).unwrap();
    let line = ["policy", "test", file.to_str().unwrap(), "--since", "1h"];
    let report = Cluster::run(&[&line[..], &["--output", "json"]].concat(), &cluster.node(1));
    let report: Value = serde_json::from_str(&report).unwrap();
    let writes = report["findings"].as_array().unwrap().iter();
    let writes: Vec<_> = writes.filter(|finding| finding["of"] == "write").collect();
    let [finding] = writes[..] else { panic!("{report}") };
    assert_eq!((&finding["user"], &finding["count"]), (&json!("bob"), &json!(1)), "{report}");
    let example = &finding["examples"][0];
    assert_eq!(example["name"], "bad");
    assert!(example["revision"].is_string() && example["time"].is_string(), "{report}");
    let told = Cluster::run(&line, &cluster.node(1));
    assert!(told.contains("CREATE of configmaps in default by bob\n"), "{told}");
}
