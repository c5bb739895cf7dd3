//! Time zones as expressions name them: IANA names, fixed offsets such as `+05:30`, `UTC` and `Local`, which is UTC too.
//!
//! Invariants: names are compared with their case; the database is the one in the binary, never the machine's.

use tzdb_data::{TZ_NAMES, find_tz};

use super::Timestamp;
use crate::library::number::parse_int;

/// Seconds that clocks in `zone` are ahead of UTC at `at`.
pub fn offset_at(zone: &str, at: Timestamp) -> Result<i64, String> {
    match zone.split_once(':') {
        Some((hours, minutes)) => fixed_offset(zone, hours, minutes),
        None => named_offset(zone, at),
    }
}

/// `+05:30`; both numbers may be any, as for the reference engine.
fn fixed_offset(zone: &str, hours: &str, minutes: &str) -> Result<i64, String> {
    let hours = parse_int("Atoi", hours)?;
    let minutes = parse_int("Atoi", minutes)?;
    let signed = if zone.starts_with('-') { minutes.wrapping_neg() } else { minutes };
    let nanos = hours.wrapping_mul(60).wrapping_add(signed).wrapping_mul(60_000_000_000);
    Ok(nanos / 1_000_000_000)
}

fn named_offset(zone: &str, at: Timestamp) -> Result<i64, String> {
    if matches!(zone, "" | "UTC" | "Local") {
        return Ok(0);
    }
    if zone.contains("..") || zone.starts_with(['/', '\\']) {
        return Err("time: invalid location name".to_owned());
    }
    let unknown = || format!("unknown time zone {zone}");
    // The database finds names whatever their case.
    let found = if TZ_NAMES.contains(&zone) { find_tz(zone.as_bytes()) } else { None };
    let local = found
        .ok_or_else(unknown)?
        .find_local_time_type(at.unix_seconds())
        .map_err(|_| unknown())?;
    Ok(i64::from(local.ut_offset()))
}
