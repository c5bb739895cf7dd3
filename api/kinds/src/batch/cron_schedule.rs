//! Cron schedules: five fields, or a macro such as `@daily`.
//!
//! Only the syntax is checked; the CronJob controller computes the times.

/// The name, bounds and symbolic names of a field.
type FieldRule = (&'static str, u32, u32, &'static [&'static str]);

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const FIELDS: [FieldRule; 5] = [
    ("minute", 0, 59, &[]),
    ("hour", 0, 23, &[]),
    ("day", 1, 31, &[]),
    ("month", 1, 12, &MONTHS),
    ("weekday", 0, 6, &DAYS),
];
const WORDS: [&str; 7] = ["yearly", "annually", "monthly", "weekly", "daily", "midnight", "hourly"];
const UNITS: [&str; 7] = ["ns", "us", "µs", "ms", "s", "m", "h"];

/// Why a schedule is malformed; `None` for a valid one.
pub(super) fn problem(text: &str) -> Option<String> {
    if let Some(word) = text.strip_prefix('@') {
        let interval = word.strip_prefix("every ");
        let known = WORDS.contains(&word) || interval.is_some_and(is_duration);
        return (!known).then(|| format!("unrecognized descriptor: {text}"));
    }
    let fields: Vec<&str> = text.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        return Some(format!(
            "expected exactly {} fields, found {}: [{text}]",
            FIELDS.len(),
            fields.len()
        ));
    }
    fields
        .iter()
        .zip(&FIELDS)
        .find_map(|(field, rule)| field.split(',').find_map(|part| part_problem(part, rule)))
}

/// Whether a text is a Go duration such as `1h30m`.
fn is_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    let mut any = false;
    while !rest.is_empty() {
        let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let unit = rest[number..]
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .map_or(rest.len(), |at| number + at);
        if number == 0 || !UNITS.contains(&&rest[number..unit]) {
            return false;
        }
        (rest, any) = (&rest[unit..], true);
    }
    any
}

/// Why a part is none of `*`, `n`, `a-b`, each with an optional `/step`.
fn part_problem(part: &str, rule: &FieldRule) -> Option<String> {
    let (name, low, high, _) = *rule;
    let (range, step) =
        part.split_once('/').map_or((part, None), |(range, step)| (range, Some(step)));
    if let Some(step) = step {
        match step.parse::<u32>() {
            Err(_) => return Some(format!("failed to parse the step of {name}: {step}")),
            Ok(0) => return Some(format!("step of range should be a positive number: {part}")),
            Ok(_) => {}
        }
    }
    if matches!(range, "*" | "?") {
        return None;
    }
    let (from, to) = range.split_once('-').unwrap_or((range, range));
    let (Some(from), Some(to)) = (value(from, rule), value(to, rule)) else {
        return Some(format!("failed to parse {name}: {range}"));
    };
    if from < low || to > high {
        return Some(format!("{range} is outside of the {name} range {low}-{high}"));
    }
    (from > to).then(|| format!("beginning of range ({from}) beyond end of range ({to}): {part}"))
}

fn value(text: &str, (_, low, _, names): &FieldRule) -> Option<u32> {
    let lower = text.to_lowercase();
    match names.iter().position(|name| *name == lower) {
        Some(at) => u32::try_from(at).ok().map(|at| at + low),
        None => text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules() {
        for good in [
            "0 0 1 1 *",
            "*/5 * * * MON-FRI",
            "1,2-4/2 ? 31 dec 0",
            "@daily",
            "@every 1h30m",
            "59 23 * JAN-Feb sun",
            "0 0 * * 1/2",
        ] {
            assert_eq!(problem(good), None, "{good}");
        }
        for bad in [
            "every day",
            "0 0 0 1 1 *",
            "60 * * * *",
            "* 24 * * *",
            "* * 0 * *",
            "* * * 13 *",
            "* * * * 7",
            "5-1 * * * *",
            "*/0 * * * *",
            "*/x * * * *",
            "a * * * *",
            "+1 * * * *",
            "@often",
            "@every soon",
            "@every ",
            "",
            "1, * * * *",
        ] {
            assert!(problem(bad).is_some(), "{bad}");
        }
    }
}
