//! Certificates are read again while the node runs, and only the right ones let anybody in.

use std::process::Command;

use http::Method;

use crate::support::{Client, Cluster, eventually};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificates_decide_who_gets_in() {
    let cluster = Cluster::start(1, &[]);
    let pki = cluster.root().join("pki");
    cluster.client(1).get("/api/v1/namespaces").await.expect(200);
    let anonymous = Client::anonymous(&cluster.address(1), &pki).get("/api/v1/namespaces").await.expect(401);
    assert_eq!(anonymous.body["reason"], "Unauthorized");

    let kubeconfig = Cluster::run(&["kubeconfig", "--user", "jane", "--group", ""], &cluster.node(1));
    let config: serde_json::Value = serde_json::from_str(&kubeconfig).unwrap();
    let user = &config["users"][0]["user"];
    for (field, file) in [("client-certificate-data", "jane.crt"), ("client-key-data", "jane.key")] {
        let output = Command::new("sh")
            .args(["-c", "printf %s \"$1\" | base64 -d > \"$2\"", "sh", user[field].as_str().unwrap()])
            .arg(pki.join(file))
            .status()
            .unwrap();
        assert!(output.success());
    }
    let jane = Client::new(&cluster.address(1), &pki, "jane").get("/api/v1/namespaces").await.expect(403);
    assert!(jane.body["message"].as_str().unwrap().contains("User \"jane\" cannot list resource \"namespaces\""));

    // A node's certificate among nodes is no client certificate.
    std::fs::copy(cluster.node(1).join("pki/peer.crt"), pki.join("peer.crt")).unwrap();
    std::fs::copy(cluster.node(1).join("pki/peer.key"), pki.join("peer.key")).unwrap();
    let peer = Client::new(&cluster.address(1), &pki, "peer").send(Method::GET, "/api", None).await;
    assert!(peer.is_err(), "{peer:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rotated_certificate_is_served_without_a_restart() {
    let cluster = Cluster::start(1, &[]);
    let other = Cluster::start(1, &[]);
    let pid = std::fs::read_to_string(cluster.node(1).join("pid")).unwrap();
    // The other cluster's serving certificate stands for a rotated one: who trusts the other authority now trusts this node.
    for file in ["server.key", "server.crt"] {
        std::fs::copy(other.node(1).join("pki").join(file), cluster.node(1).join("pki").join(file)).unwrap();
    }
    assert!(Command::new("kill").args(["-s", "HUP", &pid]).status().unwrap().success());
    let mut client = Client::anonymous(&cluster.address(1), &other.root().join("pki"));
    eventually("the new certificate is served", async || client.send(Method::GET, "/livez", None).await.ok()).await;
    assert_eq!(std::fs::read_to_string(cluster.node(1).join("pid")).unwrap(), pid);
}
