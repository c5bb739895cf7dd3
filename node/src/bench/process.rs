//! What server processes use, read from `/proc`.
//!
//! Invariant: a process that has gone counts as nothing; the figures are Linux's own, never estimated.

use std::time::Duration;

/// Clock ticks a second in `/proc`, fixed by the kernel's user interface.
const TICKS_PER_SECOND: u64 = 100;
/// Bytes of a page in `/proc/PID/statm` on the machines that this is built for.
const PAGE_BYTES: u64 = 4096;

/// CPU time and memory of some processes at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Usage {
    /// User and system time since the processes started.
    pub(super) cpu: Duration,
    /// Resident memory.
    pub(super) rss_bytes: u64,
}

/// Adds up what the processes use.
pub(super) fn usage(pids: &[u32]) -> Usage {
    let mut sum = Usage::default();
    for pid in pids {
        let read = |file| std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
        sum.cpu += cpu_time(&read("stat")).unwrap_or_default();
        sum.rss_bytes += resident(&read("statm")).unwrap_or_default();
    }
    sum
}

/// Fields 14 and 15 of `stat`; the second field, a name in brackets, may hold anything.
fn cpu_time(stat: &str) -> Option<Duration> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let ticks: u64 = fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
    Some(Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND))
}

fn resident(statm: &str) -> Option<u64> {
    Some(statm.split_ascii_whitespace().nth(1)?.parse::<u64>().ok()? * PAGE_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_kernels_figures() {
        let stat = "7 (a ) b) S 1 7 7 0 -1 4194560 1 2 3 4 150 25 0 0 20 0 1 0 5 6 7";
        assert_eq!(cpu_time(stat), Some(Duration::from_millis(1750)));
        assert_eq!(cpu_time(""), None);
        assert_eq!(resident("100 25 3 4 5 6 7"), Some(25 * PAGE_BYTES));
        assert!(usage(&[std::process::id()]).rss_bytes > 0);
    }
}
