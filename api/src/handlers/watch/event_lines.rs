//! The lines of watch events that go out in one write.
//!
//! Invariant: a single line shares the memory of the encoding that all watchers share.

use bytes::Bytes;
use quorate_store::Revision;
use smallvec::SmallVec;

use crate::fanout::Run;

/// Lines for one write: a single one stays shared, several are put together.
#[derive(Default)]
pub(super) struct EventLines {
    one: Bytes,
    many: Vec<u8>,
    /// The bytes of each line.
    sizes: SmallVec<[u32; 4]>,
}

impl EventLines {
    /// Appends a line.
    pub(super) fn push(&mut self, line: Bytes) {
        self.sizes.extend(u32::try_from(line.len()).ok().filter(|bytes| *bytes > 0));
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
        let mut kept = 0;
        let is_kept = |bytes: &&u32| {
            kept += **bytes as usize;
            kept <= len
        };
        let kept = self.sizes.iter().take_while(is_kept).count();
        self.sizes.truncate(kept);
    }

    /// The bytes of each line.
    pub(super) fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// The lines as a buffer; several of them also as a run up to a transaction.
    pub(super) fn finish(self, end: Option<Revision>) -> (Bytes, Option<Run>) {
        if self.many.is_empty() {
            return (self.one, None);
        }
        let lines = Bytes::from(self.many);
        let run = end.map(|end| Run { lines: lines.clone(), sizes: (&*self.sizes).into(), end });
        (lines, run)
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
            assert_eq!(out.len(), expect.len(), "{lines:?}");
            assert_eq!(out.sizes().iter().sum::<u32>() as usize, expect.len());
            let (found, run) = out.finish(Some(Revision::new(7)));
            assert_eq!((&*found, run.is_some()), (expect.as_bytes(), several), "{lines:?}");
            assert!(run.is_none_or(|run| run.lines == found && run.end == Revision::new(7)));
        };
        check(&[], 0, "", false);
        check(&["a\n"], 2, "a\n", false);
        check(&["a\n", "b\n"], 4, "a\nb\n", true);
        check(&["a\n", "b\n"], 2, "a\n", true);
        check(&["a\n"], 0, "", false);
        let line = Bytes::from(vec![b'x'; 9]);
        let mut out = EventLines::default();
        out.push(line.clone());
        assert_eq!(out.finish(None).0.as_ptr(), line.as_ptr());
    }
}
