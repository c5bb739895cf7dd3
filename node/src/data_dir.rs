//! Where a node keeps what: the layout of its data folder, and the lock that keeps a second process out.
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
//! ```

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use crate::error::{Error, at};
use crate::pki;

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

    /// Who the node is.
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

    /// Keeps every other process out for as long as the result lives, and leaves the process id behind.
    pub(crate) fn lock(&self) -> Result<Lock, Error> {
        let path = self.root.join("lock");
        let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(at(&path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::config(format_args!(
                    "{} is served by another process already",
                    self.root.display()
                )));
            }
            Err(TryLockError::Error(error)) => return Err(at(&path)(error)),
        }
        pki::write_public(&self.pid_file(), std::process::id().to_string().as_bytes())?;
        Ok(Lock { pid_file: self.pid_file(), _file: file })
    }
}

/// A data folder that is being served. Removes the process id when dropped; the kernel releases the lock itself.
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
