//! Named formats: `format.named`, a function for each format, and `validate`.

mod format;
mod overloads;
#[cfg(test)]
mod tests;

pub use format::NamedFormat;
pub(super) use overloads::overloads;
