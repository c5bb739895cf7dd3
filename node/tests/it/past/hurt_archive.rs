//! An archive that is hurt while its node, which was killed under load, is down: the node serves, and
//! what it tells of the past is right, or it says that it does not know.

use std::fs;
use std::os::unix::fs::FileExt;

use super::*;
use crate::load::{Load, Written, collection, make_namespace};

/// Little history, so that much is only in the archive.
const HISTORY: &str = "--history-size=300KiB";
/// Answers that say that the past is not known.
const UNKNOWN: [u16; 2] = [410, 503];
/// No table of this test has as many bytes; a file that fjall sets aside for itself has more.
const LARGE_BYTES: u64 = 8 << 20;
const NAMESPACE: &str = "load";

/// A damage, and how it is done.
type Hurt = (&'static str, fn(&Cluster));
/// What is done to the archives of nodes 1 and 2.
const HURTS: [Hurt; 4] = [
    ("nothing", |_| {}),
    ("swapped", |cluster| {
        let [one, two, spare] = [archive(cluster, 1), archive(cluster, 2), cluster.spare("third")];
        fs::rename(&one, &spare).unwrap();
        fs::rename(&two, &one).unwrap();
        fs::rename(&spare, &two).unwrap();
    }),
    ("flipped and truncated", |cluster| {
        for (file, length) in files(&archive(cluster, 1)) {
            let file = fs::File::options().read(true).write(true).open(file).unwrap();
            for at in (length / 7..length).step_by(997) {
                let mut byte = [0];
                file.read_exact_at(&mut byte, at).unwrap();
                file.write_all_at(&[byte[0] ^ 4], at).unwrap();
            }
        }
        for (file, length) in files(&archive(cluster, 2)) {
            fs::File::options().write(true).open(file).unwrap().set_len(length / 2).unwrap();
        }
    }),
    ("deleted", |cluster| fs::remove_dir_all(archive(cluster, 1)).unwrap()),
];

fn archive(cluster: &Cluster, node: u64) -> PathBuf {
    cluster.node(node).join("archive")
}

/// The files below a folder that are not empty, with their lengths.
fn files(folder: &Path) -> Vec<(PathBuf, u64)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let length = fs::metadata(&path).unwrap().len();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false if (1..LARGE_BYTES).contains(&length) => found.push((path, length)),
            false => {}
        }
    }
    found
}

/// How many of these revisions the node knows; all that it tells is right.
async fn known(cluster: &Cluster, node: u64, written: &[Written]) -> usize {
    let mut client = cluster.client(node);
    let mut known = 0;
    for (revision, (name, generation)) in
        written.iter().flat_map(|part| &part.revisions).step_by(25)
    {
        let path = format!("{}/{name}?asOf={revision}", collection(NAMESPACE));
        let answer = client.get(&path).await;
        if UNKNOWN.contains(&answer.status) {
            continue;
        }
        let found = answer.expect(200).body;
        assert_eq!(version(&found), *revision, "{found}");
        assert_eq!(found["data"]["generation"], generation.to_string(), "{found}");
        known += 1;
    }
    known
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hurt_archive_tells_what_is_right_or_that_it_does_not_know() {
    let mut cluster = Cluster::start(3, &[HISTORY]);
    make_namespace(&mut cluster.client(3), NAMESPACE).await;
    let mut written: Vec<Written> = Vec::new();
    for (what, hurt) in HURTS {
        let load = Load::start(&cluster, &[3], NAMESPACE);
        load.goes_on(250).await;
        [1, 2].into_iter().for_each(|node| cluster.kill(node));
        written.push(load.finish().await);
        hurt(&cluster);
        for node in [1, 2] {
            let folder = cluster.node(node);
            cluster.serve_with(&folder, &[HISTORY]);
        }
        for node in [1, 2] {
            cluster.ready(node).await;
        }
        let (one, two) = (known(&cluster, 1, &written).await, known(&cluster, 2, &written).await);
        println!("{what}: {one} and {two} known");
        let all = known(&cluster, 3, &written).await;
        assert!(all > 8 && (what != "nothing" || one == all), "{what}: {one} of {all}");
        let name = what.replace(' ', "-");
        let object = make_map(&mut cluster.client(1), NAMESPACE, &name, "x").await;
        let path = format!("{}?asOf={}", map(NAMESPACE, &name), version(&object));
        assert_eq!(cluster.client(1).get(&path).await.expect(200).body["data"]["k"], "x");
    }
}
