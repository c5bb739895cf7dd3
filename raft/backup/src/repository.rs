//! An open repository: its header, its objects by their meaning, and what there is.
//!
//! Invariant: everything that goes in and out passes here, sealed under its name.

use std::collections::BTreeMap;
use std::sync::Arc;

use quorate_env::{Clock, Entropy};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::{BackupError, Damage};
use crate::index;
use crate::key::BackupKey;
use crate::layout::{BaseId, HEADER, Name, PartId, SegmentId};
use crate::record::{Hash, Header, Index, Manifest, Part, Segment, hash};
use crate::remote::{Remote, Stored};
use crate::sealed::{Kind, Place, RepositoryId};

/// The cluster whose states a repository has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Its id, as it prints.
    pub cluster: String,
    /// Its naming profile.
    pub naming: String,
}

/// A repository that the key opens.
#[derive(Debug)]
pub struct Repository {
    pub(crate) remote: Remote,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    key: BackupKey,
    header: Header,
}

/// What lies in a repository, by the names alone.
#[derive(Debug, Clone, Default)]
pub struct Listed {
    /// The bases, oldest first.
    pub bases: Vec<ListedBase>,
    /// The segments, in their order.
    pub segments: Vec<SegmentId>,
    /// Bytes of all objects.
    pub bytes: u64,
    /// What does not belong here.
    pub foreign: Vec<String>,
    pub(crate) objects: usize,
}

/// A base, by the names of its objects.
#[derive(Debug, Clone)]
pub struct ListedBase {
    /// Its name.
    pub id: BaseId,
    /// Whether it has a manifest.
    pub complete: bool,
    /// Bytes of its objects.
    pub bytes: u64,
    /// When the last of them was written, milliseconds since the Unix epoch.
    pub modified_ms: u64,
    pub(crate) parts: Vec<PartId>,
}

