//! The keyspace: every key that the API server writes is a [`Key`], whose layout its documentation
//! gives.
//!
//! Invariants: segments are separated by `/`, and no segment holds one, because group names,
//! resources, namespaces and object names are path segments of a URI; so keys of one collection are
//! contiguous, sorted by namespace and name, and a key reads back without ambiguity. The first byte
//! is the type of the key.
//!
//! Not here: access to the store.

use std::str;

use bytes::{BufMut, Bytes, BytesMut};

/// The segment that stands for the group without a name.
const CORE: &str = "core";
/// The key of [`Key::AdmissionRules`].
const ADMISSION_RULES: &[u8] = b"a/rules";

/// A key of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key<'a> {
    /// `o/GROUP/RESOURCE/NAMESPACE/NAME`, or `o/GROUP/RESOURCE/NAME` where the resource has no
    /// namespace: an object in its stored form. `GROUP` is the full name of the group, `core` for
    /// the one without a name.
    Object {
        /// Full group name; empty for the core group.
        group: &'a str,
        /// Plural, lower case.
        resource: &'a str,
        /// `None` for cluster-scoped resources.
        namespace: Option<&'a str>,
        /// The object's name.
        name: &'a str,
    },
    /// `n/NAMESPACE`: present exactly while the namespace takes new objects. Put together with the
    /// namespace, removed by the transaction that begins its deletion; every creation in a
    /// namespace has it as a condition. The value is empty.
    Live {
        /// The namespace.
        namespace: &'a str,
    },
    /// `d/NAME`: present exactly while a custom resource takes new objects. `NAME` is that of its
    /// definition, `PLURAL.GROUP`. Put by the transaction that establishes the definition, removed
    /// by the one that begins its deletion or the removal of its objects; every creation of a
    /// custom object has it as a condition. The value is the uid of the definition; markers of
    /// earlier releases have none.
    LiveDefinition {
        /// The definition.
        name: &'a str,
    },
    /// `h/CLASS/NAME`: an allocation, a value that only one object may have, such as an address.
    /// Put and removed together with its owner; the value is `RESOURCE/NAMESPACE/NAME` of that. See
    /// `registry::allocation`.
    Allocation {
        /// The class: `address`, `port`.
        class: &'a str,
        /// The value within the class.
        name: &'a str,
    },
    /// `a/rules`: changed by every transaction that changes a policy or a configuration of webhooks.
    /// A write that admission has judged is bound to the revision that it had before the first phase,
    /// so that what commits was judged by all of those that are in force then. The value is empty.
    AdmissionRules,
    /// `u/ID`: what was purged from the past, see `quorate_store::Purge`. `ID` is a random one.
    Purge {
        /// Which one.
        id: &'a str,
    },
    /// `s/NAME`: data of the nodes themselves (tokens, certificates, sealed keys). `NAME` may hold
    /// further `/`.
    System {
        /// Everything after `s/`.
        name: &'a str,
    },
}

impl<'a> Key<'a> {
    /// The bytes of the key.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        match *self {
            Self::Object { group, resource, namespace, name } => {
                let group = if group.is_empty() { CORE } else { group };
                match namespace {
                    Some(namespace) => join(b"o", &[group, resource, namespace, name]),
                    None => join(b"o", &[group, resource, name]),
                }
            }
            Self::Live { namespace } => join(b"n", &[namespace]),
            Self::LiveDefinition { name } => join(b"d", &[name]),
            Self::Allocation { class, name } => join(b"h", &[class, name]),
            Self::AdmissionRules => Bytes::from_static(ADMISSION_RULES),
            Self::Purge { id } => join(b"u", &[id]),
            Self::System { name } => join(b"s", &[name]),
        }
    }

    /// Reads a key back; `None` when it has another layout.
    #[must_use]
    pub fn parse(key: &'a [u8]) -> Option<Self> {
        if key == ADMISSION_RULES {
            return Some(Self::AdmissionRules);
        }
        let (class, rest) = str::from_utf8(key).ok()?.split_once('/')?;
        match class {
            "o" => Self::parse_object(rest),
            "n" => {
                (!rest.is_empty() && !rest.contains('/')).then_some(Self::Live { namespace: rest })
            }
            "d" => (!rest.is_empty() && !rest.contains('/'))
                .then_some(Self::LiveDefinition { name: rest }),
            "h" => {
                let (class, name) = rest.split_once('/')?;
                let whole = !class.is_empty() && !name.is_empty() && !name.contains('/');
                whole.then_some(Self::Allocation { class, name })
            }
            "u" => (!rest.is_empty() && !rest.contains('/')).then_some(Self::Purge { id: rest }),
            "s" => (!rest.is_empty()).then_some(Self::System { name: rest }),
            _ => None,
        }
    }

    fn parse_object(rest: &'a str) -> Option<Self> {
        let mut segments = rest.split('/');
        let (group, resource, first) = (segments.next()?, segments.next()?, segments.next()?);
        let second = segments.next();
        if segments.next().is_some() {
            return None;
        }
        let group = if group == CORE { "" } else { group };
        let (namespace, name) = match second {
            Some(name) => (Some(first), name),
            None => (None, first),
        };
        let whole =
            [resource, name].into_iter().chain(namespace).all(|segment| !segment.is_empty());
        whole.then_some(Self::Object { group, resource, namespace, name })
    }
}

