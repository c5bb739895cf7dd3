//! Regular expressions of RE2's syntax: `matches`, `find`, `findAll`.

mod class;
mod error;
mod escape;
mod overloads;
mod pattern;
mod repeat;
mod translate;
mod unicode;

#[cfg(test)]
mod tests;

pub(super) use overloads::overloads;

pub(crate) use self::pattern::Pattern;

/// Whether text is a regular expression; the error says why not.
pub(crate) fn check(text: &str) -> Result<(), String> {
    translate::translate(text).map(drop).map_err(|error| error.to_string())
}
