//! The cells of RoleBindings and ClusterRoleBindings: the role and its subjects.

use quorate_meta::Value;

use super::join::{items, text};
use super::special::Special;

/// The function of a column that has one.
pub(super) fn special(column: &str) -> Option<Special> {
    Some(match column {
        "Role" => |object, _| {
            format!("{}/{}", text(object, &["roleRef", "kind"]), text(object, &["roleRef", "name"]))
                .into()
        },
        "Users" => |object, _| subjects(object, "User"),
        "Groups" => |object, _| subjects(object, "Group"),
        "ServiceAccounts" => |object, _| subjects(object, "ServiceAccount"),
        _ => return None,
    })
}

/// The names of a kind of subjects; service accounts with their namespace where one is given.
fn subjects(object: &Value, kind: &str) -> Value {
    let own =
        items(object, &["subjects"]).iter().filter(|subject| text(subject, &["kind"]) == kind);
    let names = own.map(|subject| match (kind, text(subject, &["namespace"])) {
        ("ServiceAccount", namespace) if !namespace.is_empty() => {
            format!("{namespace}/{}", text(subject, &["name"]))
        }
        _ => text(subject, &["name"]).to_owned(),
    });
    names.collect::<Vec<_>>().join(", ").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn cells() {
        let object = Value::from(json!({
            "roleRef": {"kind": "Role", "name": "r"},
            "subjects": [
                {"kind": "User", "name": "u"}, {"kind": "Group", "name": "g"}, {"kind": "Group", "name": "h"},
                {"kind": "ServiceAccount", "name": "s", "namespace": "n"}, {"kind": "ServiceAccount", "name": "t"}
            ]
        }));
        let check = |column: &str, expect: &str| {
            let cell = special(column).expect("a special column")(&object, 0);
            assert_eq!(cell.as_str(), Some(expect), "{column}");
        };
        check("Role", "Role/r");
        check("Users", "u");
        check("Groups", "g, h");
        check("ServiceAccounts", "n/s, t");
        assert!(special("Age").is_none());
    }
}
