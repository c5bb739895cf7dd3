//! Errors of opening a log: one line for the operator each, naming the file and, where there is
//! one, the place in it.
//!
//! Invariant: a log never starts on data that is not all there: all that is not explained by a
//! crash during the last, unacknowledged write is an error.

use std::io;
use std::path::{Path, PathBuf};

use crate::cluster::ClusterId;

/// Why a log cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum LogOpenError {
    /// The disk refused.
    #[error("log file {}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the disk said.
        source: io::Error,
    },
    /// Durable data is damaged.
    #[error("log file {} is corrupt at offset {offset}: {detail}", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// Byte offset of the damage.
        offset: u64,
        /// What was found there.
        detail: String,
    },
    /// A file that must be there is not.
    #[error("log file {} is missing", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The log belongs to another cluster.
    #[error("log file {} belongs to cluster {found}, not to {expected}", path.display())]
    OtherCluster {
        /// The file.
        path: PathBuf,
        /// The cluster that wrote it.
        found: ClusterId,
        /// The cluster that this node is of.
        expected: ClusterId,
    },
    /// The log belongs to another member of the cluster.
    #[error("log file {} belongs to node {found}, not to node {expected}", path.display())]
    OtherNode {
        /// The file.
        path: PathBuf,
        /// The node that wrote it.
        found: u64,
        /// This node.
        expected: u64,
    },
    /// A newer version wrote the log.
    #[error("log file {} has format {found}; this version reads format {expected}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// The format found.
        found: u32,
        /// The format that is known here.
        expected: u32,
    },
    /// Another process has the log open.
    #[error("log folder {} is in use by another process", path.display())]
    InUse {
        /// The folder.
        path: PathBuf,
    },
    /// The options contradict themselves.
    #[error("log folder {}: {detail}", path.display())]
    Options {
        /// The folder.
        path: PathBuf,
        /// What is wrong.
        detail: String,
    },
}

impl LogOpenError {
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }

    pub(super) fn corrupt(path: &Path, offset: u64, detail: impl Into<String>) -> Self {
        Self::Corrupt { path: path.to_owned(), offset, detail: detail.into() }
    }
}
