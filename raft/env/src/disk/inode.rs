//! The content of one file of a [`MemoryDisk`](super::MemoryDisk): what a reader sees now, what is
//! durable, and every sector in between.
//!
//! Invariants: a sync moves everything to durable; a failed sync drops what was waiting, as the
//! page cache of a real system does, while readers still see it; a crash picks for each unsynced
//! sector, independently, the durable content or any that was written since.

use std::collections::BTreeMap;

use super::faults::SeededRandom;

/// The unit that a crash keeps or loses as a whole, in bytes.
pub(super) const SECTOR_BYTES: usize = 512;

type Sector = [u8; SECTOR_BYTES];

#[derive(Debug, Clone, Default)]
pub(super) struct Inode {
    current: Vec<u8>,
    durable: Vec<u8>,
    unsynced: BTreeMap<usize, Vec<Sector>>,
}

impl Inode {
    pub(super) fn current(&self) -> &[u8] {
        &self.current
    }

    /// Whether nothing waits for a sync.
    pub(super) fn is_synced(&self) -> bool {
        self.unsynced.is_empty()
    }

    pub(super) fn write(&mut self, offset: usize, bytes: &[u8]) {
        let end = offset + bytes.len();
        if self.current.len() < end {
            self.current.resize(end, 0);
        }
        self.current[offset..end].copy_from_slice(bytes);
        for sector in offset / SECTOR_BYTES..end.div_ceil(SECTOR_BYTES) {
            let content = sector_of(&self.current, sector);
            self.unsynced.entry(sector).or_default().push(content);
        }
    }

    pub(super) fn sync(&mut self) {
        for &sector in self.unsynced.keys() {
            let content = sector_of(&self.current, sector);
            place(&mut self.durable, sector, &content);
        }
        self.unsynced.clear();
        self.durable.resize(self.current.len(), 0);
    }

    /// Everything from `length` on is gone, durably.
    pub(super) fn cut(&mut self, length: usize) {
        self.sync();
        self.current.truncate(length);
        self.durable.truncate(length);
    }

    pub(super) fn lose_unsynced(&mut self) {
        self.unsynced.clear();
    }

    /// A copy of everything that a reader sees now.
    pub(super) fn copy(&self) -> Self {
        Self {
            current: self.current.clone(),
            durable: self.current.clone(),
            unsynced: BTreeMap::new(),
        }
    }

    /// The file as it is found after the power came back.
    pub(super) fn after_crash(&self, random: &mut SeededRandom) -> Self {
        let mut durable = self.durable.clone();
        for (&sector, versions) in &self.unsynced {
            let choice = random.below(versions.len() + 1);
            if let Some(content) = versions.get(choice) {
                place(&mut durable, sector, content);
            }
        }
        durable.truncate(self.current.len().max(self.durable.len()));
        Self { current: durable.clone(), durable, unsynced: BTreeMap::new() }
    }
}

fn sector_of(bytes: &[u8], sector: usize) -> Sector {
    let start = (sector * SECTOR_BYTES).min(bytes.len());
    let end = (start + SECTOR_BYTES).min(bytes.len());
    let mut content = [0; SECTOR_BYTES];
    content[..end - start].copy_from_slice(&bytes[start..end]);
    content
}

fn place(bytes: &mut Vec<u8>, sector: usize, content: &Sector) {
    let start = sector * SECTOR_BYTES;
    if bytes.len() < start + SECTOR_BYTES {
        bytes.resize(start + SECTOR_BYTES, 0);
    }
    bytes[start..start + SECTOR_BYTES].copy_from_slice(content);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crashes(inode: &Inode) -> Vec<Vec<u8>> {
        (0..64).map(|seed| inode.after_crash(&mut SeededRandom::new(seed)).current).collect()
    }

    #[test]
    fn synced_bytes_survive_and_unsynced_sectors_go_their_own_ways() {
        let mut inode = Inode::default();
        inode.write(0, &[1; 2 * SECTOR_BYTES]);
        inode.sync();
        inode.write(0, &[2; 2 * SECTOR_BYTES]);
        let seen: std::collections::BTreeSet<(u8, u8)> =
            crashes(&inode).iter().map(|bytes| (bytes[0], bytes[SECTOR_BYTES])).collect();
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), [(1, 1), (1, 2), (2, 1), (2, 2)]);
    }

    #[test]
    fn what_was_cut_off_is_gone_for_good() {
        let mut inode = Inode::default();
        inode.write(0, &[1; SECTOR_BYTES]);
        inode.cut(5);
        assert_eq!(inode.current(), [1; 5]);
        assert!(crashes(&inode).iter().all(|bytes| bytes == &[1; 5]));
    }

    #[test]
    fn a_failed_sync_loses_the_bytes_that_readers_still_see() {
        let mut inode = Inode::default();
        inode.write(0, b"old");
        inode.sync();
        inode.write(0, b"new");
        inode.lose_unsynced();
        assert_eq!(inode.current(), b"new");
        assert!(crashes(&inode).iter().all(|bytes| bytes == b"old"));
    }
}
