//! Where a repository lies: a folder, or a bucket of S3, Google Cloud Storage or Azure.
//!
//! Invariants: a call ends, within the retries' time; what fails for a moment is tried again with
//! growing pauses (`object_store` does both for buckets); an object in a folder is durable when its put
//! returns. Credentials of buckets come from the variables that their own tools read
//! (`AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT_URL`, `GOOGLE_SERVICE_ACCOUNT`, `AZURE_STORAGE_ACCOUNT_KEY`, …).

mod connector;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::prefix::PrefixStore;
use object_store::{
    BackoffConfig, ClientOptions, ObjectStore, ObjectStoreExt, ObjectStoreScheme, PutMode,
    PutOptions, PutPayload, RetryConfig,
};
use quorate_env::Network;
use rustls_pki_types::CertificateDer;
use url::Url;

use self::connector::Connector;
use crate::error::BackupError;
use crate::pace::Pace;

/// Objects that are removed at a time.
const CONCURRENT_REMOVALS: usize = 8;
/// The longest pause before a call is tried again.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// How a place is reached.
#[derive(Debug, Clone)]
pub struct RemoteOptions {
    /// The way out.
    pub network: Arc<dyn Network>,
    /// The authorities of the platform, for buckets.
    pub roots: Vec<CertificateDer<'static>>,
    /// How often a call is tried again.
    pub retries: usize,
    /// How long all tries of one call may take.
    pub retry_timeout: Duration,
    /// How long one answer may take.
    pub timeout: Duration,
    /// Bytes that are written in a second at most; 0 is any number.
    pub bytes_per_second: u64,
    /// Settings of buckets by the names of `object_store`, in place of variables.
    pub settings: Vec<(String, String)>,
}

impl RemoteOptions {
    /// The usual limits.
    #[must_use]
    pub fn new(network: Arc<dyn Network>, roots: Vec<CertificateDer<'static>>) -> Self {
        Self {
            network,
            roots,
            retries: 10,
            retry_timeout: Duration::from_secs(180),
            timeout: Duration::from_secs(60),
            bytes_per_second: 0,
            settings: Vec::new(),
        }
    }
}

/// A place with objects.
#[derive(Debug)]
pub struct Remote {
    store: Arc<dyn ObjectStore>,
    pace: Pace,
}

/// An object as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) name: String,
    pub(crate) bytes: u64,
    /// When it was written, milliseconds since the Unix epoch, by the place's clock.
    pub(crate) modified_ms: u64,
}

impl Remote {
    /// The place at a URL: `file:///FOLDER` or a path, `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX`,
    /// `az://CONTAINER/PREFIX`.
    ///
    /// # Errors
    /// [`BackupError::Url`] when it cannot be used.
    pub fn open(url: &str, options: &RemoteOptions) -> Result<Self, BackupError> {
        let wrong = |reason: &dyn std::fmt::Display| BackupError::Url {
            url: url.to_owned(),
            reason: reason.to_string(),
        };
        let store = match url.contains("://") {
            false => folder(std::path::Path::new(url)).map_err(|error| wrong(&error))?,
            true => {
                let parsed = Url::parse(url).map_err(|error| wrong(&error))?;
                match (parsed.scheme(), parsed.to_file_path()) {
                    ("file", Ok(path)) => folder(&path).map_err(|error| wrong(&error))?,
                    ("file", Err(())) => return Err(wrong(&"it names no folder")),
                    _ => bucket(&parsed, options).map_err(|error| wrong(&error))?,
                }
            }
        };
        Ok(Self { store, pace: Pace::new(options.bytes_per_second) })
    }

    /// Writes an object.
    pub(crate) async fn put(&self, name: &str, object: Vec<u8>) -> Result<(), BackupError> {
        self.pace.take(object.len() as u64).await;
        let put = self.store.put(&Path::from(name), PutPayload::from(object)).await;
        put.map(drop).map_err(|source| BackupError::Storage { name: name.to_owned(), source })
    }

    /// Writes an object of a name that nothing has; false when something has it.
    pub(crate) async fn put_new(&self, name: &str, object: Vec<u8>) -> Result<bool, BackupError> {
        let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        let put = self.store.put_opts(&Path::from(name), PutPayload::from(object), options).await;
        match put {
            Ok(_) => Ok(true),
            Err(object_store::Error::AlreadyExists { .. }) => Ok(false),
            Err(source) => Err(BackupError::Storage { name: name.to_owned(), source }),
        }
    }

