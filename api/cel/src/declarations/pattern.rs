//! Patterns of schemas: the language of the function `matches`.

use std::sync::Arc;

use quorate_schema::structural::Matcher;

use crate::library::regex::Pattern;

/// Reads a pattern of a schema; for `quorate_schema::structural::Options`. It is compiled when it is first matched; one that is
/// too large for that matches nothing.
///
/// # Errors
/// What is wrong with it.
pub fn pattern(text: &str) -> Result<Arc<dyn Matcher>, String> {
    match Pattern::parse(text) {
        Ok(pattern) => Ok(Arc::new(pattern)),
        Err(error) => Err(error.to_string()),
    }
}

impl Matcher for Pattern {
    fn is_match(&self, text: &str) -> bool {
        Self::is_match(self, text).unwrap_or(false)
    }
}
