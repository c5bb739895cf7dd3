//! The limits of the fields of an origin, in bytes.
//!
//! Invariant: all of them together, with tags and lengths, are within the limit of the store.

use quorate_store::MAX_ORIGIN_BYTES;

/// A user's name.
pub(super) const NAME_BYTES: usize = 256;
/// A user's uid.
pub(super) const UID_BYTES: usize = 128;
/// All groups of a user, each with what is around it.
pub(super) const GROUPS_BYTES: usize = 768;
/// All further attributes of a user.
pub(super) const EXTRA_BYTES: usize = 640;
/// The `User-Agent` header.
pub(super) const USER_AGENT_BYTES: usize = 160;
/// An audit ID that is no UUID.
pub(super) const AUDIT_ID_BYTES: usize = 64;
/// A verb.
pub(super) const VERB_BYTES: usize = 32;
/// A subresource.
pub(super) const SUBRESOURCE_BYTES: usize = 64;
/// A field manager.
pub(super) const MANAGER_BYTES: usize = 128;
/// The name of a part of the server.
pub(super) const SOURCE_BYTES: usize = 64;
/// What a transaction adds.
pub(super) const WRITE_BYTES: usize = VERB_BYTES + SUBRESOURCE_BYTES + MANAGER_BYTES + 64;
/// Tag and length of one field, at most.
const AROUND_BYTES: usize = 3;

const _: () = assert!(
    2 * (NAME_BYTES + UID_BYTES + GROUPS_BYTES)
        + EXTRA_BYTES
        + USER_AGENT_BYTES
        + AUDIT_ID_BYTES
        + VERB_BYTES
        + SUBRESOURCE_BYTES
        + SOURCE_BYTES
        + WRITE_BYTES
        + 32 * AROUND_BYTES
        <= MAX_ORIGIN_BYTES
);

/// The room that is left for several fields.
pub(super) struct Room(pub(super) usize);

impl Room {
    /// Takes the room of a field with this value, if there is as much.
    pub(super) fn take(&mut self, bytes: usize) -> bool {
        let left = self.0.checked_sub(bytes + AROUND_BYTES);
        self.0 = left.unwrap_or(self.0);
        left.is_some()
    }
}
