//! What was done with each object, told as it is done, and counted.

use crate::error::Error;
use crate::terminal::print_line;

/// What was done with an object.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Done {
    /// It is there again.
    Created,
    /// It was put back as it was.
    Replaced,
    /// It is there, as it was.
    Unchanged,
    /// It is there, perhaps otherwise, and was left alone.
    Present,
    /// A controller makes it.
    Skipped(&'static str),
    /// It is not there.
    Failed(String),
}

/// What is told of an object.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) title: String,
    pub(super) done: Done,
    /// What is otherwise than it was.
    pub(super) notes: Vec<String>,
}

/// The count.
#[derive(Debug, Default)]
pub(super) struct UndeleteReport {
    /// Said behind what was not really done.
    dry_run: Option<&'static str>,
    changed: usize,
    left: usize,
    failed: usize,
}

impl UndeleteReport {
    /// Nothing yet.
    pub(super) fn new(dry_run: bool) -> Self {
        Self { dry_run: dry_run.then_some(" (dry run)"), ..Self::default() }
    }

    /// Tells and counts.
    pub(super) fn add(&mut self, told: Told) {
        print_line(self.line(&told));
        *match told.done {
            Done::Created | Done::Replaced => &mut self.changed,
            Done::Unchanged | Done::Present | Done::Skipped(_) => &mut self.left,
            Done::Failed(_) => &mut self.failed,
        } += 1;
    }

    /// The end of a command about one object: that it could not be done is the command's failure.
    pub(super) fn only(&mut self, told: Told) -> Result<(), Error> {
        let title = &told.title;
        match &told.done {
            Done::Failed(why) => Err(Error::failed(why)),
            Done::Present => Err(Error::failed(format_args!(
                "{title} is there; --replace puts it back as it was"
            ))),
            _ => {
                self.add(told);
                Ok(())
            }
        }
    }

    /// The end of a command about several objects.
    pub(super) fn end(&self) -> Result<(), Error> {
        let Self { changed, left, failed, .. } = self;
        let would = if self.dry_run.is_some() { "would be brought back" } else { "brought back" };
        print_line(format_args!("{changed} {would}, {left} left alone, {failed} failed"));
        let all = changed + left + failed;
        match failed {
            0 => Ok(()),
            _ => Err(Error::failed(format_args!("{failed} of {all} could not be brought back"))),
        }
    }

    fn line(&self, told: &Told) -> String {
        let Told { title, done, notes } = told;
        let dry_run = self.dry_run.unwrap_or_default();
        let mut line = match done {
            Done::Created => format!("{title} undeleted{dry_run}"),
            Done::Replaced => format!("{title} put back{dry_run}"),
            Done::Unchanged => format!("{title} unchanged"),
            Done::Present => format!("{title} is there already"),
            Done::Skipped(why) => format!("{title} skipped: {why}"),
            Done::Failed(why) => format!("{title} failed: {why}"),
        };
        if !notes.is_empty() {
            line.push_str(&format!("; {}", notes.join("; ")));
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(done: Done) -> Told {
        Told { title: "x/a".to_owned(), done, notes: vec![] }
    }

    #[test]
    fn failures_are_the_end() {
        let mut report = UndeleteReport::new(false);
        report.add(told(Done::Created));
        report.add(told(Done::Skipped("why")));
        assert!(report.end().is_ok());
        report.add(told(Done::Failed("no".to_owned())));
        let end = report.end().unwrap_err().to_string();
        assert_eq!(end, "1 of 3 could not be brought back");
        let only = report.only(told(Done::Present)).unwrap_err().to_string();
        assert_eq!(only, "x/a is there; --replace puts it back as it was");
    }

    #[test]
    fn lines() {
        let check = |dry_run: bool, done: Done, notes: &[&str], expect: &str| {
            let notes = notes.iter().map(|note| (*note).to_owned()).collect();
            let told = Told { notes, ..told(done) };
            assert_eq!(UndeleteReport::new(dry_run).line(&told), expect);
        };
        check(true, Done::Created, &["a", "b"], "x/a undeleted (dry run); a; b");
        check(false, Done::Replaced, &[], "x/a put back");
        check(true, Done::Failed("no".to_owned()), &[], "x/a failed: no");
    }
}
