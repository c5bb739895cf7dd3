//! Permissions around writes: what a kind asks of the user, and the rights that an object grants.
//!
//! Not here: whether a user has them, which an author answers.

use quorate_meta::{Map, Value};

/// Rights that an object grants, which the user who writes it must have.
#[derive(Debug, Clone, PartialEq)]
pub enum Grant {
    /// The rules of a role.
    Rules {
        /// The rules.
        rules: Vec<Value>,
        /// Whether the role aggregates the rules of other roles (`aggregationRule`).
        aggregates: bool,
        /// Whether it exists already.
        exists: bool,
    },
    /// A role that is bound to subjects.
    Role {
        /// Whether it is a Role of the binding's namespace, not a ClusterRole.
        in_namespace: bool,
        /// Its name.
        name: String,
    },
}

/// The user of a write, as `UserInfo` of authentication has it.
#[derive(Debug, Clone, Copy)]
pub struct UserInfo<'a> {
    /// The user's name.
    pub name: &'a str,
    /// The user's stable identity; may be empty.
    pub uid: &'a str,
    /// The user's groups.
    pub groups: &'a [String],
    /// The user's further attributes.
    pub extra: &'a [(String, Vec<String>)],
}

impl UserInfo<'_> {
    /// The attributes under the field names of the API; empty ones are left out.
    #[must_use]
    pub fn to_fields(&self) -> Map {
        let texts = |texts: &[String]| {
            Value::List(texts.iter().map(|text| Value::from(text.as_str())).collect())
        };
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

/// A permission that a write needs besides that for the request itself: a verb on a resource of the
/// kind's own group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permission {
    /// For example `approve`.
    pub verb: &'static str,
    /// Plural name.
    pub resource: &'static str,
    /// Group of the resource, in full.
    pub group: String,
    /// Names of resources, one of which must be allowed to the user.
    pub names: Vec<String>,
    /// The message of the refusal.
    pub refusal: String,
}

/// A question to the authorizer: whether a user may do something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessCheck {
    /// Namespace and name of the service account that is asked about; `None` for the user of the
    /// request.
    pub service_account: Option<(String, String)>,
    /// To what.
    pub target: AccessTarget,
    /// The verb: of HTTP, in lower case, for a path.
    pub verb: String,
}

/// What a question is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccessTarget {
    /// A path that is no resource.
    Path(String),
    /// A resource, in any version.
    Resource {
        /// Full group name; empty for the core group.
        group: String,
        /// Plural name.
        resource: String,
        /// Empty for the resource itself.
        subresource: String,
        /// Empty for all or none.
        namespace: String,
        /// Empty for all.
        name: String,
        /// A field selector as text; empty for none.
        fields: String,
        /// A label selector as text; empty for none.
        labels: String,
    },
}

/// The answer to such a question.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccessDecision {
    /// Whether it is allowed.
    pub allowed: bool,
    /// Why, in the authorizer's words.
    pub reason: String,
    /// What went wrong while deciding.
    pub error: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn empty_attributes_are_left_out() {
        let groups = ["a".to_owned()];
        let extra = [("k".to_owned(), vec!["v".to_owned()])];
        let check = |who: UserInfo<'_>, expect: serde_json::Value| {
            assert_eq!(Value::Map(who.to_fields()), expect.into())
        };
        check(UserInfo { name: "n", uid: "", groups: &[], extra: &[] }, json!({"username": "n"}));
        let all = json!({"username": "n", "uid": "u", "groups": ["a"], "extra": {"k": ["v"]}});
        check(UserInfo { name: "n", uid: "u", groups: &groups, extra: &extra }, all);
    }
}
