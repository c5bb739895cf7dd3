//! Metrics of the process, from what the kernel tells of it in `/proc`.
//!
//! Invariant: what cannot be read is left out.

use std::fs;

use quorate_metrics::Registry;
use rustix::param::{clock_ticks_per_second, page_size};

/// Fields of `/proc/self/stat` after the name of the program, from 0.
const USER_TICKS: usize = 11;
const SYSTEM_TICKS: usize = 12;
const START_TICKS: usize = 19;
const VIRTUAL_BYTES: usize = 20;
const RESIDENT_PAGES: usize = 21;

/// Observes the process.
pub(crate) fn observe(registry: &Registry) {
    let value = |name: &str, read: fn() -> Option<f64>| {
        registry.observe(name, move |to| {
            if let Some(value) = read() {
                to.add(&[], value);
            }
        });
    };
    value("process_cpu_seconds_total", || {
        Some((stat(USER_TICKS)? + stat(SYSTEM_TICKS)?) / ticks())
    });
    value("process_resident_memory_bytes", || Some(stat(RESIDENT_PAGES)? * page_bytes()));
    value("process_virtual_memory_bytes", || stat(VIRTUAL_BYTES));
    value("process_virtual_memory_max_bytes", || limit("Max address space"));
    value("process_max_fds", || limit("Max open files"));
    value("process_open_fds", || {
        let open = u32::try_from(fs::read_dir("/proc/self/fd").ok()?.count()).ok()?;
        // One of them is open for this.
        Some(f64::from(open.saturating_sub(1)))
    });
    value("process_network_receive_bytes_total", || network("InOctets"));
    value("process_network_transmit_bytes_total", || network("OutOctets"));
    // It does not change, but for the clock.
    let start = start_seconds();
    registry.observe("process_start_time_seconds", move |to| {
        if let Some(start) = start {
            to.add(&[], start);
        }
    });
}

fn stat(field: usize) -> Option<f64> {
    stat_field(&fs::read_to_string("/proc/self/stat").ok()?, field)
}

/// A field after the name of the program, which may hold blanks and parentheses.
fn stat_field(text: &str, field: usize) -> Option<f64> {
    let (_, rest) = text.rsplit_once(')')?;
    rest.split_whitespace().nth(field)?.parse().ok()
}

fn start_seconds() -> Option<f64> {
    let boot = fs::read_to_string("/proc/stat").ok()?;
    let boot = boot.lines().find_map(|line| line.strip_prefix("btime "))?;
    Some(boot.trim().parse::<f64>().ok()? + stat(START_TICKS)? / ticks())
}

/// A soft limit; none is told as the largest number.
fn limit(name: &str) -> Option<f64> {
    limit_in(&fs::read_to_string("/proc/self/limits").ok()?, name)
}

#[expect(clippy::cast_precision_loss, reason = "that there is no limit needs no precision")]
fn limit_in(text: &str, name: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    match line.split_whitespace().next()? {
        "unlimited" => Some(u64::MAX as f64),
        number => number.parse().ok(),
    }
}

/// A counter of the network that the process is in.
fn network(name: &str) -> Option<f64> {
    network_in(&fs::read_to_string("/proc/self/net/netstat").ok()?, name)
}

/// The table has a line of names and a line of values for each protocol.
fn network_in(text: &str, name: &str) -> Option<f64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("IpExt: "));
    let place = lines.next()?.split(' ').position(|own| own == name)?;
    lines.next()?.split(' ').nth(place)?.parse().ok()
}

#[expect(clippy::cast_precision_loss, reason = "a small number")]
fn ticks() -> f64 {
    clock_ticks_per_second() as f64
}

#[expect(clippy::cast_precision_loss, reason = "a small number")]
fn page_bytes() -> f64 {
    page_size() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_tells_is_read() {
        let stat = "7 (a) b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21";
        assert_eq!(stat_field(stat, USER_TICKS), Some(11.0));
        assert_eq!(stat_field(stat, START_TICKS), Some(19.0));
        assert_eq!(stat_field("x", 0), None);
        let limits = "Limit Soft Hard\nMax open files   1024   4096   files\nMax address space unlimited unlimited bytes\n";
        assert_eq!(limit_in(limits, "Max open files"), Some(1024.0));
        assert!(limit_in(limits, "Max address space").is_some_and(|limit| limit > 1e19));
        let netstat = "TcpExt: A B\nTcpExt: 1 2\nIpExt: InOctets OutOctets\nIpExt: 30 40\n";
        assert_eq!(network_in(netstat, "OutOctets"), Some(40.0));
        assert_eq!(network_in(netstat, "Other"), None);
    }

    #[test]
    fn this_process_is_told() {
        let registry = Registry::default();
        observe(&registry);
        let text = registry.text(quorate_metrics::TextFormat::Prometheus, |_| true);
        for name in ["process_cpu_seconds_total ", "process_open_fds ", "process_resident_memory"] {
            assert!(text.contains(&format!("\n{name}")), "{name} is not in {text}");
        }
    }
}
