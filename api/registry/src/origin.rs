//! The origin of a change: who made it and how, in the compact form that is kept with its revision.
//!
//! The form is the byte [`FORMAT`] and then fields: a tag, the length as a varint (LEB128), the
//! bytes. What a reader does not know it passes over. A request's [`OriginHead`] is made once; each
//! of its transactions adds a few fields.
//!
//! Invariants: never longer than `MAX_ORIGIN_BYTES`, because each field has a limit; what was cut is
//! marked ([`Origin::truncated`]). No credential is in it.
//!
//! Not here: the answers that show it.

mod decode;
mod limits;
#[cfg(test)]
mod tests;

use bytes::{BufMut, Bytes, BytesMut};
use quorate_meta::well_known::{
    GROUP_AUTHENTICATED, GROUP_MASTERS, GROUP_NODES, GROUP_SERVICE_ACCOUNTS, GROUP_UNAUTHENTICATED,
};
use uuid::Uuid;

use crate::{Propagation, UserInfo};
use limits::Room;

/// The layout that this file writes.
const FORMAT: u8 = 1;
/// Bytes that an ordinary origin fits in.
const ORDINARY_BYTES: usize = 256;
/// Groups that most users are in, each by its place here. A place is never given away again.
const KNOWN_GROUPS: [&str; 5] = [
    GROUP_AUTHENTICATED,
    GROUP_UNAUTHENTICATED,
    GROUP_SERVICE_ACCOUNTS,
    GROUP_MASTERS,
    GROUP_NODES,
];

/// The tags of fields. A number is never given away again.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Tag {
    UserName = 1,
    UserUid = 2,
    UserGroup = 3,
    UserKnownGroup = 4,
    /// Key, a zero byte, value; one for each value.
    UserExtra = 5,
    ImpersonatorName = 6,
    ImpersonatorUid = 7,
    ImpersonatorGroup = 8,
    ImpersonatorKnownGroup = 9,
    UserAgent = 10,
    AuditId = 11,
    /// An audit ID that is a UUID in its usual form: 16 bytes.
    AuditUuid = 12,
    Verb = 13,
    Subresource = 14,
    Manager = 15,
    Source = 16,
    /// Without a value: conflicts of an apply are won.
    Force = 17,
    /// One byte.
    Propagation = 18,
    /// Eight bytes, little endian.
    GraceSeconds = 19,
    /// Without a value: something is missing here.
    Truncated = 20,
}

/// The origin of a change, read back. Texts are empty where nothing is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// The user; without a name where the server itself made the change.
    pub user: OriginUser,
    /// The authenticated user, where that one impersonated the user.
    pub impersonator: OriginUser,
    /// The `User-Agent` header.
    pub user_agent: String,
    /// The audit ID of the request.
    pub audit_id: String,
    /// The verb: `create`, `update`, `patch`, `apply`, `delete`, `deletecollection`.
    pub verb: String,
    /// The subresource that the request was about.
    pub subresource: String,
    /// The field manager.
    pub manager: String,
    /// The part of the server that made the change: a controller's name.
    pub source: String,
    /// Whether conflicts of an apply were won.
    pub force: bool,
    /// The propagation policy that a deletion asked for.
    pub propagation: Option<Propagation>,
    /// The grace period that a deletion asked for, in seconds.
    pub grace_seconds: Option<i64>,
    /// Whether something of it was too long to be kept.
    pub truncated: bool,
}

/// A user of an origin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OriginUser {
    /// The user's name.
    pub name: String,
    /// The user's stable identity.
    pub uid: String,
    /// The user's groups.
    pub groups: Vec<String>,
    /// The user's further attributes.
    pub extra: Vec<(String, Vec<String>)>,
}

/// A request that changes something, as its origin tells it.
#[derive(Debug, Clone, Copy)]
pub struct RequestOrigin<'a> {
    /// The user on whose behalf it runs.
    pub user: UserInfo<'a>,
    /// The authenticated user, where that one impersonates the user.
    pub impersonator: Option<UserInfo<'a>>,
    /// The `User-Agent` header.
    pub user_agent: &'a str,
    /// The audit ID.
    pub audit_id: &'a str,
    /// The verb.
    pub verb: &'a str,
    /// The subresource.
    pub subresource: &'a str,
    /// Whether conflicts of an apply are won.
    pub force: bool,
}

/// What one transaction adds to the origin of its request.
#[derive(Debug, Clone, Copy, Default)]
pub struct WriteOrigin<'a> {
    /// The verb, where the request has not said one.
    pub verb: &'a str,
    /// The subresource, where the request has not said a verb.
    pub subresource: &'a str,
    /// The field manager.
    pub manager: &'a str,
    /// The propagation policy of a deletion.
    pub propagation: Option<Propagation>,
    /// The grace period of a deletion in seconds.
    pub grace_seconds: Option<i64>,
}

/// The part of an origin that is known before its transactions are. Cheap to clone.
#[derive(Debug, Clone)]
pub struct OriginHead {
    bytes: Bytes,
    /// Whether it has the verb.
    says_verb: bool,
}

impl OriginHead {
    /// That of writes of which nothing more is known.
    pub const UNKNOWN: Self = Self { bytes: Bytes::from_static(&[FORMAT]), says_verb: false };

