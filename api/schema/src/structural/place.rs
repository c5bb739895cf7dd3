//! The path of a schema inside its definition, or of a value inside its object, kept on the stack and made text only for a problem that
//! is told.

use std::fmt::Write as _;

use quorate_meta::Path;

/// One step into a schema or value, and those above it.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    up: Option<&'a Place<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    Field(&'a str),
    Key(&'a str),
    Index(usize),
}

impl<'a> Place<'a> {
    /// A path that is text already; empty for that of a whole object.
    #[must_use]
    pub fn root(path: &'a str) -> Self {
        Self { up: None, step: Step::Field(path) }
    }

    /// The field `name` below this one.
    #[must_use]
    pub fn child(&'a self, name: &'a str) -> Self {
        Self { up: Some(self), step: Step::Field(name) }
    }

    /// The entry `key` of a map.
    #[must_use]
    pub fn key(&'a self, key: &'a str) -> Self {
        Self { up: Some(self), step: Step::Key(key) }
    }

    /// The element at `index`.
    #[must_use]
    pub fn index(&'a self, index: usize) -> Self {
        Self { up: Some(self), step: Step::Index(index) }
    }

    /// The text: `spec.validation.openAPIV3Schema.properties[a].anyOf[0]`.
    #[must_use]
    pub fn text(&self) -> Path {
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
