//! Backups in a bucket: over HTTP, with a server that fails now and then.

use std::sync::atomic::Ordering;
use std::time::Duration;

use quorate_backup::{Keep, Remote, Repository, Target, prune, restore, verify};

use crate::s3_server::{BUCKET, S3Server};
use crate::support::{Subject, entries, identity, key, options, seams};

async fn open(server: &S3Server) -> Repository {
    let mut options = options();
    options.settings = server.settings();
    options.retry_timeout = Duration::from_secs(20);
    let remote = Remote::open(&format!("s3://{BUCKET}/one/cluster"), &options).unwrap();
    Repository::open_for(remote, key(), seams(), &identity()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bucket_is_as_good_as_a_folder() {
    let server = S3Server::start().await;
    let repository = open(&server).await;
    let mut subject = Subject::new();
    subject.write(100, 100_000).await;
    subject.back_up(&repository, true).await;
    server.state.failing.store(4, Ordering::Relaxed);
    for _ in 0..10 {
        subject.write(3, 100).await;
        subject.back_up(&repository, false).await;
    }
    subject.back_up(&repository, true).await;
    let repository = open(&server).await;
    let verified = verify(&repository).await.unwrap();
    assert_eq!((verified.findings, verified.bases), (vec![], 2));
    let restored = restore(&repository, Target::Newest).await.unwrap();
    assert!(restored.entries == entries(&subject.store.snapshot()));
    prune(&repository, Keep { bases: 1, age_ms: 0 }, false).await.unwrap();
    let verified = verify(&repository).await.unwrap();
    assert_eq!((verified.findings, verified.bases, verified.segments), (vec![], 1, 0));
    let names: Vec<String> = server.state.objects.lock().unwrap().keys().cloned().collect();
    assert!(names.iter().all(|name| name.starts_with("one/cluster/")), "{names:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_never_answers_is_given_up() {
    let server = S3Server::start().await;
    server.state.failing.store(1, Ordering::Relaxed);
    let mut options = options();
    options.settings = server.settings();
    (options.retries, options.retry_timeout) = (2, Duration::from_secs(5));
    let remote = Remote::open(&format!("s3://{BUCKET}/x"), &options).unwrap();
    let error = Repository::open_for(remote, key(), seams(), &identity()).await.unwrap_err();
    assert!(error.to_string().starts_with("quorate-backup: "), "{error}");
}
