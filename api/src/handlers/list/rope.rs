//! A rope: text that is written bit by bit, in which large values are shared instead of copied.
//!
//! Invariant: the pieces in their order are what has been written. A piece that waits to be sent
//! holds about as much memory as it has bytes, and a shared one none of its own.

use std::collections::VecDeque;

use bytes::Bytes;

/// Values below this many bytes are copied: a piece of its own costs more than they do.
const SHARED_BYTES: usize = 32 * 1024;

/// What has been written.
#[derive(Debug, Default)]
pub(in crate::handlers) struct Rope {
    whole: VecDeque<Bytes>,
    whole_len: usize,
    /// What has been written after the last whole piece.
    open: Vec<u8>,
}

impl Rope {
    /// Nothing yet, with room for so many bytes.
    pub(in crate::handlers) fn with_capacity(bytes: usize) -> Self {
        Self { open: Vec::with_capacity(bytes), ..Self::default() }
    }

    /// Whether a value of so many bytes is worth sharing.
    pub(in crate::handlers) fn is_large(bytes: usize) -> bool {
        bytes >= SHARED_BYTES
    }

    /// Bytes in all pieces.
    pub(in crate::handlers) fn len(&self) -> usize {
        self.whole_len + self.open.len()
    }

    /// Where text is appended.
    pub(in crate::handlers) fn text(&mut self) -> &mut Vec<u8> {
        &mut self.open
    }

    /// Appends a value, sharing its memory if it is large.
    pub(in crate::handlers) fn share(&mut self, value: Bytes) {
        if !Self::is_large(value.len()) {
            return self.open.extend_from_slice(&value);
        }
        self.close();
        self.whole_len += value.len();
        self.whole.push_back(value);
    }

    /// The pieces.
    pub(in crate::handlers) fn finish(mut self) -> VecDeque<Bytes> {
        self.close();
        self.whole
    }

    /// Makes the open piece a whole one. It keeps its memory only where it fills most of it.
    fn close(&mut self) {
        if self.open.is_empty() {
            return;
        }
        self.whole_len += self.open.len();
        let piece = if self.open.len() < self.open.capacity() / 2 {
            let piece = Bytes::copy_from_slice(&self.open);
            self.open.clear();
            piece
        } else {
            std::mem::take(&mut self.open).into()
        };
        self.whole.push_back(piece);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_values_are_shared_and_small_ones_copied() {
        let (large, small) =
            (Bytes::from(vec![b'l'; SHARED_BYTES]), Bytes::from(vec![b's'; SHARED_BYTES - 1]));
        let mut pieces = Rope::with_capacity(1);
        for value in [&small, &large, &large, &small, &large] {
            pieces.text().push(b',');
            pieces.share(value.clone());
        }
        pieces.text().extend_from_slice(b"end");
        let len = pieces.len();
        let pieces = pieces.finish();
        let lengths: Vec<usize> = pieces.iter().map(Bytes::len).collect();
        let (l, s) = (SHARED_BYTES, SHARED_BYTES - 1);
        assert_eq!(lengths, [1 + s + 1, l, 1, l, 1 + s + 1, l, 3]);
        assert_eq!(len, lengths.iter().sum::<usize>());
        let shared = pieces.iter().filter(|piece| piece.as_ptr() == large.as_ptr());
        assert_eq!(shared.count(), 3);
    }

    #[test]
    fn nothing_written_is_no_piece() {
        assert!(Rope::with_capacity(100).finish().is_empty());
    }

    #[test]
    fn a_short_piece_does_not_keep_much_room() {
        let mut pieces = Rope::with_capacity(1 << 20);
        pieces.text().extend_from_slice(b"short");
        let piece = pieces.finish().pop_front().unwrap();
        // Only its one owner gets memory back as it was allocated.
        assert!(piece.try_into_mut().unwrap().capacity() < 100);
    }
}
