//! The keys that replication keeps in the replicated store itself, under `s/` (owned by the system, never an API object).
//!
//! - `s/members/last`: the largest node number given out, in decimal digits.
//! - `s/tokens/ID`: a join token, see `admin::tokens`.

/// The largest node number given out.
pub(crate) const LAST_NODE: &[u8] = b"s/members/last";
/// What comes before a token's id.
pub(crate) const TOKENS: &[u8] = b"s/tokens/";
