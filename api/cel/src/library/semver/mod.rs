//! Semantic versions: `semver`, `isSemver` and the members of versions.

#[cfg(test)]
mod tests;
mod version;

pub use version::Semver;
