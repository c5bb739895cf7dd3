//! Planted damages: each is found, and the object is named.

use std::path::Path;

use quorate_backup::{BackupError, Finding, Target, restore, verify};

use crate::folder::files;
use crate::support::{Subject, reopen, repository};

/// How many damages are planted.
const DAMAGES: usize = 100;

/// A repository of two bases of several parts, and segments before, between and after them.
async fn make(folder: &Path) {
    let repository = repository(folder).await;
    let mut subject = Subject::new();
    subject.write(36, 200_000).await;
    subject.back_up(&repository, true).await;
    for _ in 0..10 {
        subject.write(6, 1000).await;
        subject.back_up(&repository, false).await;
    }
    subject.write(6, 200_000).await;
    subject.back_up(&repository, true).await;
    for _ in 0..4 {
        subject.write(6, 1000).await;
        subject.back_up(&repository, false).await;
    }
}

/// What is found in a folder.
async fn found(folder: &Path) -> Vec<Finding> {
    match reopen(folder).await {
        Ok(repository) => verify(&repository).await.unwrap().findings,
        Err(BackupError::WrongKey | BackupError::NoRepository | BackupError::Damaged { .. }) => {
            let damage = quorate_backup::Damage::Missing;
            vec![Finding { name: "quorate-backup".to_owned(), damage }]
        }
        Err(other) => panic!("{other}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_of_a_hundred_damages_is_found() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path()).await;
    assert_eq!(found(folder.path()).await, []);
    let names = files(folder.path());
    assert!(names.len() > 20, "{names:?}");
    let mut random = 12_345_u64;
    let mut next = |below: usize| {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(random >> 33).unwrap() % below
    };
    for number in 0..DAMAGES {
        let name = &names[next(names.len())];
        let path = folder.path().join(name);
        let whole = std::fs::read(&path).unwrap();
        let mut other = None;
        let what = match number % 4 {
            0 => {
                let mut bent = whole.clone();
                let at = next(bent.len());
                bent[at] ^= 1 << next(8);
                std::fs::write(&path, bent).unwrap();
                format!("bit of byte {at} flipped")
            }
            1 => {
                let length = next(whole.len());
                std::fs::write(&path, &whole[..length]).unwrap();
                format!("cut to {length} bytes")
            }
            2 => {
                let with = names.iter().filter(|with| *with != name).nth(next(names.len() - 1));
                let with = folder.path().join(with.unwrap());
                let bytes = std::fs::read(&with).unwrap();
                std::fs::write(&path, &bytes).unwrap();
                std::fs::write(&with, &whole).unwrap();
                let what = format!("swapped with {}", with.display());
                other = Some((with, bytes));
                what
            }
            _ => {
                std::fs::remove_file(&path).unwrap();
                "removed".to_owned()
            }
        };
        let findings = found(folder.path()).await;
        let swapped = other.as_ref().map(|(path, _)| path.strip_prefix(folder.path()).unwrap());
        let is_it = |finding: &Finding| {
            finding.name == *name
                || swapped.is_some_and(|path| path.to_str() == Some(&finding.name))
        };
        assert!(findings.iter().any(is_it), "{name} {what}: {findings:?}");
        std::fs::write(&path, whole).unwrap();
        if let Some((path, bytes)) = other {
            std::fs::write(path, bytes).unwrap();
        }
    }
    assert_eq!(found(folder.path()).await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restore_passes_a_damaged_base_by_when_an_earlier_one_leads_there() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path()).await;
    let repository = reopen(folder.path()).await.unwrap();
    let whole = restore(&repository, Target::Newest).await.unwrap();
    let newest = repository.list().await.unwrap().bases.last().unwrap().id;
    let parts = folder.path().join("bases").join(newest.to_string());
    for file in std::fs::read_dir(&parts).unwrap() {
        let path = file.unwrap().path();
        if !path.ends_with("manifest") {
            std::fs::write(path, "x").unwrap();
        }
    }
    let again = restore(&repository, Target::Newest).await.unwrap();
    assert_eq!((again.revision, again.entries == whole.entries), (whole.revision, true));
    // Without what leads on from the earlier one, less than there was is not given out.
    std::fs::remove_dir_all(folder.path().join("segments")).unwrap();
    let error = restore(&repository, Target::Newest).await.unwrap_err();
    assert!(matches!(error, BackupError::Damaged { .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_belong_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path()).await;
    std::fs::write(folder.path().join("notes.txt"), "x").unwrap();
    let findings = found(folder.path()).await;
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].name, "notes.txt");
}
