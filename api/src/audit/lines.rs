//! A batch of lines, one behind the other: what a sink takes at a time.
//!
//! Invariants: a line ends where the next one begins, so the text as a whole is what a file of them
//! holds; as long as the lines keep to the room that was made for them, it begins in memory where a
//! block does, so that a disk can take it from there.

/// A disk can take bytes directly from memory where places and lengths are multiples of this, as
/// most disks have it.
pub const BLOCK_BYTES: usize = 4096;

/// Events in the order in which they came, each a line of JSON with its end.
#[derive(Debug, Default)]
pub struct Lines {
    /// The text, behind as many zeros as it takes to begin where a block does.
    memory: Vec<u8>,
    begin: usize,
    /// Bytes of text that there is room for.
    room: usize,
    /// Where each line ends, in the text.
    ends: Vec<usize>,
}

impl Lines {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// All of them.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        &self.memory[self.begin..]
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// One after the other.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let text = self.text();
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(move |(begin, end)| &text[begin..*end])
    }

    /// Adds what is written behind the others.
    pub fn add(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.memory);
        self.ends.push(self.memory.len() - self.begin);
    }

    /// Takes all away; the room stays.
    pub(super) fn clear(&mut self) {
        self.memory.truncate(self.begin);
        self.ends.clear();
    }

    /// Bytes of text that there is room for.
    pub(super) fn room(&self) -> usize {
        self.room
    }

    /// Makes room for so many bytes of text, if there is less.
    pub(super) fn enlarge(&mut self, room: usize) {
        if room <= self.room {
            return;
        }
        let mut memory: Vec<u8> = Vec::with_capacity(room + BLOCK_BYTES);
        // Where the parser cannot tell how far that is, the text begins anywhere.
        let begin = memory.as_ptr().align_offset(BLOCK_BYTES) % BLOCK_BYTES;
        memory.resize(begin, 0);
        memory.extend_from_slice(self.text());
        (self.memory, self.begin, self.room) = (memory, begin, room);
    }
}

impl<'a> FromIterator<&'a str> for Lines {
    fn from_iter<I: IntoIterator<Item = &'a str>>(lines: I) -> Self {
        let lines: Vec<&str> = lines.into_iter().collect();
        let mut all = Self::new();
        all.enlarge(lines.iter().map(|line| line.len()).sum());
        lines.into_iter().for_each(|line| {
            all.add(|text| text.extend_from_slice(line.as_bytes()));
        });
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_out_as_they_went_in() {
        let mut lines = Lines::from_iter(["a\n", "", "bc\n"]);
        assert_eq!(lines.iter().collect::<Vec<_>>(), [&b"a\n"[..], b"", b"bc\n"]);
        assert_eq!((lines.text(), lines.len(), lines.is_empty()), (&b"a\nbc\n"[..], 3, false));
        lines.add(|text| text.push(b'd'));
        assert_eq!(lines.iter().last(), Some(&b"d"[..]));
        lines.clear();
        assert!(lines.is_empty() && lines.text().is_empty());
        assert_eq!(lines.iter().next(), None);
    }

    #[test]
    fn the_text_begins_where_a_block_does() {
        let mut lines = Lines::new();
        for room in [1, 100, BLOCK_BYTES, 100_000] {
            lines.enlarge(room);
            lines.add(|text| text.push(b'a'));
            assert_eq!(lines.text().as_ptr().align_offset(BLOCK_BYTES), 0, "{room}");
            assert_eq!(lines.room(), room);
        }
        assert_eq!(lines.text(), b"aaaa");
        lines.clear();
        lines.add(|text| text.push(b'b'));
        assert_eq!((lines.text(), lines.text().as_ptr().align_offset(BLOCK_BYTES)), (&b"b"[..], 0));
    }
}
