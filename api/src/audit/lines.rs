//! Lines of text, one behind the other: what a sink takes at a time.
//!
//! Invariant: a line ends where the next one begins, so the text as a whole is what a file of them holds.

/// Events in the order in which they came, each a line of JSON with its end.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Lines {
    text: Vec<u8>,
    /// Where each line ends.
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
        &self.text
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
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, end)| &self.text[begin..*end])
    }

    /// Adds what is written behind the others.
    pub fn add(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.text);
        self.ends.push(self.text.len());
    }

    /// Takes all away; the room stays.
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }

    /// Bytes of text that there is room for.
    pub(super) fn room(&self) -> usize {
        self.text.capacity()
    }

    /// Makes room for so many bytes of text, if there is less.
    pub(super) fn enlarge(&mut self, room: usize) {
        self.text.reserve_exact(room.saturating_sub(self.text.len()));
    }
}

impl<'a> FromIterator<&'a str> for Lines {
    fn from_iter<I: IntoIterator<Item = &'a str>>(lines: I) -> Self {
        let mut all = Self::new();
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
}
