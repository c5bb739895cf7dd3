//! The lines of watch events that go out in one write.
//!
//! Invariant: a single line shares the memory of the encoding that all watchers share.

use bytes::Bytes;

/// Lines for one write: a single one stays shared, several are put together.
#[derive(Default)]
pub(super) struct EventLines {
    one: Bytes,
    many: Vec<u8>,
}

impl EventLines {
    /// Whether they are more than one.
    pub(super) fn are_several(&self) -> bool {
        !self.many.is_empty()
    }

    /// Appends a line.
    pub(super) fn push(&mut self, line: Bytes) {
        if self.one.is_empty() && self.many.is_empty() {
            self.one = line;
            return;
        }
        self.many.extend_from_slice(&std::mem::take(&mut self.one));
        self.many.extend_from_slice(&line);
    }

    /// Bytes of all lines.
    pub(super) fn len(&self) -> usize {
        self.one.len() + self.many.len()
    }

    /// Forgets what was put in after it had this length.
    pub(super) fn truncate(&mut self, len: usize) {
        self.one.truncate(len);
        self.many.truncate(len);
    }

    /// The lines as a buffer.
    pub(super) fn finish(self) -> Bytes {
        if self.many.is_empty() { self.one } else { self.many.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_is_shared_and_several_are_put_together() {
        let check = |lines: &[&'static str], kept: usize, expect: &str, several: bool| {
            let mut out = EventLines::default();
            lines.iter().for_each(|line| out.push(Bytes::from_static(line.as_bytes())));
            assert_eq!(out.len(), lines.concat().len());
            out.truncate(kept);
            assert_eq!((out.len(), out.are_several()), (expect.len(), several), "{lines:?}");
            assert_eq!(out.finish(), expect);
        };
        check(&[], 0, "", false);
        check(&["a\n"], 2, "a\n", false);
        check(&["a\n", "b\n"], 4, "a\nb\n", true);
        check(&["a\n", "b\n"], 2, "a\n", true);
        check(&["a\n"], 0, "", false);
        let line = Bytes::from(vec![b'x'; 9]);
        let mut out = EventLines::default();
        out.push(line.clone());
        assert_eq!(out.finish().as_ptr(), line.as_ptr());
    }
}
