//! Errors of YAML text, in the words that Kubernetes 1.35 passes on to clients.

/// Why a text cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// The message, one line.
    message: String,
    /// Whether the text has more nodes than allowed.
    pub too_many: bool,
}

impl Error {
    /// An error of the YAML text.
    pub(super) fn yaml(message: impl AsRef<str>) -> Self {
        Self { message: format!("yaml: {}", message.as_ref()), too_many: false }
    }

    /// An error of the value that the text stands for: JSON has none like it.
    pub(super) fn value(message: impl Into<String>) -> Self {
        Self { message: message.into(), too_many: false }
    }

    /// A text with more than `max` nodes.
    pub(super) fn too_many(max: usize) -> Self {
        let message = format!("yaml: text has more than {max} keys and values");
        Self { message, too_many: true }
    }

    /// An error of the grammar. The line is counted from one by the scanner and from zero by the
    /// parser, and is left out when it is zero. `end` is where the text ends, if the scanner was
    /// given a line break after it.
    pub(super) fn grammar(error: &libyaml_safer::Error, end: Option<u64>) -> Self {
        let scanner = error.kind() == libyaml_safer::ErrorKind::Scanner;
        let at = |mark: Option<libyaml_safer::Mark>| {
            mark.map_or(0, |mark| {
                let is_after = scanner && end.is_some_and(|end| mark.index > end);
                mark.line.saturating_sub(u64::from(is_after))
            })
        };
        let line = match at(error.problem_mark()) {
            0 => at(error.context_mark()),
            line if scanner => line + 1,
            line => line,
        };
        let problem = error.problem();
        Self::yaml(if line == 0 { problem.to_owned() } else { format!("line {line}: {problem}") })
    }
}
