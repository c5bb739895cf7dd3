//! When lists are looked up in an index, and what indexes may take.

/// Bytes of all indexes together, about.
const MAX_BYTES: usize = 128 << 20;
/// Objects below which a part of a collection is scanned.
const MIN_OBJECTS: usize = 2048;
/// A part of a collection has at least so many objects for each candidate, or is scanned.
const OBJECTS_PER_CANDIDATE: usize = 4;

/// The bounds of indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SelectorIndexOptions {
    /// Bytes that all indexes of a node take together, about.
    pub max_bytes: usize,
    /// Parts of collections with fewer objects are scanned.
    pub min_objects: usize,
    /// A part is scanned, too, when it has fewer objects than that for each candidate of an index.
    pub objects_per_candidate: usize,
}

impl Default for SelectorIndexOptions {
    fn default() -> Self {
        let (max_bytes, min_objects) = (MAX_BYTES, MIN_OBJECTS);
        Self { max_bytes, min_objects, objects_per_candidate: OBJECTS_PER_CANDIDATE }
    }
}
