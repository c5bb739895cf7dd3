//! The path of a field during a walk, as one buffer that grows and shrinks: `spec.ports[0].name`.

use std::fmt::{self, Write as _};

/// The initial capacity, in bytes.
const ORDINARY_BYTES: usize = 64;

/// A path that grows with each step down and is truncated on the way up.
#[derive(Debug)]
pub(crate) struct FieldPath {
    text: String,
}

impl Default for FieldPath {
    /// The root, with room for what comes.
    fn default() -> Self {
        Self { text: String::with_capacity(ORDINARY_BYTES) }
    }
}

impl FieldPath {
    /// The text so far.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Adds a field or map key; returns the mark to truncate to.
    pub(crate) fn push_key(&mut self, key: &str) -> usize {
        let mark = self.text.len();
        if mark > 0 {
            self.text.push('.');
        }
        self.text.push_str(key);
        mark
    }

    /// Adds a list index; returns the mark to truncate to.
    pub(crate) fn push_index(&mut self, index: usize) -> usize {
        let mark = self.text.len();
        self.push_in_brackets(format_args!("{index}"));
        mark
    }

    /// Adds a map key in brackets; returns the mark to truncate to.
    pub(crate) fn push_index_key(&mut self, key: &str) -> usize {
        let mark = self.text.len();
        self.push_in_brackets(format_args!("{key}"));
        mark
    }

    fn push_in_brackets(&mut self, step: fmt::Arguments<'_>) {
        write!(self.text, "[{step}]").expect("a String takes any text");
    }

    /// Goes back to what the path was when `mark` was returned.
    pub(crate) fn truncate(&mut self, mark: usize) {
        self.text.truncate(mark);
    }
}
