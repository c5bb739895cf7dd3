//! Field paths in messages: `spec.containers[0].name`, `metadata.labels[a/b]`.

use std::borrow::Cow;
use std::fmt;

/// A field path under construction; each step makes a new one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path(Cow<'static, str>);

impl Path {
    /// A path that starts at `field`; may be dotted already (`metadata.name`).
    pub fn new(field: impl Into<Cow<'static, str>>) -> Self {
        Self(field.into())
    }

    /// The field `name` below this one; may be dotted.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        let mut text = String::with_capacity(self.0.len() + 1 + name.len());
        text.push_str(&self.0);
        if !text.is_empty() {
            text.push('.');
        }
        text.push_str(name);
        Self(text.into())
    }

    /// The list item at `index`.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0).into())
    }

    /// The entry `key` of a map with free keys.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        let mut text = String::with_capacity(self.0.len() + 2 + key.len());
        text.push_str(&self.0);
        text.push('[');
        text.push_str(key);
        text.push(']');
        Self(text.into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text, owned.
    pub fn into_text(self) -> String {
        self.0.into_owned()
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for Path {
    fn from(field: &str) -> Self {
        Self::new(field.to_owned())
    }
}

impl From<&Path> for Path {
    fn from(path: &Path) -> Self {
        path.clone()
    }
}
