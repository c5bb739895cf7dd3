//! Interposed functions of the C library: randomness and clocks, answered from the seed.
//!
//! Our own code asks the seams of `quorate_env`. But hash maps of the standard library, ring,
//! tokio's `select!` and hyper's `date` header go past any seam to `getrandom`,
//! `syscall(SYS_getrandom)` and `clock_gettime`. These symbols are defined here, in the executable,
//! where they come before the C library's.
//!
//! Invariants: nothing changes until [`arm`]; a process simulates one seed, so that whatever hides
//! in globals of libraries begins the same. The only file with unsafe code in it, and with state in
//! statics: symbols of C belong to the process.

#![expect(
    unsafe_code,
    reason = "defining symbols of the C library, and calling the ones that they hide"
)]

use std::ffi::CStr;
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use libc::{c_char, c_int, c_long, c_uint, c_void, clockid_t, size_t, ssize_t, timespec};

/// When simulated time begins, seconds since the Unix epoch.
pub(crate) const EPOCH_SECONDS: u64 = 1_790_000_000;
/// What the monotonic clock shows then, seconds. Not 0, so that subtracting a little stays
/// possible.
const MONOTONIC_SECONDS: u64 = 1_000_000;

static ARMED: AtomicBool = AtomicBool::new(false);
static ENTROPY: AtomicU64 = AtomicU64::new(0);
static NANOSECONDS: AtomicU64 = AtomicU64::new(0);

/// From now on randomness comes from the seed and clocks show simulated time.
pub(crate) fn arm(seed: u64) {
    ENTROPY.store(seed, Ordering::SeqCst);
    ARMED.store(true, Ordering::SeqCst);
}

/// Sets the simulated time, counted from the start of the simulation.
pub(crate) fn advance(elapsed: Duration) {
    NANOSECONDS.store(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX), Ordering::SeqCst);
}

/// The simulated time in nanoseconds, in steps of the simulation.
pub(crate) fn now() -> u64 {
    NANOSECONDS.load(Ordering::SeqCst)
}

fn armed() -> bool {
    ARMED.load(Ordering::SeqCst)
}

fn next_word() -> u64 {
    let step = 0x9e37_79b9_7f4a_7c15;
    let mut word = ENTROPY.fetch_add(step, Ordering::SeqCst).wrapping_add(step);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// The definition that ours hides.
fn hidden(name: &CStr) -> *mut c_void {
    let name: *const c_char = name.as_ptr();
    // SAFETY: the name ends with a zero byte and dlsym only reads it.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name) };
    assert!(!found.is_null(), "every function that is defined here exists in the C library");
    found
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getrandom(buffer: *mut c_void, length: size_t, flags: c_uint) -> ssize_t {
    if !armed() {
        // SAFETY: the hidden function has this signature.
        let real: unsafe extern "C" fn(*mut c_void, size_t, c_uint) -> ssize_t =
            unsafe { mem::transmute(hidden(c"getrandom")) };
        // SAFETY: the caller's arguments, unchanged.
        return unsafe { real(buffer, length, flags) };
    }
    let mut filled = 0;
    while filled < length {
        let word = next_word().to_le_bytes();
        let count = word.len().min(length - filled);
        // SAFETY: the caller gives `length` writable bytes at `buffer`, and `filled + count` is at
        // most that.
        unsafe { ptr::copy_nonoverlapping(word.as_ptr(), buffer.cast::<u8>().add(filled), count) };
        filled += count;
    }
    ssize_t::try_from(length).unwrap_or(ssize_t::MAX)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn syscall(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    if number == libc::SYS_getrandom && armed() {
        let flags = c_uint::try_from(c).unwrap_or(0);
        // SAFETY: these are the arguments of getrandom.
        return unsafe { getrandom(a as *mut c_void, b, flags) } as c_long;
    }
    // SAFETY: the hidden function takes a number and up to six words.
    let real: unsafe extern "C" fn(c_long, usize, usize, usize, usize, usize, usize) -> c_long =
        unsafe { mem::transmute(hidden(c"syscall")) };
    // SAFETY: the caller's arguments, unchanged; those that were not given are ignored by the
    // kernel.
    unsafe { real(number, a, b, c, d, e, f) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
    let start = match clock {
        libc::CLOCK_REALTIME => EPOCH_SECONDS,
        libc::CLOCK_MONOTONIC => MONOTONIC_SECONDS,
        _ => 0,
    };
    if start == 0 || !armed() {
        // SAFETY: the hidden function has this signature.
        let real: unsafe extern "C" fn(clockid_t, *mut timespec) -> c_int =
            unsafe { mem::transmute(hidden(c"clock_gettime")) };
        // SAFETY: the caller's arguments, unchanged.
        return unsafe { real(clock, time) };
    }
    let now = Duration::from_secs(start) + Duration::from_nanos(now());
    let seconds = libc::time_t::try_from(now.as_secs()).unwrap_or(libc::time_t::MAX);
    // SAFETY: the caller gives a place for one timespec.
    unsafe { time.write(timespec { tv_sec: seconds, tv_nsec: now.subsec_nanos().into() }) };
    0
}
