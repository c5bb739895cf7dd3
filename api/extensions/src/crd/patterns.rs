//! Regular expressions of schemas, in RE2's syntax.

use std::sync::Arc;

use quorate_cel::library::regex::Pattern;
use quorate_schema::structural::Matcher;

/// A pattern of a schema that is ready to match.
#[derive(Debug)]
struct SchemaPattern(Pattern);

impl Matcher for SchemaPattern {
    fn is_match(&self, text: &str) -> bool {
        // One that is too large was refused when it was compiled.
        self.0.is_match(text).unwrap_or_default()
    }
}

/// Compiles the `pattern` of a schema.
///
/// # Errors
/// What is wrong with it, in the words of RE2.
pub fn compile_pattern(pattern: &str) -> Result<Arc<dyn Matcher>, String> {
    let compiled = Pattern::parse(pattern).map_err(|error| error.to_string())?;
    compiled.is_match("").map_err(|error| error.to_string())?;
    Ok(Arc::new(SchemaPattern(compiled)))
}
