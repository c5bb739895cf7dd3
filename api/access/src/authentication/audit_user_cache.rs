//! The words for whoever sends requests over a connection, kept from one request to the next.
//!
//! Invariants: they are those for the very same user and program; of two that send in turn, each is put into words again. A
//! connection keeps a few words only, however long a name its client chooses for the program.

use std::sync::Arc;

use parking_lot::Mutex;

use super::User;

/// Bytes of words that are kept; longer ones are written for each request.
const MAX_BYTES: usize = 2048;

/// What was written last of a user and their program.
#[derive(Debug, Default)]
pub struct AuditUserCache(Mutex<Option<Words>>);

#[derive(Debug)]
struct Words {
    user: Arc<User>,
    agent: String,
    text: Vec<u8>,
}

impl AuditUserCache {
    /// Appends what `write` has written of this user and program; it is called if they are not those of the last time.
    pub fn write(&self, user: &Arc<User>, agent: &str, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
        let mut last = self.0.lock();
        if let Some(words) = last.as_ref().filter(|words| Arc::ptr_eq(&words.user, user) && words.agent == agent) {
            out.extend_from_slice(&words.text);
            return;
        }
        let begin = out.len();
        write(out);
        let text = &out[begin..];
        let is_kept = text.len() <= MAX_BYTES;
        *last = is_kept.then(|| Words { user: user.clone(), agent: agent.to_owned(), text: text.to_vec() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_written_once_for_the_same_user_and_program() {
        let audit_user = AuditUserCache::default();
        let [ann, again] = ["ann"; 2].map(|name| Arc::new(User::new(name, [])));
        let check = |user: &Arc<User>, agent: &str, written: bool| {
            let (mut out, mut called) = (b"before ".to_vec(), false);
            audit_user.write(user, agent, &mut out, |out| {
                called = true;
                out.extend_from_slice(format!("{} {agent}", user.name).as_bytes());
            });
            assert_eq!((String::from_utf8(out).unwrap(), called), (format!("before ann {agent}"), written));
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
