//! What the tests share: a store that is written to, a repository in a folder, and what was at each
//! revision.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use quorate_backup::{
    Backup, BackupError, BackupKey, Created, Credentials, Identity, Remote, RemoteOptions,
    Repository, Source, StoreSource,
};
use quorate_env::{Clock, SystemEnv};
use quorate_store::{
    Entry, MemoryOptions, MemoryStore, Operation, Outcome, Revision, Snapshot, Store, Txn,
};

/// A store and all that it ever held.
pub(crate) struct Subject {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) source: StoreSource,
    pub(crate) states: BTreeMap<Revision, Snapshot>,
    written: u64,
}

impl Subject {
    pub(crate) fn new() -> Self {
        Self::of(Arc::new(MemoryStore::new(MemoryOptions::new(Arc::new(SystemEnv)))))
    }

    pub(crate) fn of(store: Arc<dyn Store>) -> Self {
        let identity = identity();
        let credentials = Some(Credentials(Bytes::from_static(b"the secret")));
        let clock = Arc::new(SystemEnv);
        let source = StoreSource {
            store: store.clone(),
            clock,
            identity,
            credentials,
            digested_ms: Arc::default(),
        };
        Self { store, source, states: BTreeMap::new(), written: 0 }
    }

    /// Writes so many transactions: puts, changes and deletions, values of so many bytes.
    pub(crate) async fn write(&mut self, count: u64, bytes: usize) {
        for _ in 0..count {
            let number = self.written;
            self.written += 1;
            let key = |number: u64| Bytes::from(format!("o/core/configmaps/default/{:06}", number));
            let text = format!("{number:08}").repeat(bytes / 8 + 1);
            let mut operations =
                vec![Operation::Put { key: key(number), value: text.clone().into() }];
            match number % 4 {
                1 => operations.push(Operation::Delete { key: key(number / 2) }),
                2 => operations.push(Operation::Put { key: key(number / 2), value: text.into() }),
                _ => {}
            }
            let txn = Txn { operations, ..Txn::default() };
            let Outcome::Committed { revision } = self.store.txn(txn).await.unwrap() else {
                panic!("there are no conditions")
            };
            self.states.insert(revision, self.store.snapshot());
        }
    }

    pub(crate) async fn back_up(&self, repository: &Repository, base: bool) -> Created {
        create(repository, &self.source, base).await.unwrap()
    }
}

pub(crate) fn identity() -> Identity {
    Identity { cluster: "0".repeat(32), naming: "svc".to_owned() }
}

pub(crate) async fn create(
    repository: &Repository,
    source: &dyn Source,
    base: bool,
) -> Result<Created, BackupError> {
    let credentials = Some(Credentials(Bytes::from_static(b"the secret")));
    let backup = Backup { repository, source, credentials, base, progress: &|_| {} };
    quorate_backup::create(backup).await
}

pub(crate) fn key() -> BackupKey {
    BackupKey::from_bytes(&[7; 32]).unwrap()
}

pub(crate) fn options() -> RemoteOptions {
    RemoteOptions::new(Arc::new(SystemEnv), vec![])
}

pub(crate) fn seams() -> (Arc<dyn Clock>, Arc<dyn quorate_env::Entropy>) {
    (Arc::new(SystemEnv), Arc::new(SystemEnv))
}

pub(crate) async fn repository(folder: &Path) -> Repository {
    let remote = Remote::open(folder.to_str().unwrap(), &options()).unwrap();
    Repository::open_for(remote, key(), seams(), &identity()).await.unwrap()
}

pub(crate) async fn reopen(folder: &Path) -> Result<Repository, BackupError> {
    let remote = Remote::open(folder.to_str().unwrap(), &options())?;
    let (clock, entropy) = seams();
    Repository::open(remote, key(), clock, entropy).await
}

pub(crate) fn entries(snapshot: &Snapshot) -> BTreeMap<Bytes, Entry> {
    snapshot.range(b"", None).map(|(key, entry)| (key.clone(), entry.clone())).collect()
}
