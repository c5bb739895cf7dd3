//! CertificateSigningRequests: made with openssl, approved with kubectl, issued, verified, used.
//! And certificates that the API refuses.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, Issuer, KeyPair,
    date_time_ymd,
};
use serde_json::{Value, json};

use crate::support::{Client, Cluster, Kubectl, eventually, quorate, skip};

/// Runs openssl in a folder; `None` where it is not installed.
fn openssl(folder: &Path, arguments: &[&str]) -> Option<String> {
    let run =
        Command::new("openssl").args(arguments).current_dir(folder).stdin(Stdio::null()).output();
    let Ok(output) = run else {
        skip("no openssl");
        return None;
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "openssl {arguments:?}: {}", text(&output.stderr));
    Some(text(&output.stdout))
}

/// A key, a request for it and the object that asks for a client certificate, all in files.
fn ask(folder: &Path, name: &str) -> Option<PathBuf> {
    let (key, request) = (format!("{name}.key"), format!("{name}.csr"));
    openssl(
        folder,
        &["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", &key],
    )?;
    let subject = format!("/O=dev/O=ops/CN={name}");
    openssl(folder, &["req", "-new", "-key", &key, "-subj", &subject, "-out", &request])?;
    let encoded = openssl(folder, &["base64", "-A", "-in", &request])?;
    let object = json!({
        "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": name},
        "spec": {
            "request": encoded.trim(), "signerName": "kubernetes.io/kube-apiserver-client", "expirationSeconds": 3600,
            "usages": ["client auth", "digital signature"]
        }
    });
    let path = folder.join(format!("{name}.json"));
    std::fs::write(&path, object.to_string()).unwrap();
    Some(path)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approved_request_becomes_a_certificate_that_lets_its_owner_in() {
    let cluster = Cluster::start(1, &["--naming", "kubernetes"]);
    let pki = cluster.root().join("pki");
    let Some(kubectl) = Kubectl::find(&cluster.root()) else {
        return;
    };
    for name in ["jane", "mallory"] {
        let Some(manifest) = ask(&pki, name) else {
            return;
        };
        kubectl.run(&["create", "-f", manifest.to_str().unwrap()]);
    }
    let approved = kubectl.run(&["certificate", "approve", "jane"]);
    assert!(
        approved.contains("certificatesigningrequest.certificates.k8s.io/jane approved"),
        "{approved}"
    );
    kubectl.run(&["certificate", "deny", "mallory"]);
    eventually("the certificate is issued", async || {
        let encoded = kubectl.run(&["get", "csr", "jane", "-o", "jsonpath={.status.certificate}"]);
        std::fs::write(pki.join("jane.b64"), &encoded).unwrap();
        (!encoded.is_empty()).then_some(())
    })
    .await;
    openssl(&pki, &["base64", "-d", "-A", "-in", "jane.b64", "-out", "jane.crt"]).unwrap();

    let authority = cluster.node(1).join("pki/signer-ca.crt");
    let verify =
        ["verify", "-purpose", "sslclient", "-CAfile", authority.to_str().unwrap(), "jane.crt"];
    assert_eq!(openssl(&pki, &verify).unwrap(), "jane.crt: OK\n");
    let subject =
        openssl(&pki, &["x509", "-in", "jane.crt", "-noout", "-subject", "-nameopt", "RFC2253"])
            .unwrap();
    assert_eq!(subject.trim(), "subject=CN=jane,O=ops,O=dev");
    let answer =
        Client::new(&cluster.address(1), &pki, "jane").get("/api/v1/namespaces").await.expect(403);
    assert!(
        answer.body["message"]
            .as_str()
            .unwrap()
            .contains("User \"jane\" cannot list resource \"namespaces\"")
    );

    let denied = kubectl.run(&[
        "get",
        "csr",
        "mallory",
        "-o",
        "jsonpath={.status.conditions[*].type}{.status.certificate}",
    ]);
    assert_eq!(denied, "Denied");
    let again = kubectl.fail(&["certificate", "approve", "mallory"]);
    assert!(again.contains("is already Denied"), "{again}");
}

