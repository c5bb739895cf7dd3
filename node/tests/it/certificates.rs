//! Certificates, read again while the node runs: only valid ones are accepted.

use std::process::Command;

use http::Method;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use serde_json::{Value, json};

use crate::support::{Client, Cluster, eventually};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificates_decide_who_gets_in() {
    let cluster = Cluster::start(1, &[]);
    let pki = cluster.root().join("pki");
    cluster.client(1).get("/api/v1/namespaces").await.expect(200);
    let anonymous =
        Client::anonymous(&cluster.address(1), &pki).get("/api/v1/namespaces").await.expect(401);
    assert_eq!(anonymous.body["reason"], "Unauthorized");

    let kubeconfig =
        Cluster::run(&["kubeconfig", "--user", "jane", "--group", ""], &cluster.node(1));
    let config: Value = serde_json::from_str(&kubeconfig).unwrap();
    let user = &config["users"][0]["user"];
    for (field, file) in [("client-certificate-data", "jane.crt"), ("client-key-data", "jane.key")]
    {
        let output = Command::new("sh")
            .args([
                "-c",
                "printf %s \"$1\" | base64 -d > \"$2\"",
                "sh",
                user[field].as_str().unwrap(),
            ])
            .arg(pki.join(file))
            .status()
            .unwrap();
        assert!(output.success());
    }
    let jane =
        Client::new(&cluster.address(1), &pki, "jane").get("/api/v1/namespaces").await.expect(403);
    assert!(
        jane.body["message"]
            .as_str()
            .unwrap()
            .contains("User \"jane\" cannot list resource \"namespaces\"")
    );

    // A node's certificate among nodes is no client certificate.
    std::fs::copy(cluster.node(1).join("pki/peer.crt"), pki.join("peer.crt")).unwrap();
    std::fs::copy(cluster.node(1).join("pki/peer.key"), pki.join("peer.key")).unwrap();
    Client::new(&cluster.address(1), &pki, "peer").get("/api").await.expect(401);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rotated_certificate_is_served_without_a_restart() {
    let cluster = Cluster::start(1, &[]);
    let other = Cluster::start(1, &[]);
    let pid = std::fs::read_to_string(cluster.node(1).join("pid")).unwrap();
    // The other cluster's serving certificate stands for a rotated one: who trusts the other
    // authority now trusts this node.
    for file in ["server.key", "server.crt"] {
        std::fs::copy(other.node(1).join("pki").join(file), cluster.node(1).join("pki").join(file))
            .unwrap();
    }
    assert!(Command::new("kill").args(["-s", "HUP", &pid]).status().unwrap().success());
    let mut client = Client::anonymous(&cluster.address(1), &other.root().join("pki"));
    eventually("the new certificate is served", async || {
        client.send(Method::GET, "/livez", None).await.ok()
    })
    .await;
    assert_eq!(std::fs::read_to_string(cluster.node(1).join("pid")).unwrap(), pid);
}

/// Makes the node look at its files now.
fn hang_up(cluster: &Cluster) {
    let pid = std::fs::read_to_string(cluster.node(1).join("pid")).unwrap();
    assert!(Command::new("kill").args(["-s", "HUP", &pid]).status().unwrap().success());
}

async fn logged(cluster: &Cluster, text: &str) {
    eventually(text, async || {
        hang_up(cluster);
        let log = std::fs::read_to_string(cluster.node(1).join("node.log")).unwrap();
        log.contains(text).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn static_tokens_change_with_their_file() {
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("tokens.csv");
    std::fs::write(&file, "token-one,ann,1\n").unwrap();
    let option = format!("--token-auth-file={}", file.display());
    let cluster = Cluster::start_with(1, &[&option], folder, "");
    let pki = cluster.root().join("pki");
    let (mut one, mut two) = (
        Client::bearer(&cluster.address(1), &pki, "token-one"),
        Client::bearer(&cluster.address(1), &pki, "token-two"),
    );
    one.get("/version").await.expect(200);
    two.get("/version").await.expect(401);
    std::fs::write(&file, "token-two,joe,2\n").unwrap();
    eventually("the new token is accepted", async || {
        hang_up(&cluster);
        (two.get("/version").await.status == 200).then_some(())
    })
    .await;
    one.get("/version").await.expect(401);
    std::fs::write(&file, "token-one,ann,1\ntoken-two\n").unwrap();
    logged(&cluster, "the changed static tokens cannot be used; the old ones stay").await;
    two.get("/version").await.expect(200);
    one.get("/version").await.expect(401);
    let log = std::fs::read_to_string(cluster.node(1).join("node.log")).unwrap();
    assert!(
        log.contains("line 2: a token, a user and a uid are needed") && !log.contains("token-two"),
        "{log}"
    );
}

/// An authority of proxies: its certificate, and that of a proxy with its key.
fn proxies() -> (String, String, String) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let authority = params.self_signed(&key).unwrap().pem();
    let issuer = Issuer::new(params, key);
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "front");
    let key = KeyPair::generate().unwrap();
    (authority, params.signed_by(&key, &issuer).unwrap().pem(), key.serialize_pem())
}

/// The status code and the user name for a client that sends the headers of a proxy, naming `ann`.
async fn who(client: Client) -> (u16, Value) {
    let mut client = client.saying(&[("x-name", "ann"), ("x-remote-group", "system:masters")]);
    let answer = client.post("/apis/authentication.svc.io/v1/selfsubjectreviews", &json!({})).await;
    (answer.status, answer.body["status"]["userInfo"]["username"].clone())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_authority_of_proxies_changes_with_its_file() {
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("proxies.crt");
    let (before, after) = (proxies(), proxies());
    std::fs::write(&file, &before.0).unwrap();
    let option = format!("--requestheader-client-ca-file={}", file.display());
    let names = [
        "--requestheader-allowed-names=front",
        "--requestheader-username-headers=X-Name,X-Remote-User",
    ];
    let cluster = Cluster::start_with(1, &[&option, names[0], names[1]], folder, "");
    let pki = cluster.root().join("pki");
    for (name, (_, certificate, key)) in [("before", &before), ("after", &after)] {
        std::fs::write(pki.join(format!("{name}.crt")), certificate).unwrap();
        std::fs::write(pki.join(format!("{name}.key")), key).unwrap();
    }
    // What a proxy of that authority says holds; from anybody else the same is nothing.
    let of = |name: &str| Client::new(&cluster.address(1), &pki, name);
    let (proxy, stranger) = ((201, json!("ann")), (401, Value::Null));
    assert_eq!(
        (who(of("before")).await, who(of("after")).await),
        (proxy.clone(), stranger.clone())
    );
    assert_eq!(who(of("admin")).await, (201, json!("admin")));
    assert_eq!(who(Client::anonymous(&cluster.address(1), &pki)).await, stranger);
    std::fs::write(&file, &after.0).unwrap();
    eventually("proxies of the new authority are let in", async || {
        hang_up(&cluster);
        (who(of("after")).await == proxy).then_some(())
    })
    .await;
    assert_eq!(who(of("before")).await, stranger);
    std::fs::write(&file, "nothing").unwrap();
    logged(&cluster, "the changed certificates cannot be used; the old ones stay").await;
    assert_eq!((who(of("before")).await, who(of("after")).await), (stranger, proxy));
}
