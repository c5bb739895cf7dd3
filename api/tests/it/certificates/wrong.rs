//! CertificateSigningRequests that no client may have issued: each is refused on creation, or fails
//! once it is approved, for exactly one reason. Each test says how many there were.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use rcgen::{CertificateParams, DnType, KeyPair, SanType};
use serde_json::{Value, json};

use super::{REQUESTS, approve, asking, authority, post, start, twice, until};
use crate::harness::Server;

const CLIENT: &str = "svc.io/apiserver-client";
const NODE: &str = "svc.io/apiserver-client-node-agent";
const SERVING: &str = "svc.io/node-agent-serving";
const ANN: (&str, &str) = ("ann", "dev");
/// A request for the same name by a key of the curve P-521, whose signatures are not verified here.
const ANN_OF_P521: &str = "-----BEGIN CERTIFICATE REQUEST-----\n\
    MIIBXzCBwQIBADAcMQwwCgYDVQQKDANkZXYxDDAKBgNVBAMMA2FubjCBmzAQBgcq\n\
    hkjOPQIBBgUrgQQAIwOBhgAEANW9pxHu4ncOd94vd96VSKM8G6hic0j2d0o4ysEq\n\
    aqHkBCfBLzkXAhKNOr1VS3DXtTAk4/Ppjva+DC9kZojyI7SNAbUB0C21Hv33ytYc\n\
    UudPgLXCBeAqoV98lW1XapgoL7kuKhewxhL2lpaaNgiHWGG45TTHkHb9eoYogbW8\n\
    Ot8nqkVNoAAwCgYIKoZIzj0EAwIDgYwAMIGIAkIBWf447lzUGCjfYQe8jCDGQMTu\n\
    ygoyhHxdohUQFPkVN8L7SetS4ro+dubWZ3/Yv5pZ4EkV0CYyod+6XwW+a/10MA4C\n\
    QgH5K/CVVsIJ68gixIME6Vv8zl6ZIe7K0NnaOUkwxmPHUj0rtSc2f4lQrzcF6taP\n\
    COvNRdYSw/Zql27sNvmP/D7TAg==\n\
    -----END CERTIFICATE REQUEST-----\n";
const AGENT: (&str, &str) = ("system:node:n", "system:nodes");
/// The key usages of client certificates.
const FOR_CLIENTS: &[&str] = &["client auth", "digital signature"];
const FOR_SERVERS: &[&str] = &["server auth", "digital signature"];

/// The parameters of a request with this subject (common name, organization) for these alternative
/// names.
fn params(subject: (&str, &str), names: &[SanType]) -> CertificateParams {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, subject.0);
    params.distinguished_name.push(DnType::OrganizationName, subject.1);
    params.subject_alt_names = names.to_vec();
    params
}

/// A request (PEM).
fn text(subject: (&str, &str), names: &[SanType]) -> String {
    params(subject, names).serialize_request(&KeyPair::generate().unwrap()).unwrap().pem().unwrap()
}

/// A request (PEM) that says another name than was signed.
fn forged() -> String {
    let key = KeyPair::generate().unwrap();
    let mut der = params(ANN, &[]).serialize_request(&key).unwrap().der().to_vec();
    let place = der.windows(3).position(|window| window == b"ann").unwrap();
    der[place..place + 3].copy_from_slice(b"eve");
    pem::encode(&pem::Pem::new("CERTIFICATE REQUEST", der))
}

fn object(name: &str, request: &str, signer: &str, usages: &[&str]) -> Value {
    let spec = json!({"request": STANDARD.encode(request), "signerName": signer, "usages": usages});
    json!({"metadata": {"name": name}, "spec": spec})
}

/// A request without a name.
fn of(subject: (&str, &str), names: &[SanType], signer: &str, usages: &[&str]) -> Value {
    object("", &text(subject, names), signer, usages)
}

/// The reason and the field of the only cause of a refusal as invalid.
async fn cause(server: &Server, request: Value) -> String {
    let answer = server.send(Method::POST, REQUESTS, &[], request.to_string()).await;
    assert_eq!(answer.status, 422, "{}", answer.text());
    let status = answer.json();
    assert_eq!(status["reason"], "Invalid");
    let [cause] = status["details"]["causes"].as_array().unwrap().as_slice() else {
        panic!("{status}")
    };
    format!("{} {}", cause["reason"].as_str().unwrap(), cause["field"].as_str().unwrap())
}

