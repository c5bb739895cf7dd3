//! Repetitions: `*`, `+?`, `{2,5}`, and how often they may be nested.

/// Largest number of repetitions, nested ones multiplied.
pub(super) const MAX_REPEATS: u64 = 1_000;
/// A number that stands for every larger one.
const HUGE: u64 = 100_000_000;

/// How often something is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Repeat {
    pub(super) min: u64,
    /// `None`: without end.
    pub(super) max: Option<u64>,
    /// Whether it was written in braces.
    pub(super) counted: bool,
}

impl Repeat {
    /// The repetition that a character is.
    pub(super) const fn of(symbol: char) -> Self {
        let (min, max) = match symbol {
            '+' => (1, None),
            '?' => (0, Some(1)),
            _ => (0, None),
        };
        Self { min, max, counted: false }
    }

    /// The repetition in braces that text begins with, and what follows; `None` when a brace is just a brace.
    pub(super) fn in_braces(text: &str) -> Option<(Self, &str)> {
        let (min, rest) = number(text.strip_prefix('{')?)?;
        let (max, rest) = match rest.strip_prefix(',') {
            None => (Some(min), rest),
            Some(rest) if rest.starts_with('}') => (None, rest),
            Some(rest) => number(rest).map(|(max, rest)| (Some(max), rest))?,
        };
        Some((Self { min, max, counted: true }, rest.strip_prefix('}')?))
    }

    /// Whether the numbers can be counted to.
    pub(super) fn is_countable(self) -> bool {
        let max = self.max.unwrap_or(self.min);
        self.min <= MAX_REPEATS && max <= MAX_REPEATS && self.min <= max
    }

    /// Repetitions in all, when what is repeated has `inner` of them.
    pub(super) fn nested(self, inner: u64) -> u64 {
        if !self.counted {
            return inner;
        }
        match self.max.unwrap_or(self.min) {
            // Nothing repeated, or as often as one likes from none on.
            0 if self.max == Some(0) => 0,
            0 => inner,
            most => most.saturating_mul(inner.max(1)),
        }
    }

    /// Instructions, when what is repeated has `inner` of them.
    pub(super) fn size(self, inner: u64) -> u64 {
        let size = match (self.min, self.max) {
            (0, Some(1)) if !self.counted => 1 + inner,
            (0, None) => 2 + inner,
            (min, None) => 1 + min.saturating_mul(inner),
            (min, Some(max)) => max.saturating_mul(inner).saturating_add(max - min),
        };
        size.max(1)
    }

    /// As `regex` writes it.
    pub(super) fn written(self, greedy: bool) -> String {
        let Self { min, max, counted } = self;
        let count = match (min, max) {
            (0, None) if !counted => "*".to_owned(),
            (1, None) if !counted => "+".to_owned(),
            (0, Some(1)) if !counted => "?".to_owned(),
            (min, None) => format!("{{{min},}}"),
            (min, Some(max)) => format!("{{{min},{max}}}"),
        };
        count + if greedy { "" } else { "?" }
    }
}

/// The number without leading zeros that text begins with, and what follows.
fn number(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    if digits.is_empty() || (digits.len() > 1 && digits.starts_with('0')) {
        return None;
    }
    Some((digits.parse().unwrap_or(HUGE).min(HUGE), rest))
}
