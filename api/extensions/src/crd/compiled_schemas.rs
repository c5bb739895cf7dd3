//! Which schemas of custom resources stay compiled: those that were used last, up to a size.
//!
//! Invariants: nothing is kept of a version that is not used; what is dropped is compiled again when
//! it is needed. Time is counted in schemas that were compiled, since only these take room.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::version::CompiledVersion;

/// Bytes of schemas in JSON that stay compiled. A compiled one takes a few times as much.
pub const MAX_COMPILED_SCHEMA_BYTES: usize = 16 << 20;

/// By how much time moves on with each schema, which itself is used in between.
const STEP: u64 = 2;

/// The compiled schemas of one node.
pub struct CompiledSchemas {
    max_bytes: usize,
    clock: AtomicU64,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    bytes: usize,
    versions: Vec<(Weak<CompiledVersion>, usize)>,
}

impl CompiledSchemas {
    /// Keeps at most so many bytes of schemas in JSON, and the one that was compiled last.
    #[must_use]
    pub fn new(max_bytes: usize) -> Arc<Self> {
        Arc::new(Self { max_bytes, clock: AtomicU64::default(), kept: Mutex::default() })
    }

    /// The time.
    pub(super) fn now(&self) -> u64 {
        self.clock.load(Ordering::Relaxed)
    }

    /// Counts a version that was compiled, and lets go of those that were not used for longest when
    /// all are too large together.
    pub(super) fn add(&self, version: &Arc<CompiledVersion>, bytes: usize) {
        let at = self.clock.fetch_add(STEP, Ordering::Relaxed);
        version.use_at(at + 1);
        let mut kept = self.kept.lock();
        let Kept { bytes: all, versions } = &mut *kept;
        *all += bytes;
        if *all > self.max_bytes {
            // A definition that has changed or is gone has let its versions go by itself.
            versions.retain(|(version, bytes)| {
                let is_kept = version.strong_count() > 0;
                *all -= if is_kept { 0 } else { *bytes };
                is_kept
            });
            versions.sort_by_cached_key(|(version, _)| {
                std::cmp::Reverse(version.upgrade().map(|version| version.used()))
            });
        }
        while *all > self.max_bytes
            && let Some((oldest, bytes)) = versions.pop()
        {
            *all -= bytes;
            if let Some(oldest) = oldest.upgrade() {
                oldest.forget();
            }
        }
        versions.push((Arc::downgrade(version), bytes));
    }
}

impl fmt::Debug for CompiledSchemas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompiledSchemas")
            .field("max_bytes", &self.max_bytes)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::crd::testing;

    #[test]
    fn those_that_are_not_used_are_let_go() {
        let schema = json!({"type": "object"});
        let bytes = schema.to_string().len();
        let schemas = CompiledSchemas::new(2 * bytes);
        let definition = testing::definition(schema);
        let version = definition.version("v1").expect("v1");
        let base = testing::base();
        let versions = [(); 3].map(|()| Arc::new(CompiledVersion::new(&base, &schemas, version)));
        let check = |used: usize, expect: [bool; 3]| {
            let _ = versions[used].compiled();
            assert_eq!(versions.each_ref().map(|version| version.is_compiled()), expect);
        };
        check(0, [true, false, false]);
        check(1, [true, true, false]);
        check(0, [true, true, false]);
        check(2, [true, false, true]);
        check(1, [false, true, true]);
        drop(versions);
        let large = Arc::new(CompiledVersion::new(&base, &schemas, version));
        let _ = large.compiled();
        assert!(large.is_compiled(), "the room of those that are gone is free again");
        assert_eq!(schemas.kept.lock().bytes, bytes);
    }
}
