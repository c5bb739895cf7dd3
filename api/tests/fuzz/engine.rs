//! The fuzzing engine: runs a target on mutations of a few good inputs, with words that parsers
//! treat specially, from a seed.
//!
//! In CI a fixed number of inputs, always the same. `QUORATE_FUZZ_SECONDS` lets each target run
//! that long instead, and `QUORATE_FUZZ_SEED` (a number) begins elsewhere. What a target must keep
//! to: no panic, and memory in proportion to the input. A failure shows the input as text that can
//! be pasted into a test.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// Inputs of each target in CI.
const INPUTS: u64 = 3000;
/// Where the inputs of CI begin.
const SEED: u64 = 1;
/// Longest input that is made.
const LONGEST: usize = 16 * 1024;
/// Memory that most targets may take at one time whatever the input, in bytes.
pub(crate) const BASE_BYTES: u64 = 512 * 1024;

/// Something that reads outside bytes.
pub(crate) struct Target<'a> {
    /// For messages.
    pub(crate) name: &'a str,
    /// Good inputs.
    pub(crate) corpus: Vec<Vec<u8>>,
    /// Words of the syntax.
    pub(crate) words: &'a [&'a [u8]],
    /// Memory that any input may take at one time, in bytes.
    pub(crate) base_bytes: u64,
    /// What each byte of input may take beyond that.
    pub(crate) bytes_per_byte: u64,
}

impl Target<'_> {
    /// Runs `read` on many inputs.
    pub(crate) fn run(&self, mut read: impl FnMut(&[u8])) {
        let mut dice = Dice(from_environment("QUORATE_FUZZ_SEED").unwrap_or(SEED));
        let time = from_environment("QUORATE_FUZZ_SECONDS").map(Duration::from_secs);
        let begin = Instant::now();
        let (mut count, mut slowest) = (0, (Duration::ZERO, 0));
        while time.map_or(count < INPUTS, |time| begin.elapsed() < time) {
            let input = self.input(&mut dice);
            let started = Instant::now();
            self.check(&input, &mut read);
            slowest = slowest.max((started.elapsed(), input.len()));
            count += 1;
        }
        println!(
            "{}: {count} inputs, the slowest took {:?} ({} bytes)",
            self.name, slowest.0, slowest.1
        );
    }

    fn check(&self, input: &[u8], read: &mut impl FnMut(&[u8])) {
        let mut panicked = false;
        let used = allocation_counter::measure(|| {
            panicked = catch_unwind(AssertUnwindSafe(|| read(input))).is_err();
        });
        assert!(!panicked, "{} panics on b\"{}\"", self.name, input.escape_ascii());
        let most = self.base_bytes + self.bytes_per_byte * input.len() as u64;
        assert!(
            used.bytes_max <= most,
            "{} takes {} bytes for {}: b\"{}\"",
            self.name,
            used.bytes_max,
            input.len(),
            input.escape_ascii()
        );
    }

    /// A good input with a few changes.
    fn input(&self, dice: &mut Dice) -> Vec<u8> {
        let mut input = dice.pick(&self.corpus).cloned().unwrap_or_default();
        for _ in 0..1 + dice.below(6) {
            self.mutate(&mut input, dice);
        }
        input.truncate(LONGEST);
        input
    }

    fn mutate(&self, input: &mut Vec<u8>, dice: &mut Dice) {
        let at = dice.below(input.len() + 1);
        let part = at..(at + dice.below(24)).min(input.len());
        match dice.below(9) {
            0 => input.insert(at, dice.byte()),
            1 => drop(input.drain(part)),
            2 => drop(input.splice(
                at..at,
                dice.pick(self.words).copied().unwrap_or_default().iter().copied(),
            )),
            3 => {
                drop(input.splice(
                    part,
                    dice.pick(self.words).copied().unwrap_or_default().iter().copied(),
                ))
            }
            4 => {
                let other = dice.pick(&self.corpus).cloned().unwrap_or_default();
                let from = dice.below(other.len() + 1);
                drop(input.splice(part, other[from..].iter().copied()));
            }
            // Depth and quadratic time show with many of the same.
            5 => {
                let many = input[part].repeat(1 << dice.below(10));
                drop(input.splice(at..at, many));
            }
            6 => input.truncate(at),
            7 => {
                if let Some(byte) = input.get_mut(at) {
                    *byte = [0, 0x7f, 0x80, 0xff, *byte ^ 1, byte.wrapping_add(1)][dice.below(6)];
                }
            }
            _ => {
                if let Some(byte) = input.get_mut(at) {
                    *byte = dice.byte();
                }
            }
        }
    }
}

/// Numbers from a seed (SplitMix64).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`; zero where that is zero.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end.max(1) as u64).unwrap_or_default()
    }

    fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[0]
    }

    fn pick<'t, T>(&mut self, all: &'t [T]) -> Option<&'t T> {
        all.get(self.below(all.len()))
    }
}

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn greedy() -> Target<'static> {
    Target {
        name: "greedy",
        corpus: vec![b"abc".to_vec()],
        words: &[b"!"],
        base_bytes: 1000,
        bytes_per_byte: 10,
    }
}

#[test]
#[should_panic(expected = "greedy panics on b\"")]
fn a_panic_is_found() {
    greedy().run(|input| assert!(!input.contains(&b'!'), "a word of the syntax"));
}

#[test]
#[should_panic(expected = "greedy takes 1000000 bytes for")]
fn what_takes_too_much_is_found() {
    greedy().run(|input| {
        drop(
            input
                .first()
                .filter(|first| **first == b'!')
                .map(|_| Vec::<u8>::with_capacity(1_000_000)),
        )
    });
}
