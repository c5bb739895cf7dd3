//! The cluster that the pods run in: the registration, which is a Secret there, and the size of the set of
//! voters.
//!
//! Invariant: a write is bound to what was read for it, and says when another one was faster. The service
//! account's token is read for each connection, because it is renewed.

use std::collections::BTreeSet;

use http::{Method, StatusCode};
use quorate_env::Env;
use quorate_meta::Value;

use super::super::api_client::{ApiClient, refused};
use super::registration::Registration;
use crate::cli::Pod;
use crate::error::Error;
use crate::files::read_text;

/// A registration that was read, with its version.
pub(super) struct Registered {
    pub(super) registration: Registration,
    version: String,
}

impl Registered {
    fn of(secret: &Value) -> Result<Self, Error> {
        let version = secret.str_at(&["metadata", "resourceVersion"]).unwrap_or_default();
        Ok(Self { registration: Registration::read(secret)?, version: version.to_owned() })
    }
}

/// A StatefulSet of voters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct VoterSet {
    /// How many pods it is to have.
    pub(super) replicas: u64,
    /// How many are ready.
    pub(super) ready: u64,
}

/// A connection to the API of that cluster.
pub(super) struct Host {
    client: ApiClient,
    namespace: String,
    registration: String,
}

impl Host {
    /// Connects as the pod's service account.
    pub(super) async fn connect(pod: &Pod, env: &Env) -> Result<Self, Error> {
        let token = read_text(&pod.host_credentials.join("token"))?;
        let authority = read_text(&pod.host_credentials.join("ca.crt"))?;
        let client = ApiClient::with_token(&pod.host_api, &authority, &token, env).await;
        let client = client.map_err(|error| {
            Error::failed(format_args!("the API at {} does not answer: {error}", pod.host_api))
        })?;
        let (namespace, registration) = (pod.namespace.clone(), pod.registration.clone());
        Ok(Self { client, namespace, registration })
    }

    /// The registration, if there is one.
    pub(super) async fn registered(&mut self) -> Result<Option<Registered>, Error> {
        let path = format!("{}/{}", self.secrets(), self.registration);
        self.client.find(&path).await?.as_ref().map(Registered::of).transpose()
    }

    /// Registers what follows on `before`. Nothing when another pod was faster.
    pub(super) async fn register(
        &mut self,
        registration: &Registration,
        before: Option<&Registered>,
    ) -> Result<Option<Registered>, Error> {
        let version = before.map(|before| before.version.as_str());
        let secret = registration.write(&self.registration, version);
        let body = serde_json::to_string(&secret).map_err(Error::failed)?;
        let (method, path) = match before {
            Some(_) => (Method::PUT, format!("{}/{}", self.secrets(), self.registration)),
            None => (Method::POST, self.secrets()),
        };
        match self.client.send(method, &path, Some(("application/json", body))).await? {
            (StatusCode::CONFLICT | StatusCode::NOT_FOUND, _) => Ok(None),
            (status, secret) if status.is_success() => Registered::of(&secret).map(Some),
            (status, body) => Err(refused(status, &body)),
        }
    }

    /// The set of the voters; nothing where it is gone.
    pub(super) async fn voters(&mut self, set: &str) -> Result<Option<VoterSet>, Error> {
        let path = format!("/apis/apps/v1/namespaces/{}/statefulsets/{set}", self.namespace);
        let set = self.client.find(&path).await?;
        let number = |set: &Value, place: &[&str; 2]| set.at(place).and_then(Value::as_u64);
        Ok(set.map(|set| VoterSet {
            // As the API defaults it.
            replicas: number(&set, &["spec", "replicas"]).unwrap_or(1),
            ready: number(&set, &["status", "readyReplicas"]).unwrap_or(0),
        }))
    }

    /// The addresses of the pods with these labels.
    pub(super) async fn pod_addresses(&mut self, labels: &str) -> Result<BTreeSet<String>, Error> {
        let path = format!("/api/v1/namespaces/{}/pods?labelSelector={labels}", self.namespace);
        let pods = self.client.get(&path).await?;
        let pods = pods.at(&["items"]).and_then(Value::as_list);
        let pods = pods.ok_or_else(|| Error::failed("the host's list of pods has no items"))?;
        let addresses = pods.iter().filter_map(|pod| pod.str_at(&["status", "podIP"]));
        Ok(addresses.map(str::to_owned).collect())
    }

    fn secrets(&self) -> String {
        format!("/api/v1/namespaces/{}/secrets", self.namespace)
    }
}
