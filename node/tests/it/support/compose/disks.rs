//! A small disk for each node: a file system in a file, which can be filled, and frozen for
//! moments.
//!
//! Needs root, as a loop device does. A frozen disk thaws by itself, also when the test has ended.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::engine::{answers, output};

/// Bytes of each; what is not used takes no room.
const DISK_BYTES: u64 = 1 << 30;
/// The user of the image, who has to own the folders.
const USER: u32 = 65_532;
/// The least that a file takes: a block of the file system.
const BLOCK_BYTES: u64 = 1024;
/// How a disk is slow: each write waits for the next moment in which the disk is not frozen.
const SLOWLY: &str = r#"
for _ in 1 2 3 4 5 6 7 8; do
    fsfreeze --freeze "$1" && sleep 0.4
    fsfreeze --unfreeze "$1"
    sleep 0.1
done
"#;

/// The disks of a cluster, by the nodes' numbers; they go with the test.
pub(crate) struct Disks {
    folder: TempDir,
    nodes: Vec<u64>,
}

impl Disks {
    /// A disk for each of these nodes; the reason where this user cannot mount any.
    pub(crate) fn make(nodes: &[u64]) -> Result<Self, String> {
        let folder = TempDir::new().unwrap();
        let probe = format!("test $(id -u) = 0 && touch {}", folder.path().join("x").display());
        if !answers(&["sh", "-c", &probe]) {
            return Err("only root can mount a disk for each node".to_owned());
        }
        let mut disks = Self { folder, nodes: vec![] };
        for node in nodes {
            let (image, place) = (disks.folder.path().join(format!("{node}.img")), disks.of(*node));
            std::fs::create_dir(&place).unwrap();
            std::fs::File::create(&image).unwrap().set_len(DISK_BYTES).unwrap();
            output(Command::new("mkfs.ext4").args(["-q", "-m", "0"]).arg(&image));
            let mut mount = Command::new("mount");
            mount.args(["-o", "loop"]).args([&image, &place]).stdin(Stdio::null());
            let mounted = mount.output().unwrap();
            if !mounted.status.success() {
                return Err(String::from_utf8_lossy(&mounted.stderr).into_owned());
            }
            disks.nodes.push(*node);
            let data = place.join("data");
            std::fs::create_dir(&data).unwrap();
            std::os::unix::fs::chown(&data, Some(USER), Some(USER)).unwrap();
        }
        Ok(disks)
    }

    /// The folder that has a folder for each node.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn of(&self, node: u64) -> PathBuf {
        self.folder.path().join(node.to_string())
    }

    /// Takes all the room that a node's disk has left.
    pub(super) fn fill(&self, node: u64) {
        let (filling, mut end, mut size) = (self.filling(node), 0_u64, DISK_BYTES);
        while size >= BLOCK_BYTES {
            let (offset, length) = (end.to_string(), size.to_string());
            let file = filling.to_str().unwrap();
            if answers(&["fallocate", "--offset", &offset, "--length", &length, file]) {
                end += size;
            } else {
                size /= 2;
            }
        }
        assert!(end > 0, "the disk of node {node} was full already");
    }

    /// Gives it back.
    pub(super) fn free(&self, node: u64) {
        std::fs::remove_file(self.filling(node)).unwrap();
    }

    fn filling(&self, node: u64) -> PathBuf {
        self.of(node).join("filling")
    }

    /// Makes a node's disk slow for four seconds.
    pub(super) fn slow_down(&self, node: u64) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", SLOWLY, "slowly"]).arg(self.of(node));
        // In a process group of its own: it ends neither with the test nor half-way.
        command.stdin(Stdio::null()).stderr(Stdio::null()).process_group(0).spawn().unwrap()
    }
}

impl Drop for Disks {
    fn drop(&mut self) {
        for node in &self.nodes {
            let place = self.of(*node);
            // Whatever is left of a freeze.
            let _ = Command::new("fsfreeze").arg("-u").arg(&place).stderr(Stdio::null()).status();
            if !answers(&["umount", place.to_str().unwrap()]) {
                println!("{} is still mounted", place.display());
            }
        }
    }
}