#[tokio::test]
async fn requests_that_are_wrong_in_themselves_are_not_taken() {
    let server = Server::new();
    let good = text(ANN, &[]);
    let other = |request: &str| json!({"request": STANDARD.encode(request)});
    let renamed = good.replace("CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST");
    let garbage = "-----BEGIN CERTIFICATE REQUEST-----\nAAEC\n-----END CERTIFICATE REQUEST-----\n";
    let no_request = "FieldValueInvalid spec.request";
    let (no_signer, required) =
        ("FieldValueInvalid spec.signerName", "FieldValueRequired spec.usages");
    let attempts = [
        (other(""), no_request),
        (other("hello"), no_request),
        (other(&authority()), no_request),
        (other(&KeyPair::generate().unwrap().serialize_pem()), no_request),
        (other(&renamed), no_request),
        (other(garbage), no_request),
        (other(&forged()), no_request),
        (json!({"signerName": null}), "FieldValueRequired spec.signerName"),
        (json!({"signerName": "svc.io/legacy-unknown"}), no_signer),
        (json!({"signerName": "signer"}), no_signer),
        (json!({"signerName": "example/signer"}), no_signer),
        (json!({"signerName": "example.com/a/b"}), no_signer),
        (json!({"usages": null}), required),
        (json!({"usages": []}), required),
        (json!({"usages": ["client auth", "client auth"]}), "FieldValueDuplicate spec.usages[1]"),
        (json!({"usages": ["client auth", "flying"]}), "FieldValueNotSupported spec.usages[1]"),
        (json!({"expirationSeconds": 599}), "FieldValueInvalid spec.expirationSeconds"),
    ];
    let mut count = 0;
    for (change, expect) in attempts {
        let mut request = object("wrong", &good, CLIENT, FOR_CLIENTS);
        for (field, value) in change.as_object().unwrap() {
            request["spec"][field] = value.clone();
        }
        assert_eq!(cause(&server, request).await, expect, "{change}");
        count += 1;
    }
    // Not even an administrator makes others administrators in this way.
    let masters = object("wrong", &text(("ann", "system:masters"), &[]), CLIENT, FOR_CLIENTS);
    let refused = server.send(Method::POST, REQUESTS, &[], masters.to_string()).await;
    let why = format!("use of {CLIENT} signer with system:masters group is not allowed");
    assert!(refused.status == 403 && refused.text().contains(&why), "{}", refused.text());
    count += 1;
    assert_eq!(server.get(REQUESTS).await.names(), Vec::<String>::new());
    println!("{count} attempts to make a wrong request, none was taken");
    assert_eq!(count, 18);
}

#[tokio::test(start_paused = true)]
async fn requests_that_do_not_suit_their_signer_fail_when_they_are_approved() {
    let (server, _controllers) = start();
    let host = SanType::DnsName("n.example".try_into().unwrap());
    let mail = SanType::Rfc822Name("n@example.com".try_into().unwrap());
    let (with_host, with_both) = ([host.clone()], [host, mail]);
    let no_server = "usage ServerAuth is not issued by this signer";
    let no_signing = "usage DigitalSignature is missing";
    let attempts = [
        (of(ANN, &[], CLIENT, FOR_SERVERS), no_server),
        (of(ANN, &[], CLIENT, &["digital signature"]), "usage ClientAuth is missing"),
        (
            of(ANN, &[], CLIENT, &["client auth", "cert sign"]),
            "usage \"cert sign\" is not issued by this signer",
        ),
        (
            of(ANN, &[], CLIENT, &["client auth", "any"]),
            "usage \"any\" is not issued by this signer",
        ),
        (
            object("", ANN_OF_P521, CLIENT, FOR_CLIENTS),
            "the request is not signed with the key that it is for, or with one that is not taken (RSA of 2048 to 8192 bits, P-256 with \
             SHA-256, P-384 with SHA-384, and Ed25519 are)",
        ),
        (asking("", ANN, CLIENT, twice()), "the request asks for extensions more than once"),
        (
            of(("system:node:n", "dev"), &[], NODE, FOR_CLIENTS),
            "the subject's organization is not system:nodes",
        ),
        (
            of(("ann", "system:nodes"), &[], NODE, FOR_CLIENTS),
            "the subject's common name does not begin with system:node:",
        ),
        (of(AGENT, &with_host, NODE, FOR_CLIENTS), "alternative names are not allowed"),
        (of(AGENT, &[], NODE, &["client auth"]), no_signing),
        (of(AGENT, &[], NODE, &["client auth", "digital signature", "server auth"]), no_server),
        (of(AGENT, &[], SERVING, FOR_SERVERS), "an alternative name of type DNS or IP is required"),
        (
            of(AGENT, &with_both, SERVING, FOR_SERVERS),
            "alternative names other than DNS and IP are not allowed",
        ),
        (of(AGENT, &with_host, SERVING, &["server auth"]), no_signing),
        (
            of(AGENT, &with_host, SERVING, FOR_CLIENTS),
            "usage ClientAuth is not issued by this signer",
        ),
    ];
    let mut count = 0;
    for (mut request, expect) in attempts {
        let name = format!("wrong-{count}");
        request["metadata"]["name"] = json!(name);
        post(&server, request).await;
        assert_eq!(approve(&server, &name).await, 200, "{expect}: nobody else has approved it");
        until(&server, &name, |types, issued| types == ["Approved", "Failed"] && !issued).await;
        let status = server.get(&format!("{REQUESTS}/{name}")).await.json()["status"].clone();
        let failed = &status["conditions"][1];
        assert_eq!(
            (&failed["reason"], &failed["message"]),
            (&json!("SignerValidationFailure"), &json!(expect))
        );
        assert_eq!(status["certificate"], Value::Null);
        count += 1;
    }
    println!("{count} attempts with wrong requests, none became a certificate");
    assert_eq!(count, 15);
}
