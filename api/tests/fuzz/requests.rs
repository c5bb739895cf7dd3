//! Fuzzed whole requests: path, query, headers and body through the filters to every handler, with
//! continue and service account tokens that were good once.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request};
use http_body_util::{BodyExt, Full};
use quorate_api::filters;
use quorate_wire::{cbor, yaml};
use tokio::runtime::{Builder, Runtime};

use crate::encodings::texts;
use crate::engine::Target;
use crate::harness::Server;
use crate::words;

/// Requests that one server answers; what they make stays in its memory.
const PER_SERVER: u32 = 1000;
/// Memory of one request whatever its size: it may list, and OpenAPI documents are made when they
/// are first asked for.
pub(crate) const PER_REQUEST: u64 = 64 * 1024 * 1024;
/// The message of the answer when a handler panics.
const PANIC: &str = "the request could not be handled";

/// One server, with the time running as fast as it can.
pub(crate) struct World {
    runtime: Runtime,
    server: Server,
    token: String,
    page: String,
}

impl World {
    pub(crate) fn new() -> Self {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .expect("a runtime");
        let (server, token, page) = runtime.block_on(async {
            let server = Server::with_gates(
                "CBORServingAndStorage=true,AllowUnsafeMalformedObjectDeletion=true",
            )
            .await;
            server.range().await;
            for name in ["m", "n", "o"] {
                server.create("a", name, &[("x", "1")]).await;
            }
            let account = r#"{"metadata":{"name":"s"}}"#;
            server.send(Method::POST, "/api/v1/namespaces/a/serviceaccounts", &[], account).await;
            let token = server
                .send(Method::POST, "/api/v1/namespaces/a/serviceaccounts/s/token", &[], "{}")
                .await;
            let token = token.json()["status"]["token"].as_str().expect("a token").to_owned();
            let page = server.get("/api/v1/namespaces/a/configmaps?limit=1").await;
            let page = page.json()["metadata"]["continue"].as_str().expect("a page").to_owned();
            (server, token, page)
        });
        Self { runtime, server, token, page }
    }

    /// Good requests: a line with method and path, headers, an empty line, the body.
    fn corpus(&self) -> Vec<Vec<u8>> {
        let maps = "/api/v1/namespaces/a/configmaps";
        let mut all: Vec<Vec<u8>> = [
            format!("GET {maps}?limit=1&continue={}\naccept: application/json;as=Table;g=meta.svc.io;v=v1, */*;q=0.5\n\n", self.page),
            format!("GET {maps}?labelSelector=x%20in%20(1,2)&fieldSelector=metadata.name!=m&resourceVersion=3&resourceVersionMatch=Exact\naccept: application/vnd.svc.protobuf\n\n"),
            format!("GET {maps}?watch=1&timeoutSeconds=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan\naccept: application/cbor\n\n"),
            format!("GET {maps}/m?pretty=1\naccept: application/yaml\naccept-encoding: gzip;q=0.5, *\nuser-agent: curl/8\n\n"),
            format!("GET {maps}\nauthorization: Bearer {}\n\n", self.token),
            "GET /api/v1/namespaces\nimpersonate-user: u\nimpersonate-group: g\nimpersonate-extra-a%2fb: c\n\n".to_owned(),
            "GET /openapi/v3/api/v1?hash=1\nif-none-match: \"a\"\n\n".to_owned(),
            "GET /apis\naccept: application/json;g=apidiscovery.svc.io;v=v2;as=APIGroupDiscoveryList\n\n".to_owned(),
            format!("PATCH {maps}/m\ncontent-type: application/json-patch+json\nif-match: \"1\"\n\n[{{\"op\":\"add\",\"path\":\"/metadata/labels/a~1b\",\"value\":\"c\"}},{{\"op\":\"test\",\"path\":\"/data/k\",\"value\":\"v\"}},{{\"op\":\"move\",\"from\":\"/data/k\",\"path\":\"/data/l\"}},{{\"op\":\"add\",\"path\":\"/metadata/finalizers/-\",\"value\":1}}]"),
            format!("PATCH {maps}/m?dryRun=All\ncontent-type: application/merge-patch+json\n\n{{\"data\":{{\"k\":null}},\"metadata\":{{\"managedFields\":[{{}}]}}}}"),
            "PATCH /apis/apps/v1/namespaces/a/deployments/d?fieldManager=f&force=true\ncontent-type: application/apply-patch+yaml\n\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec:\n  selector: {matchLabels: {a: b}}\n  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}\n".to_owned(),
            "PATCH /apis/apps/v1/namespaces/a/deployments/d/scale\ncontent-type: application/strategic-merge-patch+json\n\n{\"spec\":{\"replicas\":2,\"$patch\":\"replace\"}}".to_owned(),
            format!("DELETE {maps}?labelSelector=x=2&propagationPolicy=Foreground\ncontent-type: application/json\n\n{{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"preconditions\":{{\"uid\":\"u\"}},\"gracePeriodSeconds\":1}}"),
            "POST /apis/authorization.svc.io/v1/subjectaccessreviews\n\n{\"spec\":{\"user\":\"u\",\"resourceAttributes\":{\"verb\":\"get\",\"resource\":\"pods\",\"fieldSelector\":{\"requirements\":[{\"key\":\"a\",\"operator\":\"In\",\"values\":[\"b\"]}]}}}}".to_owned(),
            "POST /apis/authentication.svc.io/v1/tokenreviews\n\n{\"spec\":{\"token\":\"a.b.c\"}}".to_owned(),
        ]
        .map(String::into_bytes)
        .to_vec();
        for (path, text) in [maps, "/apis/apps/v1/namespaces/a/deployments"].iter().zip(texts()) {
            let head = |media: &str| {
                format!("POST {path}?fieldValidation=Strict\ncontent-type: {media}\n\n")
                    .into_bytes()
            };
            let tree = quorate_wire::json::parse(&text).expect("good JSON").0;
            let mut binary = Vec::new();
            cbor::encode(None, &text, &mut binary).expect("writes");
            all.push([head("application/cbor"), binary].concat());
            all.push([head("application/yaml"), yaml::write(&tree).into_bytes()].concat());
            all.push([head("application/json"), text].concat());
        }
        all
    }

