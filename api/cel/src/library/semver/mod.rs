//! Semantic versions: `semver`, `isSemver` and the members of versions.

mod overloads;
#[cfg(test)]
mod tests;
mod version;

pub(super) use overloads::overloads;
pub use version::Semver;
