//! How far the migration of a custom resource is: the value of an annotation of its definition.

use std::fmt;
use std::str::FromStr;

use quorate_meta::{Names, Value};

/// The name of the annotation, in the domain of the naming profile.
const NAME: &str = "storage-migration";

/// The stage of a migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// A client wants it.
    Asked,
    /// The controller goes through the objects.
    Running,
    /// Every object is stored as the version.
    Done,
}

/// The progress of a migration. As text: the stage, then `FIELD=VALUE` for what there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// The stage.
    pub stage: Stage,
    /// The version that objects are brought to; empty until it begins.
    pub version: String,
    /// Objects that were looked at.
    pub seen: u64,
    /// Objects that were to be written.
    pub written: u64,
    /// The object that it has come to, `NAMESPACE/NAME` or `NAME`.
    pub after: Option<String>,
}

impl Progress {
    /// A migration that a client asks for.
    #[must_use]
    pub fn asked() -> Self {
        Self { stage: Stage::Asked, ..Self::begin("") }
    }

    /// A migration to a version, before the first object.
    #[must_use]
    pub fn begin(version: &str) -> Self {
        Self {
            stage: Stage::Running,
            version: version.to_owned(),
            seen: 0,
            written: 0,
            after: None,
        }
    }

    /// The key of the annotation.
    #[must_use]
    pub fn annotation(names: &Names) -> String {
        names.domain_key(NAME)
    }

    /// The migration that a definition has; `None` without one. What cannot be read is asked for
    /// anew.
    #[must_use]
    pub fn of(names: &Names, definition: &Value) -> Option<Self> {
        let text = definition.str_at(&["metadata", "annotations", &Self::annotation(names)])?;
        Some(text.parse().unwrap_or_else(|_| Self::asked()))
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { stage, version, seen, written, after } = self;
        f.write_str(match stage {
            Stage::Asked => return f.write_str("asked"),
            Stage::Running => "running",
            Stage::Done => "done",
        })?;
        write!(f, " version={version} seen={seen} written={written}")?;
        after.iter().try_for_each(|after| write!(f, " after={after}"))
    }
}

impl FromStr for Progress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = text.split_ascii_whitespace();
        let stage = match words.next() {
            Some("asked") => Stage::Asked,
            Some("running") => Stage::Running,
            Some("done") => Stage::Done,
            other => return Err(format!("{:?} is no stage", other.unwrap_or_default())),
        };
        let mut progress = Self { stage, ..Self::begin("") };
        for word in words {
            let number = |value: &str| value.parse().map_err(|_| format!("{word} is no number"));
            match word.split_once('=') {
                Some(("version", value)) => value.clone_into(&mut progress.version),
                Some(("seen", value)) => progress.seen = number(value)?,
                Some(("written", value)) => progress.written = number(value)?,
                Some(("after", value)) => progress.after = Some(value.to_owned()),
                _ => return Err(format!("{word} is no field")),
            }
        }
        Ok(progress)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_reads_back() {
        let check = |progress: Progress, text: &str| {
            assert_eq!(progress.to_string(), text);
            assert_eq!(text.parse(), Ok(progress));
        };
        check(Progress::asked(), "asked");
        check(Progress::begin("v2"), "running version=v2 seen=0 written=0");
        let after = Some("n/a".to_owned());
        check(
            Progress { seen: 7, written: 3, after, ..Progress::begin("v2") },
            "running version=v2 seen=7 written=3 after=n/a",
        );
        check(
            Progress { stage: Stage::Done, ..Progress::begin("v2") },
            "done version=v2 seen=0 written=0",
        );
        for wrong in ["", "soon", "running seen=x", "running x", "running far=1"] {
            assert!(wrong.parse::<Progress>().is_err(), "{wrong}");
        }
    }
}
