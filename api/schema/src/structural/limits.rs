//! Limits of a schema and of the work that a value may cost, so that hostile definitions end in an error.
//!
//! Invariant: every walk over a schema that passed `check` may recurse; its depth is bounded.

use quorate_meta::{Cause, Path};

use super::source::Source;

/// Schemas below each other in one definition; real ones have up to 30.
pub const MAX_DEPTH_SCHEMAS: usize = 128;
/// Schemas in one version of a definition; the largest real ones have 15,000.
pub const MAX_SCHEMAS: usize = 100_000;
/// Failures of one value, or problems of one schema, that are told of.
pub const MAX_TOLD: usize = 1_000;
/// Bytes of the messages of one value or schema.
pub const MAX_TOLD_BYTES: usize = 1 << 20;
/// Schemas that are held against parts of one value; a request of 3 MiB through an ordinary schema takes less than a million.
pub const MAX_STEPS: usize = 20_000_000;

/// Refuses a schema that is too deep or too large. Uses no stack.
pub(super) fn check(root: Source<'_>, path: &Path) -> Result<(), Cause> {
    let mut open = vec![(root, 1)];
    let mut count = 0;
    while let Some((schema, depth)) = open.pop() {
        count += 1;
        if depth > MAX_DEPTH_SCHEMAS {
            return Err(Cause::forbidden(
                path,
                &format!("must not be nested deeper than {MAX_DEPTH_SCHEMAS} schemas"),
            ));
        }
        if count > MAX_SCHEMAS {
            return Err(Cause::forbidden(
                path,
                &format!("must not have more than {MAX_SCHEMAS} schemas"),
            ));
        }
        schema.each_child(|child| open.push((child, depth + 1)));
    }
    Ok(())
}

/// Problems as they are found, the first of very many.
#[derive(Debug, Default)]
pub(super) struct Told {
    causes: Vec<Cause>,
    bytes: usize,
    /// How many were found, told of or not.
    pub(super) found: usize,
}

impl Told {
    /// Adds one; its text is made only if there is room for it.
    pub(super) fn push(&mut self, cause: impl FnOnce() -> Cause) {
        self.found += 1;
        if self.causes.len() < MAX_TOLD && self.bytes < MAX_TOLD_BYTES {
            let cause = cause();
            self.bytes += cause.message.len() + cause.field.len();
            self.causes.push(cause);
        }
    }

    /// Sets aside what was found since there were `found`.
    pub(super) fn take_since(&mut self, mark: Mark) -> Self {
        let causes = self.causes.split_off(mark.causes.min(self.causes.len()));
        let taken = Self { causes, bytes: self.bytes - mark.bytes, found: self.found - mark.found };
        (self.bytes, self.found) = (mark.bytes, mark.found);
        taken
    }

    /// Puts back what was set aside.
    pub(super) fn put_back(&mut self, other: Self) {
        self.found += other.found - other.causes.len();
        for cause in other.causes {
            self.push(|| cause);
        }
    }

    /// Where it stands, for [`Told::take_since`].
    pub(super) fn mark(&self) -> Mark {
        Mark { causes: self.causes.len(), bytes: self.bytes, found: self.found }
    }

    /// All that is told of.
    pub(super) fn into_causes(self) -> Vec<Cause> {
        self.causes
    }
}

/// A moment of [`Told`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    causes: usize,
    bytes: usize,
    found: usize,
}
