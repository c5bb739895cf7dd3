//! Block-aligned memory, from which a disk may take bytes directly.
//!
//! Invariant: the bytes begin at a multiple of [`BLOCK_BYTES`] in memory, however they grow. Where
//! the alignment cannot be found out, they begin anywhere, and a disk copies them.

use super::seam::BLOCK_BYTES;

/// Bytes in such memory.
#[derive(Debug, Default)]
pub struct Blocks {
    /// Zeros up to where the bytes begin, and the bytes.
    memory: Vec<u8>,
    begin: usize,
}

impl Blocks {
    /// Adds bytes behind the others.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.reserve(bytes.len());
        self.memory.extend_from_slice(bytes);
    }

    /// Adds zeros up to the end of a block.
    pub fn fill_up(&mut self) {
        let length = self.bytes().len();
        let zeros = length.next_multiple_of(BLOCK_BYTES) - length;
        self.reserve(zeros);
        self.memory.resize(self.memory.len() + zeros, 0);
    }

    /// Takes all away, and gives memory beyond so many bytes back.
    pub fn clear(&mut self, keep: usize) {
        if self.memory.capacity() > keep + BLOCK_BYTES {
            *self = Self::default();
        }
        self.memory.truncate(self.begin);
    }

    /// All of them.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.memory[self.begin..]
    }

    /// All of them, to be changed.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.begin..]
    }

    fn reserve(&mut self, more: usize) {
        if self.memory.capacity() - self.memory.len() >= more && !self.memory.is_empty() {
            return;
        }
        let room = (2 * self.bytes().len()).max(self.bytes().len() + more);
        let mut memory: Vec<u8> = Vec::with_capacity(room + 2 * BLOCK_BYTES);
        // At least one byte, so that it is known that there is memory.
        let begin = match memory.as_ptr().align_offset(BLOCK_BYTES) % BLOCK_BYTES {
            0 => BLOCK_BYTES,
            begin => begin,
        };
        memory.resize(begin, 0);
        memory.extend_from_slice(self.bytes());
        (self.memory, self.begin) = (memory, begin);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_begin_where_a_block_does() {
        let mut blocks = Blocks::default();
        let mut expect = Vec::new();
        for length in [0, 1, 100, BLOCK_BYTES, 3, 100_000, 7] {
            let bytes = vec![u8::try_from(length % 251).unwrap(); length];
            blocks.extend(&bytes);
            expect.extend_from_slice(&bytes);
            assert_eq!(
                (blocks.bytes(), blocks.bytes().as_ptr().align_offset(BLOCK_BYTES)),
                (&expect[..], 0)
            );
        }
        blocks.fill_up();
        expect.resize(expect.len().next_multiple_of(BLOCK_BYTES), 0);
        assert_eq!(blocks.bytes(), expect);
        blocks.fill_up();
        assert_eq!(blocks.bytes().len(), expect.len());
        for keep in [1 << 20, 0] {
            blocks.clear(keep);
            assert_eq!(blocks.bytes(), b"");
            blocks.extend(b"again");
            assert_eq!(
                (blocks.bytes(), blocks.bytes().as_ptr().align_offset(BLOCK_BYTES)),
                (&b"again"[..], 0)
            );
        }
    }
}
