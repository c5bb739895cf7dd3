//! Backups in a folder: every revision comes back, an interrupted base goes on, pruning keeps what is
//! needed.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use quorate_backup::{
    BackupError, BackupKey, Credentials, Frames, Identity, Keep, Remote, Repository, Source,
    SourceError, Target, prune, restore, verify,
};
use quorate_store::{MemoryOptions, MemoryStore, Retention, Revision};

use crate::support::{Subject, create, entries, identity, key, options, reopen, repository, seams};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_revision_from_the_first_base_on_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let repository = repository(folder.path()).await;
    let mut subject = Subject::new();
    subject.write(20, 100).await;
    let first = subject.back_up(&repository, true).await.base.unwrap();
    assert_eq!(first.1.revision, Revision::new(20));
    subject.write(30, 300_000).await;
    assert!(subject.back_up(&repository, false).await.base.is_none());
    subject.write(20, 10).await;
    subject.back_up(&repository, true).await;
    subject.write(7, 10).await;
    subject.back_up(&repository, false).await;
    let verified = verify(&repository).await.unwrap();
    assert_eq!(verified.findings, []);
    assert_eq!(verified.reach, [(Revision::new(20), Revision::new(77))]);
    assert_eq!(verified.bases, 2);
    for (at, snapshot) in subject.states.range(Revision::new(20)..) {
        let restored = restore(&repository, Target::Revision(*at)).await.unwrap();
        assert_eq!((restored.revision, restored.newest), (*at, Revision::new(77)));
        assert!(restored.entries == entries(snapshot), "at {at}");
        assert_eq!(restored.credentials, Some(Credentials(Bytes::from_static(b"the secret"))));
    }
    let newest = restore(&repository, Target::Newest).await.unwrap();
    assert_eq!(newest.revision, Revision::new(77));
    let early = restore(&repository, Target::Revision(Revision::new(19))).await.unwrap_err();
    assert!(matches!(early, BackupError::NoBase), "{early}");
    let late = restore(&repository, Target::Revision(Revision::new(78))).await.unwrap_err();
    assert_eq!(late.to_string(), "revision 78 cannot be reached: what is there ends with 77");
    // By the times of transactions.
    let times = subject.store.past().unwrap();
    for at in [30, 55, 70, 77].map(Revision::new) {
        let time = times.time_of(at).unwrap();
        let expect = times.revision_at(time).unwrap();
        let restored = restore(&repository, Target::Time(time)).await.unwrap();
        assert!(restored.entries == entries(&subject.states[&expect]), "at the time of {at}");
    }
    assert!(matches!(restore(&repository, Target::Time(0)).await, Err(BackupError::NoBase)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_key_nothing_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let repository = repository(folder.path()).await;
    let mut subject = Subject::new();
    subject.write(5, 100).await;
    subject.back_up(&repository, true).await;
    let open = async |key: BackupKey| {
        let remote = Remote::open(folder.path().to_str().unwrap(), &options()).unwrap();
        let (clock, entropy) = seams();
        Repository::open(remote, key, clock, entropy).await
    };
    assert!(open(key()).await.is_ok());
    let wrong = open(BackupKey::from_bytes(&[8; 32]).unwrap()).await.unwrap_err();
    assert!(matches!(wrong, BackupError::WrongKey), "{wrong}");
    for file in files(folder.path()) {
        let bytes = std::fs::read(folder.path().join(&file)).unwrap();
        for plain in ["configmaps", "00000", "secret", "svc"] {
            let found = bytes.windows(plain.len()).any(|window| window == plain.as_bytes());
            assert!(!found, "{plain} in {file}");
        }
    }
    let remote = Remote::open(folder.path().to_str().unwrap(), &options()).unwrap();
    let other = Identity { cluster: "1".repeat(32), ..identity() };
    let refused = Repository::open_for(remote, key(), seams(), &other).await.unwrap_err();
    assert!(matches!(refused, BackupError::OtherCluster { .. }), "{refused}");
}

/// A source whose first answer breaks off after some frames.
struct Breaking<'a> {
    subject: &'a Subject,
    frames: std::sync::Mutex<Option<usize>>,
}

