//! For whom a write is made: what kinds may record of them, and what else they must be allowed to do.
//!
//! The registry knows neither users nor rules; whoever makes a [`crate::write::Writer`] for somebody brings an
//! [`Author`] along. A write without one is the server's own and needs no permission.

use std::fmt::Debug;

use async_trait::async_trait;
use quorate_meta::{Map, Value};

use super::write::Target;
use crate::error::Error;

/// Somebody who writes.
#[async_trait]
pub trait Author: Debug + Send + Sync {
    /// Who that is.
    fn who(&self) -> Who<'_>;

    /// Whether they may do this with a resource of this name, besides the write itself.
    async fn may(&self, permission: &Permission, name: &str) -> Result<bool, Error>;

    /// Lets through an object that they may write, in the place of `old` if it was there before.
    ///
    /// # Errors
    /// The answer to somebody who may not.
    fn write(&self, target: Target<'_>, old: Option<&Value>, new: &Value) -> Result<(), Error>;

    /// Lets through what they may give away by writing this object.
    ///
    /// # Errors
    /// The answer to somebody who may not.
    async fn give(&self, target: Target<'_>, gift: &Gift) -> Result<(), Error>;
}

/// Rights that an object gives to others, so that whoever writes it must have them.
#[derive(Debug, Clone, PartialEq)]
pub enum Gift {
    /// The rules of a role.
    Rules {
        /// The rules.
        rules: Vec<Value>,
        /// Whether it will take over rules of other roles, too.
        gathers: bool,
        /// Whether it exists already.
        exists: bool,
    },
    /// A role, bound to somebody.
    Role {
        /// Whether it is one of the binding's namespace, not of the cluster.
        in_namespace: bool,
        /// Its name.
        name: String,
    },
}

/// The attributes of somebody who writes.
#[derive(Debug, Clone, Copy)]
pub struct Who<'a> {
    /// The user's name.
    pub name: &'a str,
    /// The user's stable identity; may be empty.
    pub uid: &'a str,
    /// The user's groups.
    pub groups: &'a [String],
    /// The user's further attributes.
    pub extra: &'a [(String, Vec<String>)],
}

impl Who<'_> {
    /// The attributes by the names that objects have for them; what is empty is left out.
    #[must_use]
    pub fn to_fields(&self) -> Map {
        let texts = |texts: &[String]| Value::List(texts.iter().map(|text| Value::from(text.as_str())).collect());
        let mut fields = Map::new();
        fields.insert("username", self.name);
        fields.insert("uid", self.uid);
        fields.insert("groups", texts(self.groups));
        let extra: Map = self.extra.iter().map(|(key, values)| (key, texts(values))).collect();
        fields.insert("extra", Value::Map(extra));
        fields.retain(|_, value| !value.is_empty());
        fields
    }
}

/// What somebody must be allowed to do besides the write itself: a verb on a resource of the kind's own group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permission {
    /// For example `approve`.
    pub verb: &'static str,
    /// Plural name.
    pub resource: &'static str,
    /// Group of the resource, in full.
    pub group: String,
    /// Names of which one must be allowed.
    pub names: Vec<String>,
    /// Why the write is refused otherwise.
    pub refusal: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn empty_attributes_are_left_out() {
        let groups = ["a".to_owned()];
        let extra = [("k".to_owned(), vec!["v".to_owned()])];
        let check = |who: Who<'_>, expect: serde_json::Value| assert_eq!(Value::Map(who.to_fields()), expect.into());
        check(Who { name: "n", uid: "", groups: &[], extra: &[] }, json!({"username": "n"}));
        let all = json!({"username": "n", "uid": "u", "groups": ["a"], "extra": {"k": ["v"]}});
        check(Who { name: "n", uid: "u", groups: &groups, extra: &extra }, all);
    }
}
