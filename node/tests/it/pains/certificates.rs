//! Certificates that end (k3s#1621, k3s#12315): clusters that no operator has looked at for a year do not
//! start any more, and nothing has told of the end before. Here a node renews its own, even those
//! that have ended while it was off, and tells of the ones that it cannot renew.

use std::path::Path;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use serde_json::Value;
use time::{Duration, OffsetDateTime};
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

use crate::load::make_namespace;
use crate::membership::join_at;
use crate::support::{Cluster, eventually, free_port, quorate};

type Authority = Issuer<'static, KeyPair>;

/// An authority whose files are in a folder.
fn authority(folder: &Path, name: &str) -> Authority {
    let read = |ending| std::fs::read_to_string(folder.join(format!("{name}.{ending}"))).unwrap();
    let key = KeyPair::from_pem(&read("key")).unwrap();
    Issuer::from_ca_cert_pem(&read("crt"), key).unwrap()
}

/// The names in a certificate.
fn names(path: &Path) -> Vec<String> {
    let der = CertificateDer::from_pem_file(path).unwrap();
    let (_, certificate) = X509Certificate::from_der(&der).unwrap();
    let names = certificate.subject_alternative_name().unwrap().unwrap();
    let text = |name: &GeneralName<'_>| match name {
        GeneralName::DNSName(name) => (*name).to_owned(),
        GeneralName::IPAddress(bytes) => match <[u8; 4]>::try_from(*bytes) {
            Ok(four) => std::net::IpAddr::from(four).to_string(),
            Err(_) => std::net::IpAddr::from(<[u8; 16]>::try_from(*bytes).unwrap()).to_string(),
        },
        other => panic!("{other:?}"),
    };
    names.value.general_names.iter().map(text).collect()
}

/// Replaces a certificate of a node by one with the same names that is valid from and until so many
/// days from now.
fn issue_again(pki: &Path, name: &str, issuer: &Authority, (from, until): (i64, i64)) {
    let path = pki.join(format!("{name}.crt"));
    let mut params = CertificateParams::new(names(&path)).unwrap();
    params.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    let now = OffsetDateTime::now_utc();
    (params.not_before, params.not_after) =
        (now + Duration::days(from), now + Duration::days(until));
    let key = KeyPair::generate().unwrap();
    std::fs::write(&path, params.signed_by(&key, issuer).unwrap().pem()).unwrap();
    std::fs::write(pki.join(format!("{name}.key")), key.serialize_pem()).unwrap();
}

/// What `status` says of a certificate.
fn told(cluster: &Cluster, node: u64, name: &str) -> Option<Value> {
    let status = cluster.status(&cluster.node(node))?;
    let all = status["certificates"].as_array().unwrap();
    Some(all.iter().find(|certificate| certificate["name"] == name).unwrap().clone())
}

/// A cluster whose first node was set up before it was started, so that the keys of both authorities
/// are known: they are in the folder `pki` beside it.
fn start_with_known_keys() -> Cluster {
    let (folder, port) = (tempfile::TempDir::new().unwrap(), free_port());
    let root = folder.path().join("data");
    let mut command = quorate(&["init", "--data-dir"]);
    command.arg(root.join("node-1")).arg("--bind").arg(format!("127.0.0.1:{port}"));
    command.arg("--peer-bind").arg(format!("127.0.0.1:{}", port + 1000));
    assert!(command.output().unwrap().status.success());
    std::fs::create_dir(root.join("pki")).unwrap();
    for file in std::fs::read_dir(root.join("node-1/pki")).unwrap().flatten() {
        std::fs::copy(file.path(), root.join("pki").join(file.file_name())).unwrap();
    }
    Cluster::start_on(port, 1, &[], folder, "")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_starts_whose_certificates_ended_while_it_was_off() {
    let mut cluster = start_with_known_keys();
    let folders = [cluster.node(1), cluster.node(2)];
    join_at(&cluster, 1, 2, &folders[1]);
    cluster.serve(&folders[1]);
    cluster.ready(2).await;
    eventually("both vote", async || {
        let mut command = quorate(&["member", "promote", "2", "--data-dir"]);
        command.arg(&folders[0]).output().unwrap().status.success().then_some(())
    })
    .await;
    make_namespace(&mut cluster.client(2), "before").await;
    cluster.kill(2);
    cluster.kill(1);
    let keys = cluster.root().join("pki");
    let (ca, peer_ca) = (authority(&keys, "ca"), authority(&keys, "peer-ca"));
    for folder in &folders {
        issue_again(&folder.join("pki"), "server", &ca, (-400, -35));
        issue_again(&folder.join("pki"), "peer", &peer_ca, (-400, -35));
    }
    for folder in &folders {
        cluster.serve(folder);
    }
    for node in [1, 2] {
        cluster.ready(node).await;
        for name in ["server", "peer"] {
            let told = told(&cluster, node, name).unwrap();
            assert_eq!(told["endsSoon"], false, "{told}");
        }
        let series = "quorate_certificate_not_after_timestamp_seconds{certificate=\"peer\"}";
        let end = cluster.metric(node, series).await.unwrap();
        let left = end - OffsetDateTime::now_utc().unix_timestamp() as f64;
        assert!(left > 300.0 * 86_400.0, "{left} seconds");
        make_namespace(&mut cluster.client(node), &format!("after-{node}")).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_of_another_authority_that_ends_is_seen() {
    let cluster = Cluster::start(1, &[]);
    assert_eq!(told(&cluster, 1, "server").unwrap()["endsSoon"], false);
    let log = || std::fs::read_to_string(cluster.node(1).join("node.log")).unwrap();
    assert!(!log().contains("the certificate ends soon"));

    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, "another CA");
    let key = KeyPair::generate().unwrap();
    let foreign = params.self_signed(&key).unwrap().pem();
    let pki = cluster.node(1).join("pki");
    issue_again(&pki, "server", &Issuer::new(params, key), (-98, 2));
    // Clients that know the other authority.
    std::fs::write(cluster.root().join("pki/ca.crt"), foreign).unwrap();
    cluster.signal(1, "HUP");
    let series = "quorate_certificate_not_after_timestamp_seconds{certificate=\"server\"}";
    let end = eventually("the certificate is served", async || {
        let answer = cluster.client(1).send(http::Method::GET, "/livez", None).await;
        answer.ok()?;
        cluster.metric(1, series).await
    })
    .await;
    let left = end - OffsetDateTime::now_utc().unix_timestamp() as f64;
    assert!((86_400.0..3.0 * 86_400.0).contains(&left), "{left} seconds");
    eventually("the log tells", async || {
        let log = log();
        let tells = |words: &str| log.lines().any(|line| line.contains("WARN") && line.contains(words));
        (tells("the certificate ends soon name=\"server\"")
            && tells("the certificate is not renewed error=\"it ends soon, and another authority has issued it\""))
        .then_some(())
    })
    .await;
    assert_eq!(told(&cluster, 1, "server").unwrap()["endsSoon"], true);
    let table = Cluster::run(&["status"], &cluster.node(1));
    assert!(
        table.lines().any(|line| line.starts_with("server") && line.ends_with("ends soon")),
        "{table}"
    );
    // It is left alone.
    assert_eq!(cluster.metric(1, series).await, Some(end));
}
