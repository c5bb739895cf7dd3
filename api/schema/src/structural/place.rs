//! The path of a schema inside its definition, kept on the stack and made text only for a problem that is told.

use std::fmt::Write as _;

use quorate_meta::Path;

/// One step into a schema, and those above it.
#[derive(Clone, Copy, Debug)]
pub(super) struct SchemaPlace<'a> {
    up: Option<&'a SchemaPlace<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    Field(&'a str),
    Key(&'a str),
    Index(usize),
}

impl<'a> SchemaPlace<'a> {
    /// A path that is text already.
    pub(super) fn root(path: &'a str) -> Self {
        Self { up: None, step: Step::Field(path) }
    }

    /// The field `name` below this one.
    pub(super) fn child(&'a self, name: &'a str) -> Self {
        Self { up: Some(self), step: Step::Field(name) }
    }

    /// The entry `key` of a map.
    pub(super) fn key(&'a self, key: &'a str) -> Self {
        Self { up: Some(self), step: Step::Key(key) }
    }

    /// The element at `index`.
    pub(super) fn index(&'a self, index: usize) -> Self {
        Self { up: Some(self), step: Step::Index(index) }
    }

    /// The text: `spec.validation.openAPIV3Schema.properties[a].anyOf[0]`.
    pub(super) fn text(&self) -> Path {
        Path::new(self.joined())
    }

    fn joined(&self) -> String {
        let mut text = self.up.map_or_else(String::new, Self::joined);
        let written = match self.step {
            Step::Field(name) if text.is_empty() => write!(text, "{name}"),
            Step::Field(name) => write!(text, ".{name}"),
            Step::Key(key) => write!(text, "[{key}]"),
            Step::Index(index) => write!(text, "[{index}]"),
        };
        written.expect("writing to a string cannot fail");
        text
    }
}
