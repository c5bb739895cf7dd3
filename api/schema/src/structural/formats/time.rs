//! Dates, times and durations.

/// Units of Go's durations.
const GO_UNITS: [&str; 8] = ["ns", "us", "µs", "μs", "ms", "s", "m", "h"];
/// Units of Scala's durations: names, of which the last one may have an ending.
const WORDY_UNITS: [&[&str]; 8] = [
    &["ns", "nano"],
    &["us", "µs", "micro"],
    &["ms", "milli"],
    &["s", "sec"],
    &["m", "min"],
    &["h", "hr", "hour"],
    &["d", "day"],
    &["w", "wk", "week"],
];

/// `2006-01-02`, a day that exists.
pub(super) fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts[..] else {
        return false;
    };
    let number = |part: &str, length: usize| {
        let fits = part.len() == length && part.bytes().all(|byte| byte.is_ascii_digit());
        part.parse::<u32>().ok().filter(|_| fits)
    };
    let (Some(year), Some(month), Some(day)) = (number(year, 4), number(month, 2), number(day, 2))
    else {
        return false;
    };
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    (1..=days).contains(&day)
}

/// A date, `T`, and a time with an offset. Offsets are not checked further.
pub(super) fn is_date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else {
        return false;
    };
    is_date(date) && is_time(time)
}

fn is_time(text: &str) -> bool {
    let two = |text: &str| text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    let Some((clock, rest)) = text.split_at_checked(8) else {
        return false;
    };
    let parts: Vec<&str> = clock.split(':').collect();
    let [hour, minute, second] = parts[..] else {
        return false;
    };
    let fits =
        two(hour) && two(minute) && two(second) && hour <= "23" && minute <= "59" && second <= "59";
    let is_zone = |zone: &str| {
        zone == "z"
            || zone
                .strip_prefix(['+', '-'])
                .and_then(|zone| zone.split_once(':'))
                .is_some_and(|(hours, minutes)| two(hours) && two(minutes))
    };
    // Any one character may begin the fraction.
    let after_fraction = || {
        let mut chars = rest.chars();
        chars.next()?;
        let digits = chars.as_str();
        let end = digits.find(|char: char| !char.is_ascii_digit()).unwrap_or(digits.len());
        (end > 0).then(|| &digits[end..])
    };
    fits && (is_zone(rest) || after_fraction().is_some_and(is_zone))
}

/// `1h30m` as Go has it, or `3 days` as Scala has it.
pub(super) fn is_duration(text: &str) -> bool {
    is_go_duration(text) || is_wordy_duration(text)
}

fn is_go_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let end =
            rest.find(|char: char| !char.is_ascii_digit() && char != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(end);
        let has_digit = number.bytes().any(|byte| byte.is_ascii_digit());
        if !has_digit || number.matches('.').count() > 1 {
            return false;
        }
        let end =
            after.find(|char: char| char.is_ascii_digit() || char == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        if unit.is_empty() || !GO_UNITS.contains(&unit) {
            return false;
        }
        rest = after;
    }
    true
}

fn is_wordy_duration(text: &str) -> bool {
    let mut rest = text.trim_start_matches(|char: char| char.is_ascii_whitespace());
    let mut knows_one = false;
    while !rest.is_empty() {
        let end = rest.find(|char: char| !char.is_ascii_digit()).unwrap_or(rest.len());
        if end == 0 || rest[..end].parse::<i64>().is_err() {
            return false;
        }
        let after = rest[end..].trim_start_matches(|char: char| char.is_ascii_whitespace());
        let end = after
            .find(|char: char| !char.is_ascii_alphabetic() && char != 'µ')
            .unwrap_or(after.len());
        if end == 0 {
            return false;
        }
        knows_one |= is_wordy_unit(&after[..end].to_lowercase());
        rest = after[end..].trim_start_matches(|char: char| char.is_ascii_whitespace());
    }
    knows_one
}

fn is_wordy_unit(unit: &str) -> bool {
    WORDY_UNITS.iter().any(|names| {
        names.contains(&unit) || names.last().is_some_and(|longest| unit.starts_with(longest))
    })
}