    /// Reads one; `None` when there is none of that name.
    pub(crate) async fn get(&self, name: &str) -> Result<Option<Bytes>, BackupError> {
        let read = async { self.store.get(&Path::from(name)).await?.bytes().await };
        match read.await {
            Ok(object) => Ok(Some(object)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(source) => Err(BackupError::Storage { name: name.to_owned(), source }),
        }
    }

    /// All objects, in the order of their names.
    pub(crate) async fn list(&self) -> Result<Vec<Stored>, BackupError> {
        let stored = |meta: object_store::ObjectMeta| Stored {
            name: meta.location.to_string(),
            bytes: meta.size,
            modified_ms: u64::try_from(meta.last_modified.timestamp_millis()).unwrap_or_default(),
        };
        let listed = self.store.list(None).map_ok(stored).try_collect::<Vec<_>>().await;
        let mut listed = listed
            .map_err(|source| BackupError::Storage { name: "the list".to_owned(), source })?;
        listed.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(listed)
    }

    /// Removes objects; one that is gone already is no error.
    pub(crate) async fn remove(&self, names: Vec<String>) -> Result<(), BackupError> {
        let removals = names.into_iter().map(|name| async move {
            match self.store.delete(&Path::from(name.as_str())).await {
                Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
                Err(source) => Err(BackupError::Storage { name, source }),
            }
        });
        futures::stream::iter(removals).buffer_unordered(CONCURRENT_REMOVALS).try_collect().await
    }
}

/// A folder, which is made if it is not there.
fn folder(path: &std::path::Path) -> Result<Arc<dyn ObjectStore>, String> {
    std::fs::create_dir_all(path).map_err(|error| error.to_string())?;
    let store = LocalFileSystem::new_with_prefix(path).map_err(|error| error.to_string())?;
    Ok(Arc::new(store.with_fsync(true)))
}

fn bucket(url: &Url, options: &RemoteOptions) -> Result<Arc<dyn ObjectStore>, String> {
    let (scheme, path) = ObjectStoreScheme::parse(url).map_err(|error| error.to_string())?;
    let store = match scheme {
        ObjectStoreScheme::AmazonS3 => s3(url, options),
        ObjectStoreScheme::GoogleCloudStorage => gcs(url, options),
        ObjectStoreScheme::MicrosoftAzure => azure(url, options),
        _ => return Err("it begins with none of file:, s3:, gs:, az:".to_owned()),
    };
    let store = store.map_err(|error| error.to_string())?;
    Ok(if path.as_ref().is_empty() { store } else { Arc::new(PrefixStore::new(store, path)) })
}

fn s3(url: &Url, options: &RemoteOptions) -> object_store::Result<Arc<dyn ObjectStore>> {
    let mut builder = AmazonS3Builder::from_env().with_url(url.as_str());
    for (name, value) in &options.settings {
        builder = builder.with_config(name.parse()?, value);
    }
    let store = builder
        .with_client_options(client_options())
        .with_retry(retry(options))
        .with_http_connector(Connector::new(options))
        .build()?;
    Ok(Arc::new(store))
}

fn gcs(url: &Url, options: &RemoteOptions) -> object_store::Result<Arc<dyn ObjectStore>> {
    let mut builder = GoogleCloudStorageBuilder::from_env().with_url(url.as_str());
    for (name, value) in &options.settings {
        builder = builder.with_config(name.parse()?, value);
    }
    let store = builder
        .with_client_options(client_options())
        .with_retry(retry(options))
        .with_http_connector(Connector::new(options))
        .build()?;
    Ok(Arc::new(store))
}

fn azure(url: &Url, options: &RemoteOptions) -> object_store::Result<Arc<dyn ObjectStore>> {
    let mut builder = MicrosoftAzureBuilder::from_env().with_url(url.as_str());
    for (name, value) in &options.settings {
        builder = builder.with_config(name.parse()?, value);
    }
    let store = builder
        .with_client_options(client_options())
        .with_retry(retry(options))
        .with_http_connector(Connector::new(options))
        .build()?;
    Ok(Arc::new(store))
}

/// A server in the own network may speak plain HTTP; what is written there is encrypted anyway.
fn client_options() -> ClientOptions {
    ClientOptions::new().with_allow_http(true)
}

fn retry(options: &RemoteOptions) -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig { max_backoff: LONGEST_PAUSE, ..BackoffConfig::default() },
        max_retries: options.retries,
        retry_timeout: options.retry_timeout,
    }
}