/// `o/GROUP/RESOURCE/`: the prefix of every key of a resource.
#[must_use]
pub fn resource_prefix(group: &str, resource: &str) -> Bytes {
    join(b"o", &[if group.is_empty() { CORE } else { group }, resource, ""])
}

/// `o/`: the prefix of every object's key.
#[must_use]
pub fn objects() -> Bytes {
    Bytes::from_static(b"o/")
}

/// `h/`: the prefix of every allocation's key.
#[must_use]
pub fn allocations() -> Bytes {
    Bytes::from_static(b"h/")
}

fn join(class: &[u8], segments: &[&str]) -> Bytes {
    let length = class.len() + segments.iter().map(|segment| 1 + segment.len()).sum::<usize>();
    let mut key = BytesMut::with_capacity(length);
    key.put_slice(class);
    for segment in segments {
        key.put_u8(b'/');
        key.put_slice(segment.as_bytes());
    }
    key.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(key: Key<'_>, expect: &str) {
        assert_eq!(key.encode(), expect.as_bytes());
        assert_eq!(Key::parse(expect.as_bytes()), Some(key));
    }

    #[test]
    fn keys_have_the_documented_layout_and_read_back() {
        check(
            Key::Object { group: "", resource: "configmaps", namespace: Some("a"), name: "b" },
            "o/core/configmaps/a/b",
        );
        check(
            Key::Object { group: "", resource: "namespaces", namespace: None, name: "a" },
            "o/core/namespaces/a",
        );
        check(
            Key::Object { group: "x.example", resource: "ws", namespace: Some("a"), name: "b.c" },
            "o/x.example/ws/a/b.c",
        );
        check(Key::Live { namespace: "a" }, "n/a");
        check(Key::LiveDefinition { name: "ws.x.example" }, "d/ws.x.example");
        check(Key::Allocation { class: "address", name: "fd00::1" }, "h/address/fd00::1");
        check(Key::AdmissionRules, "a/rules");
        check(Key::Purge { id: "a" }, "u/a");
        check(Key::System { name: "tokens/a" }, "s/tokens/a");
    }

    #[test]
    fn anything_else_is_no_key() {
        for key in [
            "",
            "o",
            "o/",
            "o/core/configmaps",
            "o/core/configmaps/",
            "o/core/c/a/",
            "o/a/b/c/d/e",
            "n/",
            "n/a/b",
            "d/",
            "d/a/b",
            "h/address",
            "h/address/a/b",
            "a/",
            "a/rules/b",
            "u/",
            "u/a/b",
            "x/y",
        ] {
            assert_eq!(Key::parse(key.as_bytes()), None, "{key}");
        }
        assert_eq!(Key::parse(&[b'n', b'/', 0xff]), None);
    }

    #[test]
    fn a_prefix_covers_its_resource_only() {
        assert_eq!(resource_prefix("", "configmaps"), "o/core/configmaps/".as_bytes());
        assert_eq!(resource_prefix("apps", "deployments"), "o/apps/deployments/".as_bytes());
    }
}
