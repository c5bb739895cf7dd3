//! Versions of the form 1.2.3-rc.1+build: how they are read, compared and printed.
//!
//! Invariant: comparing ignores the build.

use std::cmp::Ordering;
use std::fmt;

use crate::library::number::parse_uint;
use crate::library::quote::quoted;

/// A version.
#[derive(Debug, Clone)]
pub struct Semver {
    numbers: [u64; 3],
    prerelease: Vec<Identifier>,
    build: Vec<String>,
}

/// A dot-separated part of a pre-release; numbers come before words.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    Number(u64),
    Word(String),
}

impl Semver {
    /// Reads a version; the error is what the expression fails with.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("Version string empty".to_owned());
        }
        let parts: Vec<&str> = text.splitn(3, '.').collect();
        let [major, minor, rest] = *parts else {
            return Err("No Major.Minor.Patch elements found".to_owned());
        };
        let major = number("Major", major)?;
        let minor = number("Minor", minor)?;
        let (rest, build) =
            rest.split_once('+').map_or((rest, None), |(rest, build)| (rest, Some(build)));
        let (patch, prerelease) =
            rest.split_once('-').map_or((rest, None), |(patch, pre)| (patch, Some(pre)));
        let numbers = [major, minor, number("Patch", patch)?];
        let prerelease =
            prerelease.into_iter().flat_map(|all| all.split('.')).map(Identifier::parse);
        let prerelease = prerelease.collect::<Result<_, _>>()?;
        let build = build
            .into_iter()
            .flat_map(|all| all.split('.'))
            .map(build_part)
            .collect::<Result<_, _>>()?;
        Ok(Self { numbers, prerelease, build })
    }

    /// Reads a version that may begin with `v`, lack its last numbers or have leading zeros.
    pub fn parse_lenient(text: &str) -> Result<Self, String> {
        let mut parts: Vec<String> = text
            .strip_prefix('v')
            .unwrap_or(text)
            .splitn(3, '.')
            .map(without_leading_zeros)
            .collect();
        if parts.len() < 3 {
            if parts.last().is_some_and(|last| last.contains(['+', '-'])) {
                return Err("short version cannot contain PreRelease/Build meta data".to_owned());
            }
            parts.resize(3, "0".to_owned());
        }
        Self::parse(&parts.join("."))
    }

    /// The first number, as a signed one.
    #[must_use]
    pub const fn major(&self) -> i64 {
        self.numbers[0].cast_signed()
    }

    /// The second number, as a signed one.
    #[must_use]
    pub const fn minor(&self) -> i64 {
        self.numbers[1].cast_signed()
    }

    /// The third number, as a signed one.
    #[must_use]
    pub const fn patch(&self) -> i64 {
        self.numbers[2].cast_signed()
    }
}

impl Identifier {
    fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("Prerelease is empty".to_owned());
        }
        if !text.bytes().all(|byte| byte.is_ascii_digit()) {
            let known = is_identifier(text);
            let refused = || format!("Invalid character(s) found in prerelease {}", quoted(text));
            return if known { Ok(Self::Word(text.to_owned())) } else { Err(refused()) };
        }
        if has_leading_zeros(text) {
            return Err(format!(
                "Numeric PreRelease version must not contain leading zeroes {}",
                quoted(text)
            ));
        }
        parse_uint("ParseUint", text).map(Self::Number)
    }
}

impl PartialEq for Semver {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Semver {}

impl PartialOrd for Semver {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Semver {
    fn cmp(&self, other: &Self) -> Ordering {
        // A release comes after its pre-releases.
        let released = self.prerelease.is_empty().cmp(&other.prerelease.is_empty());
        let prerelease = || released.then_with(|| self.prerelease.cmp(&other.prerelease));
        self.numbers.cmp(&other.numbers).then_with(prerelease)
    }
}

impl fmt::Display for Semver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.numbers;
        write!(f, "{major}.{minor}.{patch}")?;
        for (at, identifier) in self.prerelease.iter().enumerate() {
            f.write_str(if at == 0 { "-" } else { "." })?;
            match identifier {
                Identifier::Number(number) => write!(f, "{number}")?,
                Identifier::Word(word) => f.write_str(word)?,
            }
        }
        for (at, part) in self.build.iter().enumerate() {
            f.write_str(if at == 0 { "+" } else { "." })?;
            f.write_str(part)?;
        }
        Ok(())
    }
}

/// One of the three numbers.
fn number(name: &str, text: &str) -> Result<u64, String> {
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        let name = name.to_ascii_lowercase();
        return Err(format!("Invalid character(s) found in {name} number {}", quoted(text)));
    }
    if has_leading_zeros(text) {
        return Err(format!("{name} number must not contain leading zeroes {}", quoted(text)));
    }
    parse_uint("ParseUint", text)
}

fn build_part(text: &str) -> Result<String, String> {
    match text {
        "" => Err("Build meta data is empty".to_owned()),
        _ if is_identifier(text) => Ok(text.to_owned()),
        _ => Err(format!("Invalid character(s) found in build meta data {}", quoted(text))),
    }
}

fn is_identifier(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn has_leading_zeros(text: &str) -> bool {
    text.len() > 1 && text.starts_with('0')
}

/// A part without leading zeros, but with one where no digit would come first.
fn without_leading_zeros(part: &str) -> String {
    if part.len() <= 1 {
        return part.to_owned();
    }
    let bare = part.trim_start_matches('0');
    if bare.starts_with(|c: char| c.is_ascii_digit()) {
        bare.to_owned()
    } else {
        format!("0{bare}")
    }
}
