//! From RE2's syntax to that of the crate `regex`.
//!
//! Invariants: flags are resolved here, and every character is written by its number, so that the result means the same
//! whatever `regex` makes special; groups capture nothing, since only whole matches are asked for. The text of an error names
//! the part of the expression that RE2 names.

use std::fmt::Write as _;

use super::error::{Kind, RegexError};
use super::repeat::{MAX_REPEATS, Repeat};
use super::{class, escape};

/// How deep groups, alternatives and repetitions may be nested.
pub(super) const MAX_NESTING: u32 = 200;
/// Most instructions of a program.
const MAX_SIZE: u64 = (128 << 20) / 40;

/// Most ranges of characters in all classes, which bounds the memory that they take.
const MAX_RANGES: usize = 1 << 20;
/// Most bytes of the result.
const MAX_TRANSLATED_BYTES: usize = 4 << 20;
/// Ranges that a class costs more, and that a character costs, when its case does not count.
const CASELESS_CLASS_RANGES: usize = 200;
const CASELESS_CHARACTER_RANGES: usize = 4;

/// Flags that are in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Flags {
    ignore_case: bool,
    /// `^` and `$` match at lines.
    lines: bool,
    /// `.` matches a newline.
    dot_newline: bool,
    /// `*` and the like take as little as they can.
    ungreedy: bool,
}

/// What limits are checked against.
#[derive(Debug, Clone, Copy, Default)]
struct Measure {
    /// Repetitions, nested ones multiplied.
    repeats: u64,
    /// Instructions.
    size: u64,
    depth: u32,
}

impl Measure {
    const LEAF: Self = Self { repeats: 0, size: 1, depth: 1 };

    fn with(self, other: Self) -> Self {
        let size = self.size.saturating_add(other.size);
        Self { repeats: self.repeats.max(other.repeats), size, depth: self.depth.max(other.depth) }
    }

    const fn deeper(self) -> Self {
        Self { depth: self.depth + 1, ..self }
    }
}

/// What was read last and may be repeated.
#[derive(Debug, Clone, Copy)]
struct Atom {
    /// Where it begins in the output.
    start: usize,
    measure: Measure,
    is_repeated: bool,
}

/// A group, or the whole expression, as far as it was read.
#[derive(Debug, Default)]
struct Group {
    /// Where it begins in the output.
    start: usize,
    /// Flags to return to after it.
    flags: Flags,
    captures: bool,
    /// Alternatives before the current one.
    before: Measure,
    alternatives: u64,
    /// The current alternative without its last atom.
    sequence: Measure,
    last: Option<Atom>,
}

/// A translation as far as it got.
struct Translator<'t> {
    whole: &'t str,
    rest: &'t str,
    out: String,
    /// Ranges of characters in all classes.
    ranges: usize,
    /// Bytes after the last place where a class with a name may end.
    after_names: usize,
    flags: Flags,
    groups: Vec<Group>,
    /// The repetition just before, as it was written.
    last_repeat: Option<&'t str>,
}

/// The expression in the syntax of `regex`.
pub(super) fn translate(text: &str) -> Result<String, RegexError> {
    let mut translator = Translator {
        whole: text,
        rest: text,
        out: String::with_capacity(text.len() + text.len() / 2),
        ranges: 0,
        after_names: text.rfind(":]").map_or(text.len(), |at| text.len() - at),
        flags: Flags::default(),
        groups: vec![Group::default()],
        last_repeat: None,
    };
    while let Some(c) = translator.rest.chars().next() {
        let repeat = translator.step(c)?;
        translator.last_repeat = repeat;
        if translator.ranges > MAX_RANGES || translator.out.len() > MAX_TRANSLATED_BYTES {
            return Err(RegexError::new(Kind::Size, text));
        }
    }
    if translator.groups.len() > 1 {
        return Err(RegexError::new(Kind::MissingParen, text));
    }
    translator.check(translator.group().measure())?;
    Ok(translator.out)
}

