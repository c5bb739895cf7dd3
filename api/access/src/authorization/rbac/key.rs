//! Keys of the RBAC index: the bytes that stand for a role, and for one subject of one binding.
//!
//! Layout of a grant: SUBJECT NAMESPACE ROLE BINDING, each a text that ends in a zero byte; SUBJECT
//! begins with `u` or `g`, ROLE with the kind of role. The namespace is empty for a
//! ClusterRoleBinding. A role's own key is the end of the key of a grant: NAMESPACE ROLE for a
//! Role, ROLE for a ClusterRole, so it is looked up without a copy. Zero bytes inside texts are
//! escaped, so a key reads back and no text can pass for another.

use std::borrow::Cow;

const END: u8 = 0;
const ESCAPE: u8 = 1;

/// A kind of subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SubjectKind {
    User,
    Group,
}

/// What a binding names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RoleKind {
    /// Of the binding's namespace.
    Role,
    /// Of the cluster.
    ClusterRole,
}

/// The key of a role; `namespace` is empty for a ClusterRole.
pub(super) fn role(namespace: &str, kind: RoleKind, name: &str) -> Vec<u8> {
    let mut key = Vec::new();
    if kind == RoleKind::Role {
        put(&mut key, None, namespace);
    }
    put(&mut key, Some(kind.byte()), name);
    key
}

/// What every grant to a subject in a namespace begins with.
pub(super) fn grants(out: &mut Vec<u8>, subject: SubjectKind, name: &str, namespace: &str) {
    out.clear();
    put(out, Some(subject.byte()), name);
    put(out, None, namespace);
}

/// The key of a grant: what [`grants`] gave, then the role and the binding.
pub(super) fn grant(prefix: &[u8], kind: RoleKind, role: &str, binding: &str) -> Vec<u8> {
    let mut key = prefix.to_vec();
    put(&mut key, Some(kind.byte()), role);
    put(&mut key, None, binding);
    key
}

/// One grant, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SubjectGrant<'k> {
    pub(super) kind: RoleKind,
    /// The key of the role.
    pub(super) key: &'k [u8],
    role: &'k [u8],
    binding: &'k [u8],
}

impl<'k> SubjectGrant<'k> {
    /// Reads a key that begins with these bytes, as [`grants`] made them.
    pub(super) fn read(key: &'k [u8], prefix: &[u8]) -> Option<Self> {
        let rest = key.get(prefix.len()..)?;
        let end = rest.iter().position(|byte| *byte == END)?;
        let kind = RoleKind::of(*rest.first()?)?;
        let subject_end = prefix.iter().position(|byte| *byte == END)? + 1;
        let start = if kind == RoleKind::Role { subject_end } else { prefix.len() };
        let key = key.get(start..=prefix.len() + end)?;
        let binding = rest.get(end + 1..rest.len().checked_sub(1)?)?;
        Some(Self { kind, key, role: rest.get(1..end)?, binding })
    }

    /// The role's name.
    pub(super) fn role(&self) -> Cow<'k, str> {
        text(self.role)
    }

    /// The binding's name.
    pub(super) fn binding(&self) -> Cow<'k, str> {
        text(self.binding)
    }
}

impl SubjectKind {
    fn byte(self) -> u8 {
        match self {
            Self::User => b'u',
            Self::Group => b'g',
        }
    }
}

impl RoleKind {
    fn byte(self) -> u8 {
        match self {
            Self::Role => b'r',
            Self::ClusterRole => b'c',
        }
    }

    fn of(byte: u8) -> Option<Self> {
        [Self::Role, Self::ClusterRole].into_iter().find(|kind| kind.byte() == byte)
    }
}

fn put(out: &mut Vec<u8>, kind: Option<u8>, text: &str) {
    out.extend(kind);
    for byte in text.bytes() {
        if byte <= ESCAPE {
            out.extend([ESCAPE, byte + 1]);
        } else {
            out.push(byte);
        }
    }
    out.push(END);
}

fn text(bytes: &[u8]) -> Cow<'_, str> {
    if !bytes.contains(&ESCAPE) {
        return String::from_utf8_lossy(bytes);
    }
    let mut plain = Vec::with_capacity(bytes.len());
    let mut rest = bytes.iter().copied();
    while let Some(byte) = rest.next() {
        plain.push(if byte == ESCAPE {
            rest.next().map_or(ESCAPE, |escaped| escaped.wrapping_sub(1))
        } else {
            byte
        });
    }
    Cow::Owned(String::from_utf8_lossy(&plain).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_read_back() {
        let check = |subject: &str, namespace: &str, kind: RoleKind, name: &str, binding: &str| {
            let mut prefix = vec![9];
            grants(&mut prefix, SubjectKind::User, subject, namespace);
            let key = grant(&prefix, kind, name, binding);
            let read = SubjectGrant::read(&key, &prefix).unwrap();
            assert_eq!((read.kind, &*read.role(), &*read.binding()), (kind, name, binding));
            assert_eq!(read.key, role(namespace, kind, name), "{subject:?}");
        };
        check("joe", "a", RoleKind::Role, "r", "b");
        check("joe", "a", RoleKind::ClusterRole, "r", "b");
        check("joe", "", RoleKind::ClusterRole, "system:x", "b");
        check("od\0d\u{1}", "a", RoleKind::Role, "r\0\u{1}", "\u{1}b");
        check("", "", RoleKind::ClusterRole, "", "");
    }

    #[test]
    fn no_text_passes_for_another() {
        let of = |subject: &str, namespace: &str| {
            let mut key = Vec::new();
            grants(&mut key, SubjectKind::User, subject, namespace);
            key
        };
        assert!(!of("a\0b", "c").starts_with(&of("a", "b")));
        assert!(!of("ab", "").starts_with(&of("a", "")));
    }
}
