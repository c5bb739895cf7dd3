//! Values and changes of CertificateSigningRequests.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quorate_meta::well_known::GROUP_MASTERS;
use quorate_meta::{Naming, Value};
use serde_json::json;

use super::CertificateSigningRequest;
use quorate_registry::{Part, Strategy, UserInfo};

fn encoded(text: &str) -> String {
    STANDARD.encode(text)
}

fn key() -> rcgen::KeyPair {
    rcgen::KeyPair::generate().unwrap()
}

fn request(organization: &str) -> String {
    let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(rcgen::DnType::OrganizationName, organization);
    params.serialize_request(&key()).unwrap().pem().unwrap()
}

fn certificate() -> String {
    rcgen::CertificateParams::new(Vec::new()).unwrap().self_signed(&key()).unwrap().pem()
}

fn object(change: serde_json::Value) -> Value {
    let mut object = Value::from(json!({
        "metadata": {"name": "a"},
        "spec": {"request": encoded(&request("dev")), "signerName": "a.b/c", "usages": ["client auth"]},
        "status": {},
    }));
    quorate_registry::patch::merge(&mut object, change.into());
    object
}

#[track_caller]
fn check(change: serde_json::Value, expect: &[&str]) {
    let causes = CertificateSigningRequest.validate(Naming::Svc.names(), &object(change));
    let shown: Vec<_> =
        causes.iter().map(|cause| format!("{} {}", cause.reason.as_str(), cause.field)).collect();
    assert_eq!(shown, expect);
}

#[test]
fn values_of_a_request() {
    check(json!({}), &[]);
    check(json!({"spec": {"request": encoded("hello")}}), &["FieldValueInvalid spec.request"]);
    check(json!({"spec": {"request": null}}), &["FieldValueInvalid spec.request"]);
    // A request whose organization has been changed is no longer signed by its key.
    let mut changed = pem::parse(request("dev")).unwrap().into_contents();
    let at = changed.windows(3).position(|window| window == b"dev").unwrap();
    changed[at..at + 3].copy_from_slice(b"ops");
    let changed = pem::encode(&pem::Pem::new("CERTIFICATE REQUEST", changed));
    check(json!({"spec": {"request": encoded(&changed)}}), &["FieldValueInvalid spec.request"]);
    check(json!({"spec": {"usages": []}}), &["FieldValueRequired spec.usages"]);
    check(json!({"spec": {"usages": ["any", "any"]}}), &["FieldValueDuplicate spec.usages[1]"]);
    check(json!({"spec": {"signerName": "a"}}), &["FieldValueInvalid spec.signerName"]);
    check(
        json!({"spec": {"signerName": "svc.io/legacy-unknown"}}),
        &["FieldValueInvalid spec.signerName"],
    );
    check(json!({"spec": {"expirationSeconds": 600}}), &[]);
    check(
        json!({"spec": {"expirationSeconds": 599}}),
        &["FieldValueInvalid spec.expirationSeconds"],
    );
}

#[test]
fn an_issued_certificate_is_one() {
    let wrong = &["FieldValueInvalid status.certificate"][..];
    let check = |text: &str, expect: &[&str]| {
        check(json!({"status": {"certificate": encoded(text)}}), expect)
    };
    let good = certificate();
    check(&good, &[]);
    check(&format!("text\n{good}text\n{}", certificate()), &[]);
    check("text", wrong);
    check(&good.replace("CERTIFICATE", "X509 CERTIFICATE"), wrong);
    check(&format!("{good}{}", key().serialize_pem()), wrong);
    check(&good.replacen("-----\n", "-----\nA: b\n\n", 1), wrong);
    check(&request("dev"), wrong);
}

#[test]
fn the_creator_comes_from_the_caller() {
    let mut new =
        object(json!({"spec": {"username": "mallory", "uid": "0", "extra": {"a": ["b"]}}}));
    let groups = ["dev".to_owned()];
    let who = UserInfo { name: "alice", uid: "", groups: &groups, extra: &[] };
    CertificateSigningRequest.created_by(Some(who), &mut new);
    let field = |name: &str| new.at(&["spec", name]).cloned();
    assert_eq!(field("username"), Some("alice".into()));
    assert_eq!(field("groups"), Some(json!(["dev"]).into()));
    assert_eq!((field("uid"), field("extra")), (None, None));
}

