//! A cache of the user fields of audit events, serialized, for each connection.
//!
//! Invariants: it holds the fields of one user and one user agent; when two users take turns on a
//! connection, each is serialized anew. It holds at most [`MAX_BYTES`], however long a user agent
//! the client chooses.

use std::sync::Arc;

use parking_lot::Mutex;

use super::User;

/// Bytes that are kept; longer fields are serialized for each request.
const MAX_BYTES: usize = 2048;

/// The fields that were serialized last.
#[derive(Debug, Default)]
pub struct AuditUserCache(Mutex<Option<SerializedUser>>);

#[derive(Debug)]
struct SerializedUser {
    user: Arc<User>,
    agent: String,
    text: Vec<u8>,
}

impl AuditUserCache {
    /// Appends the fields of this user and user agent; calls `write` for them if they are not those
    /// of the last time.
    pub fn write(
        &self,
        user: &Arc<User>,
        agent: &str,
        out: &mut Vec<u8>,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        let mut last = self.0.lock();
        if let Some(fields) =
            last.as_ref().filter(|fields| Arc::ptr_eq(&fields.user, user) && fields.agent == agent)
        {
            out.extend_from_slice(&fields.text);
            return;
        }
        let begin = out.len();
        write(out);
        let text = &out[begin..];
        let is_kept = text.len() <= MAX_BYTES;
        *last = is_kept.then(|| SerializedUser {
            user: user.clone(),
            agent: agent.to_owned(),
            text: text.to_vec(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_serialized_once_for_the_same_user_and_agent() {
        let audit_user = AuditUserCache::default();
        let [ann, again] = ["ann"; 2].map(|name| Arc::new(User::new(name, [])));
        let check = |user: &Arc<User>, agent: &str, written: bool| {
            let (mut out, mut called) = (b"before ".to_vec(), false);
            audit_user.write(user, agent, &mut out, |out| {
                called = true;
                out.extend_from_slice(format!("{} {agent}", user.name).as_bytes());
            });
            assert_eq!(
                (String::from_utf8(out).unwrap(), called),
                (format!("before ann {agent}"), written)
            );
        };
        check(&ann, "kubectl", true);
        check(&ann, "kubectl", false);
        check(&ann, "helm", true);
        check(&ann, "kubectl", true);
        check(&again, "kubectl", true);
        check(&again, "kubectl", false);
        let long = "x".repeat(MAX_BYTES);
        check(&again, &long, true);
        check(&again, &long, true);
        check(&again, "kubectl", true);
    }
}
