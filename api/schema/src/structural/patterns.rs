//! The regular expressions of one definition, each compiled once.

use std::collections::HashMap;

use super::node::{CompilePattern, Pattern};

pub(super) struct Patterns<'a> {
    compile: CompilePattern<'a>,
    known: HashMap<String, Result<Pattern, String>>,
}

impl<'a> Patterns<'a> {
    pub(super) fn new(compile: CompilePattern<'a>) -> Self {
        Self { compile, known: HashMap::new() }
    }

    pub(super) fn get(&mut self, text: &str) -> &Result<Pattern, String> {
        let compile = self.compile;
        self.known
            .entry(text.to_owned())
            .or_insert_with(|| compile(text).map(|matcher| Pattern { text: text.into(), matcher }))
    }
}
