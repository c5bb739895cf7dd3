//! The static token file: bearer tokens and their users, one a line.
//!
//! A line is CSV: token, user, uid and, if there is a fourth column, the groups in it, separated by
//! commas (so quoted when there are several). Empty lines and lines that begin with `#` do not
//! count. Invariants: tokens are kept as hashes, so that looking one up takes the same time however
//! much of it is right; a file with a mistake is refused whole.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use thiserror::Error;

use super::User;
use super::token::{TokenHash, hash};

/// What is wrong with a static token file. The line is named, its content never.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: {why}")]
pub struct StaticTokenError {
    /// From 1.
    pub line: usize,
    /// What is wrong.
    pub why: &'static str,
}

/// The tokens of a file and their users.
#[derive(Clone, Default)]
pub struct StaticTokens {
    users: HashMap<TokenHash, Arc<User>>,
}

impl StaticTokens {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// The first line that cannot be used.
    pub fn parse(text: &str) -> Result<Self, StaticTokenError> {
        let mut users = HashMap::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = |why| StaticTokenError { line: index + 1, why };
            let columns = columns(line).ok_or_else(|| wrong("a quote is not closed"))?;
            let [token, name, uid, rest @ ..] = columns.as_slice() else {
                return Err(wrong("a token, a user and a uid are needed"));
            };
            if token.is_empty() || name.is_empty() {
                return Err(wrong("the token or the user is empty"));
            }
            let groups =
                rest.first().map(String::as_str).unwrap_or_default().split(',').map(str::trim);
            let groups = groups.filter(|group| !group.is_empty()).map(str::to_owned);
            let user = User { uid: uid.clone(), ..User::new(name, groups) };
            if users.insert(hash(token.as_bytes()), Arc::new(user)).is_some() {
                return Err(wrong("the token stands in an earlier line too"));
            }
        }
        Ok(Self { users })
    }

    pub(super) fn find(&self, token: &str) -> Option<&Arc<User>> {
        if self.users.is_empty() { None } else { self.users.get(&hash(token.as_bytes())) }
    }
}

impl fmt::Debug for StaticTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StaticTokens").field("count", &self.users.len()).finish()
    }
}

/// The columns of a line of CSV (RFC 4180), without the blanks around them.
fn columns(line: &str) -> Option<Vec<String>> {
    let (mut columns, mut column, mut quoted) = (Vec::new(), String::new(), false);
    let mut characters = line.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '"' if quoted && characters.next_if_eq(&'"').is_some() => column.push('"'),
            '"' => quoted = !quoted,
            ',' if !quoted => columns.push(std::mem::take(&mut column).trim().to_owned()),
            c => column.push(c),
        }
    }
    columns.push(column.trim().to_owned());
    (!quoted).then_some(columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_a_token() {
        let text = "# people\nt1,ann,1,\"dev, ops\"\n\n t2 , joe , 2\nt\"\"3,\"o\"\"neil\",3,dev\n";
        let tokens = StaticTokens::parse(text).unwrap();
        let check = |token: &str, expect: Option<&str>| {
            let user = tokens
                .find(token)
                .map(|user| format!("{} {} {:?}", user.name, user.uid, user.groups));
            assert_eq!(user.as_deref(), expect, "{token}");
        };
        check("t1", Some(r#"ann 1 ["dev", "ops", "system:authenticated"]"#));
        check("t2", Some(r#"joe 2 ["system:authenticated"]"#));
        check("t3", Some(r#"o"neil 3 ["dev", "system:authenticated"]"#));
        check("", None);
        check("ann", None);
    }

    #[test]
    fn a_mistake_is_told_by_its_line() {
        let check = |text: &str, expect: &str| {
            assert_eq!(StaticTokens::parse(text).unwrap_err().to_string(), expect);
        };
        check("secret,ann", "line 1: a token, a user and a uid are needed");
        check("\n,ann,1", "line 2: the token or the user is empty");
        check("secret,ann,1\nsecret,joe,2", "line 2: the token stands in an earlier line too");
        check("secret,ann,1,\"dev", "line 1: a quote is not closed");
    }
}