/// A client certificate as an attacker may have it.
fn client(
    change: impl FnOnce(&mut CertificateParams),
    issuer: &Issuer<'_, KeyPair>,
) -> (String, String) {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "admin");
    params.distinguished_name.push(DnType::OrganizationName, "system:masters");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    change(&mut params);
    let key = KeyPair::generate().unwrap();
    (params.signed_by(&key, issuer).unwrap().pem(), key.serialize_pem())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_certificates_are_refused() {
    let cluster = Cluster::start(1, &[]);
    let (pki, node) = (cluster.root().join("pki"), cluster.node(1).join("pki"));
    let read = |path: PathBuf| std::fs::read_to_string(path).unwrap();
    let own_key = KeyPair::from_pem(&read(pki.join("ca.key"))).unwrap();
    let own = Issuer::from_ca_cert_pem(&read(pki.join("ca.crt")), own_key).unwrap();
    let mut foreign = CertificateParams::default();
    foreign.distinguished_name.push(DnType::CommonName, "quorate-ca");
    foreign.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let foreign = Issuer::new(foreign, KeyPair::generate().unwrap());

    let identity = |name: &str| {
        (read(node.join(format!("{name}.crt"))), read(node.join(format!("{name}.key"))))
    };
    let serving = |p: &mut CertificateParams| {
        p.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth]
    };
    let past = |p: &mut CertificateParams| {
        (p.not_before, p.not_after) = (date_time_ymd(2001, 1, 1), date_time_ymd(2002, 1, 1));
    };
    let wrong = [
        // It has the name of the cluster's own, and another key.
        ("of a foreign authority", client(|_| {}, &foreign)),
        ("of the authority among nodes", identity("peer")),
        ("for serving", identity("server")),
        ("for serving, of a user", client(serving, &own)),
        ("expired", client(past, &own)),
        ("not valid yet", client(|p| p.not_before = date_time_ymd(4000, 1, 1), &own)),
        ("without a user", client(|p| p.distinguished_name = DistinguishedName::new(), &own)),
    ];
    let ask = async |(certificate, key): (String, String)| {
        std::fs::write(pki.join("it.crt"), certificate).unwrap();
        std::fs::write(pki.join("it.key"), key).unwrap();
        Client::new(&cluster.address(1), &pki, "it").get("/api/v1/namespaces").await.status
    };
    assert_eq!(ask(client(|_| {}, &own)).await, 200);
    let mut count = 0;
    for (what, identity) in wrong {
        assert_eq!(ask(identity).await, 401, "{what}");
        count += 1;
    }
    println!("{count} attempts with certificates, none got in");
    assert_eq!(count, 7);
}

const REQUESTS: &str = "/apis/certificates.svc.io/v1/certificatesigningrequests";

/// Has a client certificate issued to a user, and leaves it with its key among the credentials.
pub(crate) async fn obtain(cluster: &Cluster, name: &str) {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    let spec = json!({"signerName": "svc.io/apiserver-client", "usages": ["client auth"]});
    obtain_as(cluster, name, &params, spec).await;
}

