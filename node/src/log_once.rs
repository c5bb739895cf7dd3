//! Errors that repeat, logged once each.

use crate::error::Error;

/// The error of the last attempt of something that is retried.
#[derive(Debug, Default)]
pub(crate) struct LogOnce(Option<String>);

impl LogOnce {
    /// Notes the outcome of an attempt. Returns its error unless the last attempt had the same.
    pub(crate) fn new_error<T>(&mut self, outcome: &Result<T, Error>) -> Option<&str> {
        let wrong = outcome.as_ref().err().map(ToString::to_string);
        if wrong == self.0 {
            return None;
        }
        self.0 = wrong;
        self.0.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_is_said_once_until_it_is_over() {
        let mut log_once = LogOnce::default();
        let mut check = |wrong: Option<&str>, expect: Option<&str>| {
            let outcome = wrong.map_or(Ok(()), |wrong| Err(Error::failed(wrong)));
            assert_eq!(log_once.new_error(&outcome), expect, "{wrong:?}");
        };
        check(None, None);
        check(Some("a"), Some("a"));
        check(Some("a"), None);
        check(Some("b"), Some("b"));
        check(None, None);
        check(Some("b"), Some("b"));
    }
}
