//! Folders that earlier releases have left: each opens, has what it had (a start compares checksums), and
//! is of today's format then.
//!
//! `data/format-N` holds a member's folder as the release with that format left it, each file
//! compressed by gzip: a cluster of one node that was started, five ConfigMaps created and the last of
//! them deleted.

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use flate2::read::GzDecoder;
use quorate_env::disk::SystemDisk;
use quorate_raft::recovery::{Inspection, Recovery, RecoveryOptions, inspect, state_format};
use quorate_raft::types::Peer;
use sha2::{Digest, Sha256};

/// Today's format of the state.
const TODAY: u32 = 4;

/// A folder of the tests.
struct Folder {
    format: u32,
    cluster: &'static str,
    revision: u64,
    keys: usize,
    bytes: u64,
}

const FOLDERS: &[Folder] = &[
    Folder {
        format: 3,
        cluster: "f07c487e93f0165ac760051c3d051191",
        revision: 43,
        keys: 209,
        bytes: 235_789,
    },
    Folder {
        format: 4,
        cluster: "a1bfd0910f4c7b69b840556ee2092091",
        revision: 43,
        keys: 209,
        bytes: 235_789,
    },
];

#[tokio::test]
async fn folders_of_every_format_open_and_become_todays() {
    for folder in FOLDERS {
        let root = tempfile::tempdir().unwrap();
        unpack(folder.format, root.path());
        assert_eq!(state_format(&SystemDisk, root.path()).unwrap(), Some(folder.format));
        drop(Recovery::open(options(folder, root.path())).await.unwrap());
        assert_eq!(state_format(&SystemDisk, root.path()).unwrap(), Some(TODAY));
        check(folder, &inspect(options(folder, root.path())).await.unwrap());
    }
}

#[tokio::test]
async fn an_inspection_changes_no_folder_of_any_format() {
    for folder in FOLDERS {
        let root = tempfile::tempdir().unwrap();
        unpack(folder.format, root.path());
        let before = contents(root.path());
        assert!(before.len() >= 4, "{before:?}");
        for _ in 0..2 {
            check(folder, &inspect(options(folder, root.path())).await.unwrap());
            assert_eq!(contents(root.path()), before, "format {}", folder.format);
        }
        assert_eq!(state_format(&SystemDisk, root.path()).unwrap(), Some(folder.format));
    }
}

/// Digest and time of change of every file.
fn contents(root: &Path) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
    let mut all = BTreeMap::new();
    for part in ["log", "state"] {
        for file in std::fs::read_dir(root.join(part)).unwrap() {
            let path = file.unwrap().path();
            let digest = Sha256::digest(std::fs::read(&path).unwrap());
            let changed = std::fs::metadata(&path).unwrap().modified().unwrap();
            all.insert(path, (digest.to_vec(), changed));
        }
    }
    all
}

#[test]
fn there_is_a_folder_of_each_format() {
    let formats: Vec<u32> = FOLDERS.iter().map(|folder| folder.format).collect();
    assert_eq!(formats, (3..=TODAY).collect::<Vec<_>>());
}

fn check(folder: &Folder, found: &Inspection) {
    let snapshot = &found.snapshot;
    let is = (snapshot.revision().get(), snapshot.len(), snapshot.size());
    assert_eq!(is, (folder.revision, folder.keys, folder.bytes), "format {}", folder.format);
    let has = |name: &str| {
        let key = format!("o/core/configmaps/default/{name}");
        snapshot.get(key.as_bytes()).is_some()
    };
    assert_eq!(["c1", "c4", "c5"].map(has), [true, true, false], "format {}", folder.format);
}

fn options(folder: &Folder, directory: &Path) -> RecoveryOptions {
    RecoveryOptions {
        node: 1,
        cluster: folder.cluster.parse().unwrap(),
        naming: "svc".to_owned(),
        peer: Peer::default(),
        disk: Arc::new(SystemDisk),
        directory: directory.to_owned(),
    }
}

fn unpack(format: u32, to: &Path) {
    let from =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/format-{format}"));
    for part in ["log", "state"] {
        std::fs::create_dir(to.join(part)).unwrap();
        for file in std::fs::read_dir(from.join(part)).unwrap() {
            let path = file.unwrap().path();
            let mut bytes = Vec::new();
            GzDecoder::new(std::fs::File::open(&path).unwrap()).read_to_end(&mut bytes).unwrap();
            std::fs::write(to.join(part).join(path.file_stem().unwrap()), bytes).unwrap();
        }
    }
}
