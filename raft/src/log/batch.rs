//! A batch of the log: everything that one write and one sync make durable together.
//!
//! Layout, little endian: magic u32, crc32c u32, bytes of the records u32, number of records u32,
//! batch number u64, zero u64, the records, zeros up to a sector. Batches start at sectors and are
//! numbered without gaps through the whole log. Zeros up to the end of a block are written with
//! each: given a part of a block, a file system may have to read the rest of it from the disk.
//!
//! Invariant that recovery rests on: a batch is written only after the one before it was synced. So
//! everything before the start of a valid batch was durable, and only the last batch can be torn by
//! a crash.

use quorate_env::disk::BLOCK_BYTES;

use super::record;

/// Batches start at multiples of this, bytes: a torn write never touches what was synced before.
pub(super) const SECTOR_BYTES: usize = 512;
/// Bytes before the first record.
pub(super) const HEADER_BYTES: usize = 32;
const MAGIC: u32 = 0x4351_4251;

/// A batch's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BatchHeader {
    /// Bytes of all records.
    pub(super) body: usize,
    /// How many records.
    pub(super) records: u32,
    /// Its place in the sequence of all batches.
    pub(super) number: u64,
}

impl BatchHeader {
    /// Bytes of the whole batch with its padding.
    pub(super) fn batch_bytes(&self) -> u64 {
        size_of(self.body) as u64
    }
}

/// Bytes that a batch with so many bytes of records takes.
pub(super) fn size_of(body: usize) -> usize {
    (HEADER_BYTES + body).next_multiple_of(SECTOR_BYTES)
}

/// The header that starts the slice, if it is one of the segment with this seed.
pub(super) fn parse(bytes: &[u8], seed: u32) -> Option<BatchHeader> {
    let header = bytes.get(..HEADER_BYTES)?;
    if record::u32_at(header, 0) != MAGIC
        || record::u32_at(header, 4) != crc32c::crc32c_append(seed, &header[8..])
    {
        return None;
    }
    Some(BatchHeader {
        body: record::u32_at(header, 8) as usize,
        records: record::u32_at(header, 12),
        number: record::u64_at(header, 16),
    })
}

/// Puts records into one batch. Reused, to keep its buffer.
#[derive(Debug)]
pub(super) struct BatchBuilder {
    bytes: Vec<u8>,
    records: u32,
}

impl BatchBuilder {
    pub(super) fn new() -> Self {
        Self { bytes: vec![0; HEADER_BYTES], records: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// Bytes of records so far.
    pub(super) fn body(&self) -> usize {
        self.bytes.len() - HEADER_BYTES
    }

    /// Adds an unsealed record; answers its header and its offset in the batch.
    pub(super) fn push(&mut self, unsealed: &[u8], seed: u32) -> (record::RecordHeader, usize) {
        let offset = self.bytes.len();
        self.bytes.extend_from_slice(unsealed);
        self.records += 1;
        (record::seal(&mut self.bytes[offset..], seed), offset)
    }

    /// Finishes the batch, to be written at this place, a sector. Gives its bytes, with zeros up to
    /// the end of a block, and how many of them are its own.
    pub(super) fn finish(&mut self, number: u64, seed: u32, offset: u64) -> (&[u8], u64) {
        let body = u32::try_from(self.body()).expect("a batch is bounded by its segment");
        let end = offset + size_of(self.body()) as u64;
        let zeros = usize::try_from(end.next_multiple_of(BLOCK_BYTES as u64) - end)
            .expect("less than a block");
        self.bytes.resize(size_of(self.body()) + zeros, 0);
        let header = &mut self.bytes[..HEADER_BYTES];
        header[0..4].copy_from_slice(&MAGIC.to_le_bytes());
        header[8..12].copy_from_slice(&body.to_le_bytes());
        header[12..16].copy_from_slice(&self.records.to_le_bytes());
        header[16..24].copy_from_slice(&number.to_le_bytes());
        let crc = crc32c::crc32c_append(seed, &header[8..]);
        header[4..8].copy_from_slice(&crc.to_le_bytes());
        (&self.bytes, end - offset)
    }

    /// Empties it for the next batch. A buffer that one huge record has grown is given back.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(super::options::BATCH_BYTES);
        self.bytes.resize(HEADER_BYTES, 0);
        self.records = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finished_batch_says_what_it_holds_and_fills_sectors() {
        let mut record = Vec::new();
        record::append(&mut record, record::RecordKind::Truncate, None, |_| Ok::<_, ()>(()))
            .unwrap();
        let mut builder = BatchBuilder::new();
        for round in 0..2 {
            builder.clear();
            builder.push(&record, 5);
            let (_, offset) = builder.push(&record, 5);
            let (bytes, own) = builder.finish(9 + round, 5, 3 * BLOCK_BYTES as u64 + 512);
            assert_eq!((own, bytes.len()), (SECTOR_BYTES as u64, BLOCK_BYTES - 512));
            assert_eq!(
                parse(bytes, 5),
                Some(BatchHeader { body: 2 * record.len(), records: 2, number: 9 + round })
            );
            assert!(record::verify(&bytes[offset..], 5).is_some());
            assert_eq!(parse(bytes, 6), None);
        }
    }
}
