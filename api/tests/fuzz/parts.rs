//! Fuzz targets for parts of requests that a whole request would hardly ever get deep into: Accept
//! headers, JSON Pointers of JSON Patches, continue tokens and service account tokens, the last two
//! also with good seals on bad contents.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use quorate_access::authentication::token::{
    BoundObjectReference, Issue, KeyMaterial, KeySet, ObjectIdentity, ServiceAccountTokens,
    TokenOptions,
};
use quorate_api::continue_token::{Position, Tokens};
use quorate_api::negotiation::{Formats, Offer, clauses};
use quorate_env::SystemEnv;
use quorate_meta::{Naming, Value};
use quorate_registry::patch::JsonPatch;
use quorate_store::{MemoryOptions, MemoryStore, Revision, Snapshot, Store};
use quorate_wire::json;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};

use crate::encodings::graph;
use crate::engine::{BASE_BYTES, Target};
use crate::words;

const NOW_MS: u64 = 1_893_456_000_000;

fn bytes(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

fn target<'w>(
    name: &'w str,
    corpus: Vec<Vec<u8>>,
    words: &'w [&'w [u8]],
    bytes_per_byte: u64,
) -> Target<'w> {
    Target { name, corpus, words, base_bytes: BASE_BYTES, bytes_per_byte }
}

#[test]
fn accept_headers() {
    let corpus = bytes(&[
        "application/json;as=Table;g=meta.svc.io;v=v1, application/json;as=PartialObjectMetadataList;g=meta.svc.io;v=v1;q=0.9, */*;q=0.1",
        "application/vnd.svc.protobuf;stream=watch, application/yaml;q=0.999, application/*",
        "application/json;g=apidiscovery.svc.io;v=v2;as=APIGroupDiscoveryList,APPLICATION/CBOR-seq;pretty=1;q=\"0.5\"",
    ]);
    let formats = Formats::new(graph(), true, 0);
    target("accept headers", corpus, words::REQUEST, 200).run(|input| {
        let text = String::from_utf8_lossy(input);
        let best_first = clauses(&text);
        for offer in [Offer::Document, Offer::Objects, Offer::Stream, Offer::CustomObjects] {
            let _ = formats.negotiate(&text, offer);
        }
        let errors = formats.for_errors(&text);
        assert!(!best_first.is_empty() || errors.content_type().contains("json"));
    });
}

#[test]
fn pointers_of_patches() {
    let object = json::parse(
        br#"{"a/b":[1,{"m~n":[[],[2]]}],"":{"":{"0":null}},"metadata":{"labels":{"x":"y"}}}"#,
    );
    let object = object.expect("good JSON").0;
    let corpus =
        bytes(&["/a~1b/1/m~0n/1/0", "/a~1b/-", "///0", "", "/metadata/labels/x~01", "/a~1b/01"]);
    let operation = |op: &str, members: &[(&str, &str)]| {
        let mut operation = Value::from(serde_json::json!({"op": op, "value": {"v": [1, 2]}}));
        for (member, pointer) in members {
            operation.set_at(&[*member], *pointer);
        }
        operation
    };
    target("pointers", corpus, words::REQUEST, 2000).run(|input| {
        let pointer = &*String::from_utf8_lossy(input);
        for op in ["add", "remove", "replace", "test"] {
            carry_out(operation(op, &[("path", pointer)]), &object);
        }
        for op in ["move", "copy"] {
            carry_out(operation(op, &[("path", pointer), ("from", "/metadata")]), &object);
            carry_out(operation(op, &[("path", "/metadata/x"), ("from", pointer)]), &object);
            carry_out(operation(op, &[("path", pointer), ("from", pointer)]), &object);
        }
    });
}

/// What comes out of an operation must be an object that can be written and read again.
fn carry_out(operation: Value, object: &Value) {
    let patch = JsonPatch::parse(Value::List(vec![operation])).expect("a list of one operation");
    let (mut changed, named) = (object.clone(), patch.named());
    let outcome = patch.apply(&mut changed);
    for value in outcome.ok().map(|()| changed).into_iter().chain([named]) {
        let mut text = Vec::new();
        json::write(&value, &mut text);
        assert!(
            json::parse(&text).is_ok_and(|(again, _)| again == value),
            "{}",
            text.escape_ascii()
        );
    }
}

