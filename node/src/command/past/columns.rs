//! Rows in columns, printed page by page, and ages as kubectl writes them.
//!
//! Invariant: a column never becomes narrower from one page to the next.

/// What stands between two columns.
const GAP: &str = "   ";
const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// The columns of a table.
#[derive(Debug)]
pub(super) struct Columns {
    /// Until it has been printed.
    heading: Option<Vec<String>>,
    widths: Vec<usize>,
}

impl Columns {
    /// Columns under this heading.
    pub(super) fn new(heading: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let heading: Vec<String> = heading.into_iter().map(Into::into).collect();
        Self { widths: vec![0; heading.len()], heading: Some(heading) }
    }

    /// The lines of a page; those of the first one begin with the heading.
    pub(super) fn lines(&mut self, mut rows: Vec<Vec<String>>) -> Vec<String> {
        if rows.is_empty() {
            return Vec::new();
        }
        if let Some(heading) = self.heading.take() {
            rows.insert(0, heading);
        }
        for row in &rows {
            for (width, cell) in self.widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        rows.iter().map(|row| self.line(row)).collect()
    }

    fn line(&self, row: &[String]) -> String {
        let padded = row.iter().zip(&self.widths).map(|(cell, width)| format!("{cell:width$}"));
        padded.collect::<Vec<_>>().join(GAP).trim_end().to_owned()
    }
}

/// How long ago, in two units at most.
pub(super) fn age(seconds: u64) -> String {
    let two = |first: u64, unit: &str, second: u64, small: &str| match second {
        0 => format!("{first}{unit}"),
        _ => format!("{first}{unit}{second}{small}"),
    };
    match seconds {
        0..120 => format!("{seconds}s"),
        120..600 => two(seconds / MINUTE, "m", seconds % MINUTE, "s"),
        600..10_800 => format!("{}m", seconds / MINUTE),
        10_800..28_800 => two(seconds / HOUR, "h", seconds % HOUR / MINUTE, "m"),
        28_800..172_800 => format!("{}h", seconds / HOUR),
        172_800..691_200 => two(seconds / DAY, "d", seconds % DAY / HOUR, "h"),
        _ => format!("{}d", seconds / DAY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_keep_their_columns() {
        let mut columns = Columns::new(["A", "B"]);
        let row = |a: &str, b: &str| vec![a.to_owned(), b.to_owned()];
        assert_eq!(columns.lines(vec![]), [""; 0]);
        assert_eq!(columns.lines(vec![row("long", "x")]), ["A      B", "long   x"]);
        assert_eq!(columns.lines(vec![row("ü", ""), row("", "y")]), ["ü", "       y"]);
    }

    #[test]
    fn ages() {
        let check = |seconds: u64, expect: &str| assert_eq!(age(seconds), expect);
        check(0, "0s");
        check(119, "119s");
        check(300, "5m");
        check(301, "5m1s");
        check(3 * 3600 - 1, "179m");
        check(5 * 3600 + 120, "5h2m");
        check(30 * 3600, "30h");
        check(50 * 3600, "2d2h");
        check(10 * 86_400, "10d");
    }
}
