//! What is wrong with a regular expression, in the words of RE2.

use std::fmt;

/// Why a regular expression is none, and the part that is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RegexError {
    pub(super) kind: Kind,
    pub(super) part: String,
}

/// Kinds of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    CharRange,
    Escape,
    NamedCapture,
    PerlSyntax,
    NestedRepeat,
    RepeatCount,
    MissingBracket,
    MissingParen,
    MissingRepeatArgument,
    TrailingBackslash,
    UnexpectedParen,
    Nesting,
    Size,
}

impl RegexError {
    pub(super) fn new(kind: Kind, part: &str) -> Self {
        Self { kind, part: part.to_owned() }
    }
}

impl fmt::Display for RegexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = match self.kind {
            Kind::CharRange => "invalid character class range",
            Kind::Escape => "invalid escape sequence",
            Kind::NamedCapture => "invalid named capture",
            Kind::PerlSyntax => "invalid or unsupported Perl syntax",
            Kind::NestedRepeat => "invalid nested repetition operator",
            Kind::RepeatCount => "invalid repeat count",
            Kind::MissingBracket => "missing closing ]",
            Kind::MissingParen => "missing closing )",
            Kind::MissingRepeatArgument => "missing argument to repetition operator",
            Kind::TrailingBackslash => "trailing backslash at end of expression",
            Kind::UnexpectedParen => "unexpected )",
            Kind::Nesting => "expression nests too deeply",
            Kind::Size => "expression too large",
        };
        write!(f, "error parsing regexp: {reason}: `{}`", self.part)
    }
}