impl<'t> Translator<'t> {
    /// Reads what `c`, the next character, begins; the answer is a repetition, as it is written.
    fn step(&mut self, c: char) -> Result<Option<&'t str>, RegexError> {
        let rest = self.rest;
        match c {
            '(' if rest.starts_with("(?") => self.flags_or_group()?,
            '(' => self.open(1, true),
            '|' => self.alternative(),
            ')' => self.close()?,
            '^' => self.assertion(if self.flags.lines { "(?m:^)" } else { "\\A" }, 1),
            '$' => self.assertion(if self.flags.lines { "(?m:$)" } else { "\\z" }, 1),
            '.' => self.assertion(if self.flags.dot_newline { "(?s:.)" } else { "[^\\n]" }, 1),
            '[' => {
                let (class, after) = class::bracketed(rest, self.after_names)?;
                self.class(&class, after);
            }
            '*' | '+' | '?' => return self.repeat(Repeat::of(c), &rest[1..]),
            '{' => match Repeat::in_braces(rest) {
                Some((repeat, after)) => return self.repeat(repeat, after),
                None => self.literal(u32::from(c), &rest[1..]),
            },
            '\\' => self.escaped()?,
            c => self.literal(u32::from(c), &rest[c.len_utf8()..]),
        }
        Ok(None)
    }

    fn group(&self) -> &Group {
        self.groups.last().expect("the whole expression is never closed")
    }

    fn group_mut(&mut self) -> &mut Group {
        self.groups.last_mut().expect("the whole expression is never closed")
    }

    fn check(&self, measure: Measure) -> Result<(), RegexError> {
        match measure {
            Measure { depth, .. } if depth > MAX_NESTING => {
                Err(RegexError::new(Kind::Nesting, self.whole))
            }
            Measure { size, .. } if size > MAX_SIZE => Err(RegexError::new(Kind::Size, self.whole)),
            _ => Ok(()),
        }
    }

    /// Adds an atom that begins at `start` of the output.
    fn push(&mut self, start: usize, measure: Measure) {
        let group = self.group_mut();
        if let Some(last) = group.last.replace(Atom { start, measure, is_repeated: false }) {
            group.sequence = group.sequence.with(last.measure);
        }
    }

    /// Adds what is written as it is and is `length` long in the expression.
    fn assertion(&mut self, written: &str, length: usize) {
        let start = self.out.len();
        self.out.push_str(written);
        self.rest = &self.rest[length..];
        self.push(start, Measure::LEAF);
    }

    fn literal(&mut self, code_point: u32, after: &'t str) {
        let start = self.out.len();
        self.rest = after;
        self.ranges += if self.flags.ignore_case { CASELESS_CHARACTER_RANGES } else { 0 };
        let written = match char::from_u32(code_point) {
            // Text has no surrogates.
            None => self.out.write_str("[^\\x{0}-\\x{10FFFF}]"),
            Some(c) if self.flags.ignore_case => write!(self.out, "(?i:\\x{{{:X}}})", u32::from(c)),
            Some(c) if c.is_ascii_alphanumeric() => write!(self.out, "{c}"),
            Some(c) => write!(self.out, "\\x{{{:X}}}", u32::from(c)),
        };
        written.expect("a String takes every write");
        self.push(start, Measure::LEAF);
    }

    fn class(&mut self, class: &str, after: &'t str) {
        let start = self.out.len();
        self.rest = after;
        self.ranges += class::ranges(class);
        if self.flags.ignore_case {
            self.ranges += CASELESS_CLASS_RANGES;
            write!(self.out, "(?i:{class})").expect("a String takes every write");
        } else {
            self.out.push_str(class);
        }
        self.push(start, Measure::LEAF);
    }

    fn escaped(&mut self) -> Result<(), RegexError> {
        let rest = self.rest;
        match rest.as_bytes().get(1) {
            Some(b'A') => self.assertion("\\A", 2),
            Some(b'z') => self.assertion("\\z", 2),
            Some(b'b') => self.assertion("(?-u:\\b)", 2),
            Some(b'B') => self.assertion("(?-u:\\B)", 2),
            Some(b'C') => return Err(RegexError::new(Kind::Escape, &rest[..2])),
            Some(b'Q') => {
                let (quoted, after) = rest[2..].split_once("\\E").unwrap_or((&rest[2..], ""));
                for c in quoted.chars() {
                    self.literal(u32::from(c), after);
                }
                self.rest = after;
            }
            _ => {
                let class = class::unicode_class(rest)?.or_else(|| class::perl(rest));
                match class {
                    Some((class, after)) => self.class(&class, after),
                    None => {
                        let (code_point, after) = escape::read(rest)?;
                        self.literal(code_point, after);
                    }
                }
            }
        }
        Ok(())
    }

    /// Opens a group whose beginning is `length` long.
    fn open(&mut self, length: usize, captures: bool) {
        let (start, flags) = (self.out.len(), self.flags);
        self.out.push_str("(?:");
        self.rest = &self.rest[length..];
        self.groups.push(Group { start, flags, captures, ..Group::default() });
    }

    fn alternative(&mut self) {
        self.out.push('|');
        self.rest = &self.rest[1..];
        let group = self.group_mut();
        let finished = group.finished();
        group.before = group.before.with(finished);
        group.alternatives += 1;
        (group.sequence, group.last) = (Measure::default(), None);
    }

    fn close(&mut self) -> Result<(), RegexError> {
        if self.groups.len() < 2 {
            return Err(RegexError::new(Kind::UnexpectedParen, self.whole));
        }
        let group = self.groups.pop().expect("there are two groups at least");
        self.out.push(')');
        self.rest = &self.rest[1..];
        self.flags = group.flags;
        let mut measure = group.measure().deeper();
        measure.size = measure.size.saturating_add(if group.captures { 2 } else { 0 });
        self.check(measure)?;
        self.push(group.start, measure);
        Ok(())
    }

    fn repeat(&mut self, repeat: Repeat, after: &'t str) -> Result<Option<&'t str>, RegexError> {
        let before = self.rest;
        let (after, lazy) = after.strip_prefix('?').map_or((after, false), |after| (after, true));
        let written = &before[..before.len() - after.len()];
        let bare = &before[..written.len() - usize::from(lazy)];
        if repeat.counted && !repeat.is_countable() {
            return Err(RegexError::new(Kind::RepeatCount, bare));
        }
        if let Some(last) = self.last_repeat {
            let length = last.len() + written.len();
            let start = self.whole.len() - before.len() - last.len();
            return Err(RegexError::new(Kind::NestedRepeat, &self.whole[start..start + length]));
        }
        let Some(atom) = self.group().last else {
            return Err(RegexError::new(Kind::MissingRepeatArgument, written));
        };
        let measure = Measure {
            repeats: repeat.nested(atom.measure.repeats),
            size: repeat.size(atom.measure.size),
            depth: atom.measure.depth + 1,
        };
        self.check(measure)?;
        if repeat.counted && repeat.max.unwrap_or(repeat.min) >= 2 && measure.repeats > MAX_REPEATS
        {
            return Err(RegexError::new(Kind::RepeatCount, written));
        }
        if atom.is_repeated {
            self.out.insert_str(atom.start, "(?:");
            self.out.push(')');
        }
        let greedy = self.flags.ungreedy == lazy;
        self.out.push_str(&repeat.written(greedy));
        self.rest = after;
        self.group_mut().last = Some(Atom { measure, is_repeated: true, ..atom });
        Ok(Some(written))
    }

    /// `(?i)`, `(?s-i:...)`, `(?P<name>...)`.
    fn flags_or_group(&mut self) -> Result<(), RegexError> {
        let rest = self.rest;
        let name_start = if rest.len() > 4 && rest.starts_with("(?P<") {
            Some(4)
        } else {
            (rest.len() > 3 && rest.starts_with("(?<")).then_some(3)
        };
        if let Some(start) = name_start {
            let end = rest.find('>').ok_or_else(|| RegexError::new(Kind::NamedCapture, rest))?;
            let name = rest.get(start..end).unwrap_or("");
            let valid = !name.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            if !valid {
                return Err(RegexError::new(Kind::NamedCapture, &rest[..=end]));
            }
            self.open(end + 1, true);
            return Ok(());
        }
        let (mut flags, mut value, mut is_seen) = (self.flags, true, false);
        for (at, c) in rest.char_indices().skip(2) {
            let end = at + c.len_utf8();
            match c {
                'i' => (flags.ignore_case, is_seen) = (value, true),
                'm' => (flags.lines, is_seen) = (value, true),
                's' => (flags.dot_newline, is_seen) = (value, true),
                'U' => (flags.ungreedy, is_seen) = (value, true),
                '-' if value => (value, is_seen) = (false, false),
                ':' | ')' if value || is_seen => {
                    if c == ':' {
                        self.open(end, false);
                    } else {
                        self.rest = &rest[end..];
                    }
                    self.flags = flags;
                    return Ok(());
                }
                _ => return Err(RegexError::new(Kind::PerlSyntax, &rest[..end])),
            }
        }
        Err(RegexError::new(Kind::PerlSyntax, rest))
    }
}

impl Group {
    /// The current alternative.
    fn finished(&self) -> Measure {
        let sequence = self.last.map_or(self.sequence, |last| self.sequence.with(last.measure));
        Measure { size: sequence.size.max(1), ..sequence.deeper() }
    }

    /// All alternatives.
    fn measure(&self) -> Measure {
        let all = self.before.with(self.finished());
        Measure { size: all.size.saturating_add(self.alternatives), ..all.deeper() }
    }
}