    /// That of a request.
    #[must_use]
    pub fn of_request(request: &RequestOrigin<'_>) -> Self {
        let RequestOrigin { user, impersonator, user_agent, audit_id, .. } = *request;
        let mut out = Fields::new();
        out.text(Tag::UserName, user.name, limits::NAME_BYTES);
        out.text(Tag::UserUid, user.uid, limits::UID_BYTES);
        out.groups([Tag::UserGroup, Tag::UserKnownGroup], user.groups);
        out.extra(user.extra);
        if let Some(user) = impersonator {
            out.text(Tag::ImpersonatorName, user.name, limits::NAME_BYTES);
            out.text(Tag::ImpersonatorUid, user.uid, limits::UID_BYTES);
            out.groups([Tag::ImpersonatorGroup, Tag::ImpersonatorKnownGroup], user.groups);
        }
        out.text(Tag::UserAgent, user_agent, limits::USER_AGENT_BYTES);
        out.audit_id(audit_id);
        out.text(Tag::Verb, request.verb, limits::VERB_BYTES);
        out.text(Tag::Subresource, request.subresource, limits::SUBRESOURCE_BYTES);
        if request.force {
            out.field(Tag::Force, &[]);
        }
        Self { bytes: out.finish(), says_verb: !request.verb.is_empty() }
    }

    /// That of writes of a part of the server.
    #[must_use]
    pub fn of_source(source: &str) -> Self {
        let mut out = Fields::new();
        out.text(Tag::Source, source, limits::SOURCE_BYTES);
        Self { bytes: out.finish(), says_verb: false }
    }

    /// The origin of one transaction.
    #[must_use]
    pub fn with(&self, write: &WriteOrigin<'_>) -> Bytes {
        let mut out = Fields::after(&self.bytes);
        if !self.says_verb {
            out.text(Tag::Verb, write.verb, limits::VERB_BYTES);
            out.text(Tag::Subresource, write.subresource, limits::SUBRESOURCE_BYTES);
        }
        out.text(Tag::Manager, write.manager, limits::MANAGER_BYTES);
        if let Some(policy) = write.propagation {
            out.field(Tag::Propagation, &[decode::propagation_code(policy)]);
        }
        if let Some(seconds) = write.grace_seconds {
            out.field(Tag::GraceSeconds, &seconds.to_le_bytes());
        }
        out.finish()
    }
}

/// An origin that is being written.
struct Fields {
    out: BytesMut,
    truncated: bool,
}

impl Fields {
    fn new() -> Self {
        Self::after(&[FORMAT])
    }

    fn after(head: &[u8]) -> Self {
        let mut out = BytesMut::with_capacity(ORDINARY_BYTES.max(head.len() + limits::WRITE_BYTES));
        out.put_slice(head);
        Self { out, truncated: false }
    }

    fn field(&mut self, tag: Tag, value: &[u8]) {
        self.out.put_u8(tag as u8);
        let mut length = value.len();
        while length > 0x7f {
            self.out.put_u8((length & 0x7f) as u8 | 0x80);
            length >>= 7;
        }
        self.out.put_u8(length as u8);
        self.out.put_slice(value);
    }

    /// A text; nothing where it is empty.
    fn text(&mut self, tag: Tag, text: &str, most: usize) {
        let kept = &text[..text.floor_char_boundary(most)];
        self.truncated |= kept.len() < text.len();
        if !kept.is_empty() {
            self.field(tag, kept.as_bytes());
        }
    }

    fn groups(&mut self, [tag, known]: [Tag; 2], groups: &[String]) {
        let mut room = Room(limits::GROUPS_BYTES);
        for group in groups {
            let place = KNOWN_GROUPS.iter().position(|known| known == group);
            let bytes = place.map_or(group.len(), |_| 1);
            if !room.take(bytes) {
                self.truncated = true;
                return;
            }
            match place.and_then(|place| u8::try_from(place).ok()) {
                Some(place) => self.field(known, &[place]),
                None => self.field(tag, group.as_bytes()),
            }
        }
    }

    fn extra(&mut self, extra: &[(String, Vec<String>)]) {
        let mut room = Room(limits::EXTRA_BYTES);
        let pairs =
            extra.iter().flat_map(|(key, values)| values.iter().map(move |value| (key, value)));
        for (key, value) in pairs {
            if !room.take(key.len() + 1 + value.len()) {
                self.truncated = true;
                return;
            }
            self.field(Tag::UserExtra, [key.as_bytes(), value.as_bytes()].join(&0).as_slice());
        }
    }

    /// An audit ID, which clients may choose.
    fn audit_id(&mut self, text: &str) {
        let mut usual = Uuid::encode_buffer();
        match Uuid::try_parse(text) {
            Ok(id) if *id.hyphenated().encode_lower(&mut usual) == *text => {
                self.field(Tag::AuditUuid, id.as_bytes());
            }
            _ => self.text(Tag::AuditId, text, limits::AUDIT_ID_BYTES),
        }
    }

    fn finish(mut self) -> Bytes {
        if self.truncated {
            self.field(Tag::Truncated, &[]);
        }
        self.out.freeze()
    }
}
