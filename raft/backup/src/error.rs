//! What can go wrong with a backup, and what may be wrong with an object of a repository.

use std::fmt;

use quorate_store::Revision;
use thiserror::Error;

/// Why a backup could not be made or read.
#[derive(Debug, Error)]
pub enum BackupError {
    /// The URL names no place for a repository.
    #[error("{url}: {reason}")]
    Url {
        /// As it was given.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The place does not do what it is asked.
    #[error("{name}: {source}")]
    Storage {
        /// The object that it was about.
        name: String,
        /// What the place says.
        source: object_store::Error,
    },
    /// An object is not what was written.
    #[error("{name}: {damage}")]
    Damaged {
        /// The object.
        name: String,
        /// What is wrong with it.
        damage: Damage,
    },
    /// There is nothing at the URL.
    #[error("there is no repository at this URL")]
    NoRepository,
    /// The key is not the repository's, or its header is not what was written.
    #[error("the key does not open this repository (or its header is damaged)")]
    WrongKey,
    /// A repository is one cluster's.
    #[error(
        "the repository is of cluster {found}, and this is cluster {expected}: use another URL"
    )]
    OtherCluster {
        /// Whose it is.
        found: String,
        /// Who asks.
        expected: String,
    },
    /// The server does not give its state.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// What was received is not what the server has.
    #[error("what arrived is not what the server holds (digest {found:016x}, not {expected:016x})")]
    Digest {
        /// Of what arrived.
        found: u64,
        /// What the server says.
        expected: u64,
    },
    /// No base is old enough.
    #[error("no base of the repository is of that time or before it")]
    NoBase,
    /// The revision cannot be restored.
    #[error("revision {wanted} cannot be reached: what is there ends with {reached}")]
    Unreachable {
        /// What was asked for.
        wanted: Revision,
        /// The newest that can be restored.
        reached: Revision,
    },
}

/// What is wrong with an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Damage {
    /// It is not there.
    Missing,
    /// It is shorter than its header says.
    Short,
    /// It does not begin as objects of a repository do.
    Foreign,
    /// It was written by a later release.
    Format(u16),
    /// Its checksum is wrong.
    Checksum,
    /// It is not of this repository, name and key.
    Unauthentic,
    /// What is in it makes no sense.
    Contents(&'static str),
    /// It is not the object that the manifest or the next segment names.
    Hash,
    /// What the repository holds is not the state that the server had.
    Digest {
        /// The revision.
        revision: Revision,
    },
    /// Nothing refers to it.
    Unexpected,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("it is missing"),
            Self::Short => f.write_str("it is too short"),
            Self::Foreign => f.write_str("it is no object of a repository"),
            Self::Format(found) => write!(f, "it has format {found}, of a later release"),
            Self::Checksum => f.write_str("its checksum is wrong"),
            Self::Unauthentic => f.write_str("it was not written under this name and key"),
            Self::Contents(what) => f.write_str(what),
            Self::Hash => f.write_str("it is not the object that others refer to"),
            Self::Digest { revision } => {
                write!(f, "the state at revision {revision} is not what the server had")
            }
            Self::Unexpected => f.write_str("nothing refers to it"),
        }
    }
}

/// Why a server does not give its state or its changes.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SourceError {
    /// That far back is no longer kept.
    #[error("the server no longer has that revision, or what came after it")]
    Gone,
    /// It cannot now.
    #[error("{0}")]
    Unavailable(String),
    /// It does not give it to this user.
    #[error("{0}")]
    Refused(String),
}
