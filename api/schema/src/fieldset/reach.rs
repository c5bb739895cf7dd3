//! The reach of a request: the fields that a resource or subresource can set (`resetFields`).

use super::{FieldSet, Node};

/// The suffix of a list's name that stands for each of its elements.
const EACH: &str = "[]";

/// Fields within reach; a field includes everything below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// All fields but these.
    AllBut(FieldSet),
    /// Only these fields.
    Only(Fields),
}

/// Paths of fields, each a dotted path in which `a[].b` is the field `b` of every element of the
/// list `a`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fields(Vec<Vec<ReachStep>>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum ReachStep {
    Field(&'static str),
    Each,
}

impl Fields {
    /// Fields by their paths.
    #[must_use]
    pub fn of(paths: &[&'static str]) -> Self {
        let steps = |path: &'static str| {
            path.split('.').flat_map(|name| match name.strip_suffix(EACH) {
                Some(list) => vec![ReachStep::Field(list), ReachStep::Each],
                None => vec![ReachStep::Field(name)],
            })
        };
        Self(paths.iter().map(|path| steps(path).collect()).collect())
    }
}

impl Default for Reach {
    fn default() -> Self {
        Self::AllBut(FieldSet::new())
    }
}

impl Reach {
    /// The members of a set that are within reach.
    #[must_use]
    pub fn cut(&self, mut set: FieldSet) -> FieldSet {
        match self {
            Self::AllBut(fields) => {
                set.subtract_recursive(fields);
                set
            }
            Self::Only(Fields(paths)) => {
                let paths: Vec<&[ReachStep]> = paths.iter().map(Vec::as_slice).collect();
                within(&set, &paths)
            }
        }
    }
}

/// The members of a set at or below one of these paths.
fn within(set: &FieldSet, paths: &[&[ReachStep]]) -> FieldSet {
    FieldSet::of_nodes(set.nodes.iter().map(|(element, node)| {
        let matches = |step: &ReachStep| match step {
            ReachStep::Field(name) => element.field_name() == Some(name),
            ReachStep::Each => element.field_name().is_none(),
        };
        let rests = paths.iter().filter_map(|path| path.split_first());
        let rests: Vec<&[ReachStep]> =
            rests.filter(|(first, _)| matches(first)).map(|(_, rest)| rest).collect();
        let node = if rests.iter().any(|rest| rest.is_empty()) {
            node.clone()
        } else {
            Node { member: false, below: within(&node.below, &rests) }
        };
        (element.clone(), node)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Value;
    use serde_json::json;

    fn set(fields: serde_json::Value) -> FieldSet {
        FieldSet::decode(&Value::from(fields)).unwrap()
    }

    #[test]
    fn fields_of_each_element() {
        let one =
            |fields: serde_json::Value| json!({"f:spec": {"f:a": {"k:{\"name\":\"x\"}": fields}}});
        let all = json!({".": {}, "f:b": {".": {}, "f:c": {}}, "f:d": {}});
        let given = set(json!({"f:spec": {"f:a": {"k:{\"name\":\"x\"}": all}, "f:b": {}}}));
        let check = |paths: &[&'static str], expect: serde_json::Value| {
            assert_eq!(Reach::Only(Fields::of(paths)).cut(given.clone()), set(expect), "{paths:?}");
        };
        check(&["spec.a[].b"], one(json!({"f:b": {".": {}, "f:c": {}}})));
        check(&["spec.a[].b", "spec.a[].d"], one(json!({"f:b": {".": {}, "f:c": {}}, "f:d": {}})));
        check(&["spec.a"], one(all.clone()));
        check(&["spec.b"], json!({"f:spec": {"f:b": {}}}));
        check(&["spec.a.b", "status"], json!({}));
    }
}
