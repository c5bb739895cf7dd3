//! Regular expressions that are ready to match.

use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};

use super::error::{Kind, RegexError};
use super::translate::{MAX_NESTING, translate};

/// Most memory of a compiled expression, in bytes.
const MAX_COMPILED_BYTES: usize = 32 << 20;
/// Most memory for the states that matching keeps, in bytes.
const MAX_CACHE_BYTES: usize = 1 << 20;

/// A regular expression; it is compiled when it is first matched.
#[derive(Debug)]
pub(crate) struct Pattern {
    source: Box<str>,
    translated: Box<str>,
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    /// Reads an expression of RE2's syntax.
    pub(crate) fn parse(text: &str) -> Result<Self, RegexError> {
        let translated = translate(text)?.into_boxed_str();
        Ok(Self { source: text.into(), translated, compiled: OnceLock::new() })
    }

    fn regex(&self) -> Result<&Regex, RegexError> {
        let compiled = self.compiled.get_or_init(|| {
            RegexBuilder::new(&self.translated)
                .size_limit(MAX_COMPILED_BYTES)
                .dfa_size_limit(MAX_CACHE_BYTES)
                .nest_limit(4 * MAX_NESTING)
                .build()
                .ok()
        });
        // What can be read fails to compile only for its size.
        compiled.as_ref().ok_or_else(|| RegexError::new(Kind::Size, &self.source))
    }

    /// Whether it matches anywhere.
    pub(crate) fn is_match(&self, text: &str) -> Result<bool, RegexError> {
        Ok(self.regex()?.is_match(text))
    }

    /// The first match.
    pub(crate) fn find<'t>(&self, text: &'t str) -> Result<Option<&'t str>, RegexError> {
        Ok(self.regex()?.find(text).map(|found| found.as_str()))
    }

    /// The matches that do not overlap, at most `limit` of them.
    pub(crate) fn find_all<'t>(
        &self,
        text: &'t str,
        limit: usize,
    ) -> Result<Vec<&'t str>, RegexError> {
        Ok(self.regex()?.find_iter(text).take(limit).map(|found| found.as_str()).collect())
    }
}
