//! CPU time and memory of server processes, read from `/proc`.
//!
//! Invariant: a process that has gone counts as nothing; the figures are Linux's own, never
//! estimated.

use std::pin::pin;
use std::time::Duration;

use tokio::time::interval;

/// Clock ticks a second in `/proc`, fixed by the kernel's user interface.
const TICKS_PER_SECOND: u64 = 100;
/// Bytes of a page in `/proc/PID/statm` on the machines that this is built for.
const PAGE_BYTES: u64 = 4096;

/// How often memory is sampled while something runs.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(20);

/// CPU time and memory of some processes at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Usage {
    /// User and system time since the processes started.
    pub(super) cpu: Duration,
    /// Resident memory.
    pub(super) rss_bytes: u64,
}

/// What the processes used while something ran.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Span {
    pub(super) before: Usage,
    pub(super) after: Usage,
    /// The most resident memory seen in between.
    pub(super) peak_rss_bytes: u64,
}

impl Span {
    /// CPU time that the processes took.
    pub(super) fn cpu(&self) -> Duration {
        self.after.cpu.saturating_sub(self.before.cpu)
    }

    /// This and a later span as one: the CPU time of both, and the memory from the first beginning to
    /// the last end.
    pub(super) fn and(self, later: &Self) -> Self {
        if self.after.rss_bytes == 0 {
            return *later;
        }
        let cpu = self.after.cpu + later.cpu();
        let peak_rss_bytes = self.peak_rss_bytes.max(later.peak_rss_bytes);
        Self { after: Usage { cpu, ..later.after }, peak_rss_bytes, ..self }
    }
}

/// Runs something and tells what the processes used meanwhile.
pub(super) async fn during<F: Future>(pids: &[u32], work: F) -> (F::Output, Span) {
    let before = usage(pids);
    let mut span = Span { before, after: before, peak_rss_bytes: before.rss_bytes };
    let (mut work, mut timer) = (pin!(work), interval(SAMPLE_INTERVAL));
    let output = loop {
        tokio::select! {
            biased;
            _ = timer.tick() => span.peak_rss_bytes = span.peak_rss_bytes.max(usage(pids).rss_bytes),
            output = &mut work => break output,
        }
    };
    span.after = usage(pids);
    span.peak_rss_bytes = span.peak_rss_bytes.max(span.after.rss_bytes);
    (output, span)
}

/// Adds up what the processes use.
pub(super) fn usage(pids: &[u32]) -> Usage {
    let mut sum = Usage::default();
    for pid in pids {
        let read =
            |file| std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
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

    #[tokio::test]
    async fn sees_memory_that_is_gone_at_the_end() {
        const BYTES: usize = 64 << 20;
        let work = async {
            let memory = vec![1_u8; BYTES];
            tokio::time::sleep(SAMPLE_INTERVAL * 3).await;
            memory.iter().map(|byte| usize::from(*byte)).sum::<usize>()
        };
        let (sum, span) = during(&[std::process::id()], work).await;
        assert_eq!(sum, BYTES);
        assert!(span.peak_rss_bytes >= span.before.rss_bytes + BYTES as u64 / 2, "{span:?}");
    }
}
