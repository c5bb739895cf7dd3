//! JSONPath as printer columns use it: the dialect of `kubectl -o jsonpath`, without the braces.
//!
//! Fields (`.spec.a`, `['a']`, `\.` for a dot in a name), indexes and slices (`[0]`, `[-1]`,
//! `[1:3]`, `[*]`), wildcards, recursive descent (`..a`), unions (`[0,2]`), filters
//! (`[?(@.type=="Ready")]`) and ranges.
//!
//! Invariants: every text is parsed or refused in time linear in its length; an evaluation looks at
//! no more values than it is allowed. Wildcards see fields in the order of their names.
//!
//! Not here: how a result is shown.

mod compare;
mod evaluate;
mod parse;
mod quoted;
#[cfg(test)]
mod tests;

use crate::{SmolStr, Value};

/// A path that was parsed.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPath {
    segments: Vec<Segment>,
}

/// A text that is no path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidJsonPath(String);

/// What stands between two braces, or outside of any.
#[derive(Clone, Debug, PartialEq)]
enum Segment {
    Text(Value),
    Steps(Vec<Step>),
}

/// One step from values to others.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    Field(SmolStr),
    /// All fields or elements.
    Wildcard,
    /// A value and everything in it that has something in it.
    Descent,
    Elements(Slice),
    Filter(Box<Filter>),
    /// The results of each of these in turn.
    Union(Vec<Vec<Step>>),
    /// A constant instead of each value.
    Constant(Value),
    /// A text instead of all values.
    Text(Value),
    /// Each value in turn is what the segments up to the end of the range begin at.
    Range,
    End,
    /// A word that means nothing.
    Unknown,
}

/// Elements of a list. Negative numbers count from its end.
#[derive(Clone, Debug, Default, PartialEq)]
struct Slice {
    from: Option<i64>,
    to: Option<i64>,
    /// Whether only the element at `from` is meant.
    single: bool,
    step: Option<i64>,
}

/// Elements of a list that fulfil something.
#[derive(Clone, Debug, PartialEq)]
struct Filter {
    left: Vec<Step>,
    /// `None` when `left` has to be there.
    right: Option<(Operator, Vec<Step>)>,
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Less,
    LessOrEqual,
    Equal,
    NotEqual,
    GreaterOrEqual,
    Greater,
    /// Like `=`, which compares nothing.
    Unknown,
}

impl JsonPath {
    /// Parses a path without the braces around it, such as `.spec.replicas`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, InvalidJsonPath> {
        parse::template(&format!("{{{text}}}"), 0).map(|segments| Self { segments })
    }

    /// The first value that it leads to; `None` when there is none or when it does not fit the
    /// object. `visits` is how many values the evaluation may look at and becomes what is left of
    /// that; with none left there is no result.
    #[must_use]
    pub fn first<'v>(&'v self, object: &'v Value, visits: &mut usize) -> Option<&'v Value> {
        evaluate::first_list(&self.segments, object, false, visits).ok().flatten()?.first().copied()
    }
}
