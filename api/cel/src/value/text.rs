//! Text and bytes, borrowed from the program or the data, or shared.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Text; reads as a `str`.
#[derive(Clone)]
pub enum Text<'a> {
    /// Part of the program or of data.
    Borrowed(&'a str),
    /// Made by the expression.
    Shared(Arc<str>),
}

/// Bytes; reads as a `[u8]`.
#[derive(Clone)]
pub enum Blob<'a> {
    /// Part of the program or of data.
    Borrowed(&'a [u8]),
    /// Made by the expression.
    Shared(Arc<[u8]>),
}

impl Text<'_> {
    /// Number of code points.
    pub fn code_points(&self) -> usize {
        if self.is_ascii() { self.len() } else { self.chars().count() }
    }
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Shared(text) => text,
        }
    }
}

impl Deref for Blob<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Shared(bytes) => bytes,
        }
    }
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Self::Borrowed(text)
    }
}

impl From<String> for Text<'_> {
    fn from(text: String) -> Self {
        Self::Shared(text.into())
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl PartialEq for Blob<'_> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl fmt::Debug for Blob<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
