//! Named formats: `format.named`, a function for each format, and `validate`.

mod format;
#[cfg(test)]
mod tests;

pub use format::NamedFormat;