#[test]
fn continue_tokens() {
    let tokens = Tokens::new([7; 32]);
    let positions = [(0, "", 0), (7, "o/core/configmaps/a/b", 3), (u64::MAX, "\0\u{ff}", u64::MAX)];
    let positions = positions.map(|(revision, last, remaining)| Position {
        revision: Revision::new(revision),
        last: last.into(),
        remaining,
    });
    let good: Vec<String> =
        positions.iter().map(|position| tokens.seal("scope", position)).collect();
    let corpus = good.iter().map(|token| token.clone().into_bytes()).collect();
    target("continue tokens", corpus, words::TOKEN, 20).run(|input| {
        let text = String::from_utf8_lossy(input);
        let opened = tokens.open("scope", &text);
        let expect = good.iter().position(|token| *token == text).map(|at| &positions[at]);
        assert_eq!(opened.as_ref(), expect, "nothing opens but what was sealed");
        let position = Position { revision: Revision::new(1), last: input.to_vec(), remaining: 2 };
        assert_eq!(tokens.open(&text, &tokens.seal(&text, &position)), Some(position));
    });
}

/// A cluster without accounts that knows how to sign.
struct Issuer {
    tokens: ServiceAccountTokens,
    material: KeyMaterial,
    snapshot: Snapshot,
}

impl Issuer {
    fn new() -> Self {
        let audiences = vec!["api".to_owned()];
        let options =
            TokenOptions { issuers: audiences.clone(), audiences, ..TokenOptions::default() };
        let tokens = ServiceAccountTokens::new(Naming::Svc.names(), options);
        let material = KeyMaterial::generate(0).expect("a key");
        tokens.set_keys(KeySet::new(std::slice::from_ref(&material)).expect("a usable key"));
        let store = MemoryStore::new(MemoryOptions::new(std::sync::Arc::new(SystemEnv)));
        Self { tokens, material, snapshot: store.snapshot() }
    }

    fn good(&self) -> Vec<String> {
        let one = |name: &str| ObjectIdentity { name: name.into(), uid: "u".into() };
        let bounds = [
            None,
            Some(BoundObjectReference::Pod(one("p"), Some(one("n")))),
            Some(BoundObjectReference::Secret(one("s"))),
        ];
        let issued = bounds.into_iter().map(|bound| Issue {
            namespace: "ns".into(),
            account: one("robot"),
            audiences: vec!["api".into()],
            lifetime: Some(3600),
            bound,
            id: "id".into(),
        });
        issued.map(|issue| self.tokens.issue(issue, NOW_MS).expect("a token").token).collect()
    }

    /// A client with any token is refused: there are no accounts.
    fn refuse(&self, token: &str) {
        let accepted = self.tokens.check(token, &["api".to_owned()], &self.snapshot, NOW_MS);
        assert!(accepted.is_err(), "{token}");
    }

    /// The same bytes as the claims of a token with a good signature.
    fn sign(&self, header: &str, claims: &[u8]) -> String {
        let (random, algorithm) = (SystemRandom::new(), &ECDSA_P256_SHA256_FIXED_SIGNING);
        let pair =
            EcdsaKeyPair::from_pkcs8(algorithm, &self.material.pkcs8, &random).expect("a key pair");
        let message = format!("{header}.{}", URL_SAFE_NO_PAD.encode(claims));
        let signature = pair.sign(&random, message.as_bytes()).expect("signs");
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

#[test]
fn service_account_tokens() {
    let issuer = Issuer::new();
    let corpus = issuer.good().into_iter().map(String::into_bytes).collect();
    target("tokens", corpus, words::TOKEN, 20)
        .run(|input| issuer.refuse(&String::from_utf8_lossy(input)));
}

#[test]
fn claims_of_signed_tokens() {
    let issuer = Issuer::new();
    let good = issuer.good();
    let header = good[0].split('.').next().expect("a header").to_owned();
    let claims = good.iter().map(|token| token.split('.').nth(1).expect("claims"));
    let corpus = claims.map(|claims| URL_SAFE_NO_PAD.decode(claims).expect("base64")).collect();
    target("claims", corpus, words::TOKEN, 400)
        .run(|input| issuer.refuse(&issuer.sign(&header, input)));
}

#[test]
fn headers_of_tokens() {
    let issuer = Issuer::new();
    let good = issuer.good();
    let (header, rest) = good[0].split_once('.').expect("a header");
    let corpus = vec![URL_SAFE_NO_PAD.decode(header).expect("base64")];
    target("headers", corpus, words::TOKEN, 400)
        .run(|input| issuer.refuse(&format!("{}.{rest}", URL_SAFE_NO_PAD.encode(input))));
}
