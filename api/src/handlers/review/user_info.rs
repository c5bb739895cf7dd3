//! The UserInfo of a user, as reviews tell it.

use quorate_meta::{Map, Value};

use quorate_access::authentication::User;

/// The user's attributes; what is empty is left out.
pub(super) fn of(user: &User) -> Map {
    let mut info = Map::from([("username", Value::from(user.name.as_str()))]);
    if !user.uid.is_empty() {
        info.insert("uid", user.uid.as_str());
    }
    if !user.groups.is_empty() {
        info.insert("groups", user.groups.clone());
    }
    if !user.extra.is_empty() {
        info.insert("extra", user.extra.iter().cloned().collect::<Map>());
    }
    info
}
