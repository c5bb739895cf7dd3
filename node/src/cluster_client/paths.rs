//! The query of a request.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What stands in a value as it is.
const VALUE: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Parameters in the order in which they are added.
#[derive(Debug, Clone, Default)]
pub(crate) struct QueryParameters(Vec<(&'static str, String)>);

impl QueryParameters {
    /// The same with a parameter; an older value of it is gone.
    #[must_use]
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.0.retain(|(other, _)| *other != name);
        self.0.push((name, value.into()));
        self
    }

    /// The same with a parameter, if there is a value for it.
    #[must_use]
    pub(crate) fn with_some(self, name: &'static str, value: Option<impl Into<String>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// A path with the parameters.
    pub(crate) fn path(&self, path: &str) -> String {
        let mut whole = path.to_owned();
        for (index, (name, value)) in self.0.iter().enumerate() {
            whole.push(if index == 0 { '?' } else { '&' });
            whole.push_str(name);
            whole.push('=');
            whole.extend(utf8_percent_encode(value, VALUE));
        }
        whole
    }
}

/// A name as a segment of a path.
pub(super) fn segment(name: &str) -> String {
    utf8_percent_encode(name, VALUE).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_escaped() {
        let query =
            QueryParameters::default().with("asOf", "2026-01-01T00:00:00+01:00").with("limit", "5");
        let query = query.with_some("continue", None::<String>).with("limit", "6");
        assert_eq!(query.path("/a"), "/a?asOf=2026-01-01T00%3A00%3A00%2B01%3A00&limit=6");
        assert_eq!(QueryParameters::default().path("/a"), "/a");
        assert_eq!(segment("system:node"), "system%3Anode");
    }
}