    /// Sends a request, if it is one, and reads the answer.
    fn send(&self, input: &[u8]) {
        if let Some(request) = read(input) {
            self.answer(request);
        }
    }

    /// The code of the answer to a request with a body.
    pub(crate) fn ask(&self, method: Method, path: &str, media: &str, body: &[u8]) -> u16 {
        let request = Request::builder().method(method).uri(path).header("content-type", media);
        self.answer(request.body(Full::new(Bytes::copy_from_slice(body))).expect("a request"))
    }

    fn answer(&self, request: Request<Full<Bytes>>) -> u16 {
        let anonymous = request.headers().contains_key("authorization");
        self.runtime.block_on(async {
            let identity = if anonymous {
                self.server.by(None).identity
            } else {
                self.server.identity.clone()
            };
            let answer = filters::handle(&self.server.api, &identity, request).await;
            let status = answer.status();
            let Ok(body) = answer.into_body().collect().await else {
                return status.as_u16();
            };
            let body = body.to_bytes();
            assert!(
                status != 500 || !body.windows(PANIC.len()).any(|text| text == PANIC.as_bytes()),
                "a handler panicked"
            );
            status.as_u16()
        })
    }
}

/// The request in an input; `None` when it cannot even be sent.
fn read(input: &[u8]) -> Option<Request<Full<Bytes>>> {
    let end = input.windows(2).position(|pair| pair == b"\n\n")?;
    let head = str::from_utf8(&input[..end]).ok()?;
    let mut lines = head.split('\n');
    let (method, path) = lines.next()?.split_once(' ')?;
    let mut request = Request::builder().method(method).uri(path);
    for line in lines {
        let (name, value) = line.split_once(": ")?;
        request =
            request.header(HeaderName::try_from(name).ok()?, HeaderValue::from_str(value).ok()?);
    }
    request.body(Full::new(Bytes::copy_from_slice(&input[end + 2..]))).ok()
}

#[test]
fn requests() {
    let mut world = World::new();
    let corpus = world.corpus();
    let mut sent = 0;
    let target = Target {
        name: "requests",
        corpus,
        words: words::REQUEST,
        base_bytes: PER_REQUEST,
        bytes_per_byte: 20_000,
    };
    target.run(|input| {
        sent += 1;
        if sent % PER_SERVER == 0 {
            world = World::new();
        }
        world.send(input);
    });
}

#[test]
fn good_requests_are_good() {
    let world = World::new();
    for input in world.corpus() {
        assert!(read(&input).is_some(), "{}", input.escape_ascii());
        world.send(&input);
    }
}
