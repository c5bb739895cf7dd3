//! The data folder of a node: its layout, and the lock that keeps a second process out.
//!
//! ```text
//! DIR/                     what `dev` makes, for people
//!   admin.kubeconfig
//!   pki/{ca,admin}.{crt,key}
//!   node-1/ node-2/ ...    one data folder a node
//!
//! DIR/node-1/              a node's data folder
//!   node.json              who it is (crate::config)
//!   lock                   held while a process serves it
//!   pid                    of that process
//!   node.log               what it logs, when `dev` started it
//!   pki/                   its certificates, the authorities' certificates, the cluster secret
//!   raft/                  log and state (quorate-raft)
//!   archive/               the past (quorate-archive)
//! ```

use std::fs::{File, TryLockError};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::error::{Error, at};
use crate::files::write_public;

/// How long a process waits for the lock: a process that was killed still holds it for a moment.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);
/// The bits of a folder's mode that let other users read it.
const OTHERS_READ: u32 = 0o055;
/// The number of the user root.
const ROOT: u32 = 0;
/// Between two attempts.
const LOCK_RETRY: Duration = Duration::from_millis(20);

/// A node's data folder.
#[derive(Debug, Clone)]
pub(crate) struct DataDir {
    root: PathBuf,
}

impl DataDir {
    /// The folder at this path, whether it exists or not.
    pub(crate) fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The folder of one node of a `dev` cluster.
    pub(crate) fn of_node(cluster_root: &Path, node: u64) -> Self {
        Self::new(cluster_root.join(format!("node-{node}")))
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        &self.root
    }

    /// The file with the node's identity.
    pub(crate) fn config(&self) -> PathBuf {
        self.root.join("node.json")
    }

    /// Certificates and keys.
    pub(crate) fn pki(&self) -> PathBuf {
        self.root.join("pki")
    }

    /// The secret that seals the authorities' keys in the store.
    pub(crate) fn cluster_secret(&self) -> PathBuf {
        self.pki().join("cluster.secret")
    }

    /// The log and the state.
    pub(crate) fn raft(&self) -> PathBuf {
        self.root.join("raft")
    }

    /// Every version of every object, for days.
    pub(crate) fn archive(&self) -> PathBuf {
        self.root.join("archive")
    }

    /// The output of a node that `dev` started.
    pub(crate) fn log_file(&self) -> PathBuf {
        self.root.join("node.log")
    }

    /// The process id of the process that serves the folder.
    pub(crate) fn pid_file(&self) -> PathBuf {
        self.root.join("pid")
    }

    /// Whether a node has been set up here.
    pub(crate) fn is_set_up(&self) -> bool {
        self.config().exists()
    }

    /// Keeps every other process out for as long as the result lives, and leaves the process id
    /// behind. Waits up to [`LOCK_TIMEOUT`] for a process that is ending.
    pub(crate) async fn lock(&self) -> Result<Lock, Error> {
        self.refuse_root()?;
        let path = self.root.join("lock");
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(at(&path))?;
        let patience = Instant::now() + LOCK_TIMEOUT;
        while let Err(error) = file.try_lock() {
            match error {
                TryLockError::WouldBlock if Instant::now() < patience => sleep(LOCK_RETRY).await,
                TryLockError::WouldBlock => {
                    return Err(Error::config(format_args!(
                        "{} is served by another process already",
                        self.root.display()
                    )));
                }
                TryLockError::Error(error) => return Err(at(&path)(error)),
            }
        }
        self.warn_if_readable();
        write_public(&self.pid_file(), std::process::id().to_string().as_bytes())?;
        Ok(Lock { pid_file: self.pid_file(), _file: file })
    }

    /// Refuses root in the folder of another user: what root makes there, that user cannot open, and its
    /// node does not start again.
    pub(crate) fn refuse_root(&self) -> Result<(), Error> {
        let owner = std::fs::metadata(&self.root).map_err(at(&self.root))?.uid();
        if is_root() && owner != ROOT {
            let folder = self.root.display();
            return Err(Error::config(format_args!(
                "{folder} belongs to user {owner}: run this as that user, by 'runuser -u NAME -- quorate ...'"
            )));
        }
        Ok(())
    }

    /// Warns when others may look into the folder: all Secrets are in it.
    fn warn_if_readable(&self) {
        let mode = std::fs::metadata(&self.root).map_or(0, |folder| folder.permissions().mode());
        if mode & OTHERS_READ != 0 {
            let (folder, mode) = (self.root.display(), format!("{:03o}", mode & 0o777));
            tracing::warn!(%folder, mode, "other users can read the data folder, and with it every Secret: its mode should be 700");
        }
    }
}

/// Whether this process is root's, where the system tells.
fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == ROOT)
}

/// A data folder that is being served. Removes the process id when dropped; the kernel releases the
/// lock itself.
#[derive(Debug)]
pub(crate) struct Lock {
    pid_file: PathBuf,
    _file: File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A pid file that stays behind does no harm: the lock is what counts.
        let _ = std::fs::remove_file(&self.pid_file);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn root_leaves_no_files_in_the_folder_of_another_user() {
        if !is_root() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::chown(folder.path(), Some(4711), None).unwrap();
        let refused = DataDir::new(folder.path()).lock().await.unwrap_err().to_string();
        assert!(refused.contains("belongs to user 4711: run this as that user"), "{refused}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_folder_is_given_to_one_process_and_to_the_next_when_it_dies() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::new(folder.path());
        let first = dir.lock().await.unwrap();
        let refused = dir.lock().await.unwrap_err().to_string();
        assert!(refused.ends_with("is served by another process already"), "{refused}");
        let dying = tokio::spawn(async move {
            sleep(LOCK_TIMEOUT / 2).await;
            drop(first);
        });
        assert!(dir.lock().await.is_ok());
        dying.await.unwrap();
    }
}