/// Has a certificate issued with these contents by the signer and for the usages of `spec`, and
/// leaves it as [`obtain`] does.
async fn obtain_as(cluster: &Cluster, name: &str, params: &CertificateParams, mut spec: Value) {
    let key = KeyPair::generate().unwrap();
    let request = params.serialize_request(&key).unwrap().pem().unwrap();
    spec["request"] = json!(STANDARD.encode(request));
    let mut admin = cluster.client(1);
    let object = json!({"metadata": {"name": name}, "spec": spec});
    let mut object = admin.post(REQUESTS, &object).await.expect(201).body;
    object["status"]["conditions"] =
        json!([{"type": "Approved", "status": "True", "reason": "Asked", "message": "m"}]);
    let path = format!("{REQUESTS}/{name}");
    let approved =
        admin.send(Method::PUT, &format!("{path}/approval"), Some(&object)).await.unwrap();
    // The server approves node agents' requests for client certificates itself, perhaps before.
    assert!([200, 409].contains(&approved.status), "{approved:?}");
    let encoded = eventually("the certificate is issued", async || {
        admin.get(&path).await.body["status"]["certificate"].as_str().map(str::to_owned)
    })
    .await;
    let pki = cluster.root().join("pki");
    std::fs::write(pki.join(format!("{name}.crt")), STANDARD.decode(encoded).unwrap()).unwrap();
    std::fs::write(pki.join(format!("{name}.key")), key.serialize_pem()).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_signer_issues_for_its_purpose_and_as_long_as_asked() {
    const HOUR: i64 = 3600;
    let cluster = Cluster::start(1, &["--cluster-signing-duration", "2h"]);
    let (pki, authority) = (cluster.root().join("pki"), cluster.node(1).join("pki/signer-ca.crt"));
    let check =
        async |name: &str, signer: &str, hosts: &[&str], asked: Option<i64>, expect: i64| {
            let (usage, purpose) = if hosts.is_empty() {
                ("client auth", "sslclient")
            } else {
                ("server auth", "sslserver")
            };
            let names: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
            let mut params = CertificateParams::new(names).unwrap();
            params.distinguished_name = DistinguishedName::new();
            params.distinguished_name.push(DnType::OrganizationName, "system:nodes");
            params.distinguished_name.push(DnType::CommonName, format!("system:node:{name}"));
            let mut spec = json!({"signerName": signer, "usages": ["digital signature", usage]});
            if let Some(asked) = asked {
                spec["expirationSeconds"] = json!(asked);
            }
            obtain_as(&cluster, name, &params, spec).await;

            let file = format!("{name}.crt");
            let mut verify =
                vec!["verify", "-purpose", purpose, "-CAfile", authority.to_str().unwrap()];
            let options = ["-verify_hostname", "-verify_ip"];
            verify.extend(options.iter().zip(hosts).flat_map(|(option, host)| [*option, *host]));
            verify.push(&file);
            assert!(openssl(&pki, &verify).is_none_or(|said| said == format!("{file}: OK\n")));
            let pem = std::fs::read(pki.join(&file)).unwrap();
            let (_, pem) = x509_parser::pem::parse_x509_pem(&pem).unwrap();
            let certificate = pem.parse_x509().unwrap();
            let validity = certificate.validity();
            // Certificates begin five minutes before they are issued.
            assert_eq!(
                validity.not_after.timestamp() - validity.not_before.timestamp(),
                expect + 300,
                "{name}"
            );
        };
    check("short", "svc.io/apiserver-client", &[], Some(HOUR), HOUR).await;
    check("agent", "svc.io/apiserver-client-node-agent", &[], Some(24 * HOUR), 2 * HOUR).await;
    check("serving", "svc.io/node-agent-serving", &["n1.example", "10.0.0.9"], None, 2 * HOUR)
        .await;
}

/// Whether a node lets the holder of a certificate in.
async fn is_let_in(cluster: &Cluster, node: u64, name: &str) -> bool {
    let mut client = Client::new(&cluster.address(node), &cluster.root().join("pki"), name);
    // An authenticated user without rights gets 403.
    client
        .send(Method::GET, "/api/v1/namespaces", None)
        .await
        .is_ok_and(|answer| answer.status == 403)
}

fn authorities(cluster: &Cluster, arguments: &[&str]) -> Vec<Value> {
    let text = Cluster::run(
        &[&["signing-authority"], arguments, &["-o", "json"]].concat(),
        &cluster.node(1),
    );
    serde_json::from_str(&text).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signers_change_their_authority_while_certificates_live() {
    let cluster = Cluster::start(3, &[]);
    obtain(&cluster, "before").await;
    let first = authorities(&cluster, &["list"]);
    assert_eq!((first.len(), &first[0]["signs"]), (1, &json!(true)));
    assert_eq!(authorities(&cluster, &["rotate"]).len(), 2);
    eventually("the new authority signs", async || {
        (authorities(&cluster, &["list"])[1]["signs"] == true).then_some(())
    })
    .await;
    obtain(&cluster, "after").await;
    for node in 1..=3 {
        for name in ["before", "after"] {
            let known = async || is_let_in(&cluster, node, name).await.then_some(());
            eventually(&format!("node {node} lets {name} in"), known).await;
        }
    }
    let (pki, bundle) = (cluster.root().join("pki"), cluster.node(2).join("pki/signer-ca.crt"));
    let (bundle, purpose) =
        (bundle.to_str().unwrap(), ["verify", "-purpose", "sslclient", "-CAfile"]);
    let verified = openssl(&pki, &[&purpose[..], &[bundle, "before.crt", "after.crt"]].concat());
    assert!(verified.is_none_or(|said| said == "before.crt: OK\nafter.crt: OK\n"));

    let ids = authorities(&cluster, &["list"])
        .iter()
        .map(|one| one["id"].as_str().unwrap().to_owned())
        .collect::<Vec<_>>();
    let refused = quorate(&["signing-authority", "remove", &ids[1], "--data-dir"])
        .arg(cluster.node(1))
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&refused.stderr).contains("this key signs"), "{refused:?}");
    Cluster::run(&["signing-authority", "remove", &ids[0]], &cluster.node(1));
    for node in 1..=3 {
        let gone = async || (!is_let_in(&cluster, node, "before").await).then_some(());
        eventually(&format!("node {node} refuses what the old authority has signed"), gone).await;
        assert!(is_let_in(&cluster, node, "after").await);
    }
}