impl Repository {
    /// Opens the repository at a place.
    ///
    /// # Errors
    /// [`BackupError::NoRepository`] when there is none, [`BackupError::WrongKey`].
    pub async fn open(
        remote: Remote,
        key: BackupKey,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Result<Self, BackupError> {
        let object = remote.get(HEADER).await?.ok_or(BackupError::NoRepository)?;
        let place = Place { repository: [0; 16], kind: Kind::Header, name: HEADER };
        let header = place.open(&key, &object).map_err(|damage| match damage {
            Damage::Unauthentic => BackupError::WrongKey,
            damage => BackupError::Damaged { name: HEADER.to_owned(), damage },
        })?;
        Ok(Self { remote, clock, entropy, key, header })
    }

    /// Opens it, or makes it for this cluster.
    ///
    /// # Errors
    /// [`BackupError::OtherCluster`] when it is another one's; those of [`Repository::open`].
    pub async fn open_for(
        remote: Remote,
        key: BackupKey,
        (clock, entropy): (Arc<dyn Clock>, Arc<dyn Entropy>),
        identity: &Identity,
    ) -> Result<Self, BackupError> {
        if remote.get(HEADER).await?.is_none() {
            let mut repository = [0; 16];
            entropy.fill(&mut repository);
            let Identity { cluster, naming } = identity.clone();
            let header = Header { repository, cluster, naming, created_ms: clock.now_ms() };
            let place = Place { repository: [0; 16], kind: Kind::Header, name: HEADER };
            // Another node may make it at the same time.
            if remote.put_new(HEADER, place.seal(&key, &*entropy, &header)).await? {
                let made = Self { remote, clock, entropy, key, header };
                index::save(&made, &Index::default()).await?;
                return Ok(made);
            }
        }
        let opened = Self::open(remote, key, clock, entropy).await?;
        if opened.header.cluster != identity.cluster {
            return Err(BackupError::OtherCluster {
                found: opened.header.cluster,
                expected: identity.cluster.clone(),
            });
        }
        Ok(opened)
    }

    /// Whose it is.
    #[must_use]
    pub fn identity(&self) -> Identity {
        Identity { cluster: self.header.cluster.clone(), naming: self.header.naming.clone() }
    }

    /// Names it among all repositories.
    #[must_use]
    pub fn id(&self) -> RepositoryId {
        self.header.repository
    }

    /// What there is, without reading it.
    ///
    /// # Errors
    /// When the place does not say.
    pub async fn list(&self) -> Result<Listed, BackupError> {
        Ok(listed(&self.remote.list().await?))
    }

    /// The manifest of a base.
    ///
    /// # Errors
    /// When it is missing or damaged.
    pub async fn manifest(&self, base: BaseId) -> Result<Manifest, BackupError> {
        let manifest: Manifest = self.load(Kind::Manifest, &base.manifest()).await?.0;
        match manifest.revision == base.revision {
            true => Ok(manifest),
            false => Err(damaged(base.manifest(), Damage::Contents("it is of another revision"))),
        }
    }

    pub(crate) async fn part(
        &self,
        base: BaseId,
        part: PartId,
    ) -> Result<(Part, Hash, u64), BackupError> {
        self.load(Kind::Part, &base.part(part)).await
    }

    pub(crate) async fn segment(&self, id: SegmentId) -> Result<(Segment, Hash), BackupError> {
        let (segment, hash, _): (Segment, _, _) = self.load(Kind::Segment, &id.name()).await?;
        let in_order = segment.batches.is_sorted_by(|a, b| a.revision < b.revision);
        let inside = segment
            .batches
            .iter()
            .all(|batch| batch.revision > id.after && batch.revision <= id.last);
        if (segment.after, segment.last) != (id.after, id.last) || !in_order || !inside {
            let damage = Damage::Contents("its transactions are not those of its name");
            return Err(damaged(id.name(), damage));
        }
        Ok((segment, hash))
    }

    /// Reads an object: its record, its hash and its length.
    pub(crate) async fn load<T: DeserializeOwned>(
        &self,
        kind: Kind,
        name: &str,
    ) -> Result<(T, Hash, u64), BackupError> {
        let object = self.remote.get(name).await?;
        let object = object.ok_or_else(|| damaged(name.to_owned(), Damage::Missing))?;
        let place = Place { repository: self.header.repository, kind, name };
        let record = quorate_env::blocking(|| place.open(&self.key, &object));
        let record = record.map_err(|damage| damaged(name.to_owned(), damage))?;
        Ok((record, hash(&object), object.len() as u64))
    }

    /// Writes an object; its hash and its length.
    pub(crate) async fn save(
        &self,
        kind: Kind,
        name: &str,
        record: &impl Serialize,
    ) -> Result<(Hash, u64), BackupError> {
        let place = Place { repository: self.header.repository, kind, name };
        let object = quorate_env::blocking(|| place.seal(&self.key, &*self.entropy, record));
        let (hash, bytes) = (hash(&object), object.len() as u64);
        self.remote.put(name, object).await?;
        Ok((hash, bytes))
    }
}

pub(crate) fn damaged(name: String, damage: Damage) -> BackupError {
    BackupError::Damaged { name, damage }
}

fn listed(stored: &[Stored]) -> Listed {
    let mut bases: BTreeMap<BaseId, ListedBase> = BTreeMap::new();
    let mut listed = Listed { objects: stored.len(), ..Listed::default() };
    for object in stored {
        listed.bytes += object.bytes;
        match Name::parse(&object.name) {
            Some(Name::Header | Name::Index) => {}
            Some(Name::Part(id, part)) => base_of(&mut bases, id, object).parts.push(part),
            Some(Name::Manifest(id)) => base_of(&mut bases, id, object).complete = true,
            Some(Name::Segment(id)) => listed.segments.push(id),
            None => listed.foreign.push(object.name.clone()),
        }
    }
    listed.bases = bases.into_values().collect();
    // Two of one revision: the later one is the newest.
    listed.bases.sort_by_key(|base| (base.id.revision, base.modified_ms));
    listed.segments.sort();
    listed
}

/// The base of an object, which is counted for it.
fn base_of<'a>(
    bases: &'a mut BTreeMap<BaseId, ListedBase>,
    id: BaseId,
    object: &Stored,
) -> &'a mut ListedBase {
    let new = ListedBase { id, complete: false, bytes: 0, modified_ms: 0, parts: Vec::new() };
    let base = bases.entry(id).or_insert(new);
    base.bytes += object.bytes;
    base.modified_ms = base.modified_ms.max(object.modified_ms);
    base
}