#[async_trait]
impl Source for Breaking<'_> {
    async fn identity(&self) -> Result<Identity, SourceError> {
        self.subject.source.identity().await
    }

    async fn state(&self, resume: Option<(Revision, Bytes)>) -> Result<Frames, SourceError> {
        let frames = self.subject.source.state(resume).await?;
        let broken = || Err(SourceError::Unavailable("the connection is gone".to_owned()));
        Ok(match self.frames.lock().unwrap().take() {
            Some(count) => {
                frames.take(count).chain(futures::stream::once(async move { broken() })).boxed()
            }
            None => frames,
        })
    }

    async fn changes(&self, after: Revision) -> Result<Frames, SourceError> {
        self.subject.source.changes(after).await
    }

    async fn credentials(&self) -> Result<Credentials, SourceError> {
        self.subject.source.credentials().await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupted_base_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let repository = repository(folder.path()).await;
    let mut subject = Subject::new();
    subject.write(200, 100_000).await;
    let breaking = Breaking { subject: &subject, frames: Some(40).into() };
    let error = create(&repository, &breaking, true).await.unwrap_err();
    assert_eq!(error.to_string(), "the connection is gone");
    assert!(matches!(restore(&repository, Target::Newest).await, Err(BackupError::NoBase)));
    let before = files(folder.path());
    subject.write(3, 10).await;
    let (id, manifest, reused) = subject.back_up(&repository, true).await.base.unwrap();
    assert!(reused >= 2, "{reused} parts of {}", before.len());
    assert_eq!((id.revision, manifest.revision), (Revision::new(200), Revision::new(200)));
    assert!(before.iter().all(|file| folder.path().join(file).exists()));
    let restored = restore(&repository, Target::Revision(Revision::new(200))).await.unwrap();
    assert!(restored.entries == entries(&subject.states[&Revision::new(200)]));
    assert_eq!(verify(&repository).await.unwrap().findings, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_base_whose_revision_is_gone_is_begun_anew() {
    let folder = tempfile::tempdir().unwrap();
    let repository = repository(folder.path()).await;
    let retention = Retention { time_ms: 0, bytes: 0 };
    let clock = Arc::new(quorate_env::SystemEnv);
    let mut options = MemoryOptions { retention, ..MemoryOptions::new(clock) };
    options.serving.remembered_snapshots = 0;
    let mut subject = Subject::of(Arc::new(MemoryStore::new(options)));
    subject.write(100, 100_000).await;
    let breaking = Breaking { subject: &subject, frames: Some(20).into() };
    create(&repository, &breaking, true).await.unwrap_err();
    let before = files(folder.path());
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    subject.write(100, 100_000).await;
    let (id, _, reused) = subject.back_up(&repository, true).await.base.unwrap();
    assert_eq!((id.revision, reused), (Revision::new(200), 0));
    let gone = |file: &&String| file.contains("bases/") && folder.path().join(file).exists();
    assert_eq!(before.iter().filter(gone).count(), 0);
    assert_eq!(verify(&repository).await.unwrap().findings, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pruning_keeps_the_newest_bases_and_what_they_need() {
    let folder = tempfile::tempdir().unwrap();
    let repository = repository(folder.path()).await;
    let mut subject = Subject::new();
    for _ in 0..4 {
        subject.write(10, 100).await;
        subject.back_up(&repository, true).await;
    }
    let keep = Keep { bases: 2, age_ms: 0 };
    let told = prune(&repository, keep, true).await.unwrap();
    assert_eq!(told.bases.len(), 2);
    assert_eq!(verify(&repository).await.unwrap().bases, 4);
    assert_eq!(prune(&repository, keep, false).await.unwrap(), told);
    let verified = verify(&reopen(folder.path()).await.unwrap()).await.unwrap();
    assert_eq!((verified.findings, verified.bases), (vec![], 2));
    assert_eq!(verified.reach, [(Revision::new(30), Revision::new(40))]);
    let young = Keep { bases: 1, age_ms: 3_600_000 };
    assert_eq!(prune(&repository, young, false).await.unwrap().bases, []);
    prune(&repository, Keep { bases: 0, age_ms: 0 }, false).await.unwrap();
    assert_eq!(verify(&repository).await.unwrap().bases, 1);
}

/// The objects of a folder, by their names.
pub(crate) fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => {
                    found.push(path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned())
                }
            }
        }
    }
    found.sort();
    found
}
