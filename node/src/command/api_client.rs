//! A client of an API: of the node of a data folder, for commands of its operator, or of the cluster that a pod runs in.
//!
//! Invariant: to a node it shows a certificate that the cluster signs for this call of the command, so that
//! audit logs name the command, and what it does is authorized like every other request.

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use quorate_env::Env;
use quorate_meta::{Names, Naming, Value};
use quorate_webhook::{Connection, HTTP_1};

use super::kubeconfig::certify;
use crate::admin::Admin;
use crate::cli::Target;
use crate::error::Error;
use crate::files::read_text;
use crate::pki::{self, names};

/// The group of the user, which may do everything.
const GROUP: &str = "system:masters";
/// Bytes of an answer at most: more than a definition may have, or a list of configurations.
const MAX_ANSWER_BYTES: usize = 64 << 20;

/// A connection to the API of a node.
pub(super) struct ApiClient {
    connection: Connection,
    address: String,
    /// A token to show, where that is no certificate.
    bearer: Option<String>,
    /// The names of the cluster's profile.
    pub(super) names: &'static Names,
}

impl ApiClient {
    /// Connects as a user of this name, for audit logs; the node must be running.
    pub(super) async fn connect(target: &Target, env: &Env, user: &str) -> Result<Self, Error> {
        let mut admin = Admin::connect(target, env).await?;
        let identity = certify(&mut admin, user, Some(GROUP)).await?;
        let authority = read_text(&admin.dir.pki().join(names::AUTHORITY_CERTIFICATE))?;
        let tls = pki::client_config(&authority, Some(&identity), &HTTP_1)?;
        let address = admin.config.api.advertise.clone();
        let connection = Connection::open(&*env.network, &address, tls).await?;
        Ok(Self { connection, address, bearer: None, names: admin.config.naming.names() })
    }

    /// Connects to the API at `host:port`, which this authority (PEM) certifies, with a token.
    pub(super) async fn with_token(
        address: &str,
        authority: &str,
        token: &str,
        env: &Env,
    ) -> Result<Self, Error> {
        let tls = pki::client_config(authority, None, &HTTP_1)?;
        let connection = Connection::open(&*env.network, address, tls).await?;
        let bearer = Some(format!("Bearer {}", token.trim()));
        let names = Naming::Kubernetes.names();
        Ok(Self { connection, address: address.to_owned(), bearer, names })
    }

    /// What is at a path.
    pub(super) async fn get(&mut self, path: &str) -> Result<Value, Error> {
        let found = self.find(path).await?;
        found.ok_or_else(|| Error::failed(format_args!("{path} is not found")))
    }

    /// What is at a path; `None` for a 404.
    pub(super) async fn find(&mut self, path: &str) -> Result<Option<Value>, Error> {
        match self.send(Method::GET, path, None).await? {
            (StatusCode::OK, body) => Ok(Some(body)),
            (StatusCode::NOT_FOUND, _) => Ok(None),
            (status, body) => Err(refused(status, &body)),
        }
    }

    /// Changes an object by a merge patch.
    pub(super) async fn merge(&mut self, path: &str, patch: &Value) -> Result<Value, Error> {
        self.write(Method::PATCH, path, "application/merge-patch+json", patch).await
    }

    /// Sends a body as JSON.
    pub(super) async fn post(&mut self, path: &str, body: &Value) -> Result<Value, Error> {
        self.write(Method::POST, path, "application/json", body).await
    }

    /// Replaces an object.
    pub(super) async fn put(&mut self, path: &str, object: &Value) -> Result<Value, Error> {
        self.write(Method::PUT, path, "application/json", object).await
    }

    async fn write(
        &mut self,
        method: Method,
        path: &str,
        media: &str,
        body: &Value,
    ) -> Result<Value, Error> {
        let body = serde_json::to_string(body).map_err(Error::failed)?;
        match self.send(method, path, Some((media, body))).await? {
            (status, body) if status.is_success() => Ok(body),
            (status, body) => Err(refused(status, &body)),
        }
    }

    /// Sends a request and gives what is answered, whatever that is.
    pub(super) async fn send(
        &mut self,
        method: Method,
        path: &str,
        body: Option<(&str, String)>,
    ) -> Result<(StatusCode, Value), Error> {
        let (media, body) = body.unwrap_or(("application/json", String::new()));
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", &self.address)
            .header("content-type", media);
        let request = match &self.bearer {
            Some(token) => request.header("authorization", token),
            None => request,
        };
        let request = request.body(Full::new(Bytes::from(body))).map_err(Error::config)?;
        let answer = self.connection.send(request).await.map_err(Error::failed)?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), MAX_ANSWER_BYTES).collect().await;
        let body = body.map_err(Error::failed)?.to_bytes();
        Ok((status, serde_json::from_slice(&body).map_err(Error::failed)?))
    }
}

/// What the server says of a request that it does not carry out.
pub(super) fn refused(status: StatusCode, body: &Value) -> Error {
    Error::failed(format_args!("{status}: {}", body.str_at(&["message"]).unwrap_or_default()))
}