#[test]
fn each_part_changes_its_own_fields() {
    let old = Value::from(
        json!({"spec": {"a": 1}, "status": {"certificate": "x", "conditions": [{"type": "Other"}]}}),
    );
    let asked = json!({"spec": {"a": 2}, "status": {"certificate": "y", "conditions": [{"type": "Approved"}]}});
    let check = |part: Part, expect: serde_json::Value| {
        let mut new = Value::from(asked.clone());
        CertificateSigningRequest.prepare_update(Naming::Svc.names(), part, &old, &mut new);
        assert_eq!(new, json!({"spec": {"a": 1}, "status": expect}).into());
    };
    check(Part::Main, json!({"certificate": "x", "conditions": [{"type": "Other"}]}));
    check(Part::Approval, json!({"certificate": "x", "conditions": [{"type": "Approved"}]}));
    check(Part::Status, json!({"certificate": "y", "conditions": [{"type": "Approved"}]}));
}

#[test]
fn a_certificate_comes_once_and_in_the_order_of_the_profile() {
    let check = |old: (&str, &[&str]), new: (&str, &[&str]), expect: [usize; 2]| {
        let object = |(certificate, kinds): (&str, &[&str])| {
            let conditions: Vec<_> = kinds.iter().map(|kind| json!({"type": kind})).collect();
            Value::from(json!({"status": {"certificate": certificate, "conditions": conditions}}))
        };
        let (before, after) = (object(old), object(new));
        for (naming, expect) in [Naming::Svc, Naming::Kubernetes].into_iter().zip(expect) {
            let causes = CertificateSigningRequest.validate_update(
                naming.names(),
                Part::Status,
                &before,
                &after,
            );
            assert_eq!(causes.len(), expect, "{naming} {old:?} {new:?} {causes:?}");
        }
    };
    check(("", &["Approved"]), ("x", &["Approved"]), [0, 0]);
    check(("x", &["Approved"]), ("x", &["Approved"]), [0, 0]);
    check(("x", &["Approved"]), ("y", &["Approved"]), [1, 1]);
    check(("x", &["Approved"]), ("", &["Approved"]), [1, 1]);
    check(("", &["Approved"]), ("", &["Approved", "Failed"]), [0, 0]);
    check(("", &[]), ("", &["Failed"]), [1, 0]);
    check(("", &["Denied"]), ("", &["Denied", "Failed"]), [1, 0]);
    check(("", &[]), ("x", &[]), [1, 0]);
    check(("", &["Approved"]), ("x", &["Approved", "Failed"]), [1, 0]);
    check(("", &["Approved", "Failed"]), ("x", &["Approved", "Failed"]), [1, 0]);
    check(("x", &["Approved"]), ("x", &["Approved", "Failed"]), [1, 0]);
    check(("", &["Denied"]), ("x", &["Denied"]), [2, 0]);
    check(("x", &["Approved", "Failed"]), ("x", &["Approved"]), [1, 1]);
}

#[test]
fn writes_need_permissions_of_the_signer() {
    let names = Naming::Svc.names();
    let verb = |part: Part, old: Option<&Value>, new: &Value| {
        CertificateSigningRequest
            .permission(names, part, old, new)
            .map(|found| found.map(|found| found.verb))
    };
    let (plain, issued) = (object(json!({})), object(json!({"status": {"certificate": "x"}})));
    assert_eq!(verb(Part::Main, None, &plain), Ok(None));
    assert_eq!(verb(Part::Main, Some(&plain), &plain), Ok(None));
    assert_eq!(verb(Part::Approval, Some(&plain), &plain), Ok(Some("approve")));
    assert_eq!(verb(Part::Status, Some(&plain), &issued), Ok(Some("sign")));
    assert_eq!(verb(Part::Status, Some(&plain), &plain), Ok(None));
    let masters = |signer: &str| {
        let masters = encoded(&request(GROUP_MASTERS));
        verb(Part::Main, None, &object(json!({"spec": {"request": masters, "signerName": signer}})))
    };
    assert_eq!(masters("a.b/c"), Ok(None));
    assert!(masters("svc.io/apiserver-client").is_err());
}
