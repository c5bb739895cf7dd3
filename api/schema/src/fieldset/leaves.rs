//! The leaves of a value and of a set: the fields that have a value of their own.
//!
//! Invariant: a leaf of a value that differs from an older value, or lies in a part that does, is in
//! their comparison, itself or by a field above it.

use quorate_meta::Value;

use super::form::{Form, keyed_element};
use super::{Comparison, Element, FieldSet};
use crate::graph::{Graph, TypeId};

/// A field without fields below it, with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Leaf<'v> {
    /// Its path.
    pub path: Vec<Element>,
    /// Its value.
    pub value: &'v Value,
}

impl Leaf<'_> {
    /// The form of the path in messages: `.spec.containers[name="c"].image`.
    pub fn text(&self) -> String {
        self.path.iter().map(ToString::to_string).collect()
    }

    /// Whether the field has got its value between the two objects of a comparison, of which it is
    /// in the newer one.
    pub fn is_changed_by(&self, comparison: &Comparison) -> bool {
        let mut prefixes = (1..=self.path.len()).map(|length| &self.path[..length]);
        prefixes.any(|path| comparison.added.contains(path) || comparison.modified.contains(path))
    }
}

/// All leaves of `value`, which has type `ty`, in the order of the value.
pub fn leaves<'v>(graph: &Graph, ty: TypeId, value: &'v Value) -> Vec<Leaf<'v>> {
    let mut found = Vec::new();
    walk(graph, Form::Message(graph.ty(ty)), value, &mut Vec::new(), &mut found);
    found
}

fn walk<'v>(
    graph: &Graph,
    form: Form<'_>,
    value: &'v Value,
    path: &mut Vec<Element>,
    found: &mut Vec<Leaf<'v>>,
) {
    match (form, value) {
        (Form::Message(_) | Form::Map(..) | Form::Free, Value::Map(map)) if !map.is_empty() => {
            for (key, value) in map.iter() {
                path.push(Element::field(key));
                walk(graph, form.child(graph, key), value, path, found);
                path.pop();
            }
        }
        (Form::Set, Value::List(items)) if !items.is_empty() => {
            for item in items {
                path.push(Element::value(item));
                found.push(Leaf { path: path.clone(), value: item });
                path.pop();
            }
        }
        (Form::Keyed(inner, keys, _), Value::List(items)) if !items.is_empty() => {
            for item in items {
                path.push(keyed_element(graph, inner, keys, item));
                walk(graph, form.child(graph, ""), item, path, found);
                path.pop();
            }
        }
        _ => found.push(Leaf { path: path.clone(), value }),
    }
}

/// The paths of what differs, without those that have a longer one in the same set, in the form of
/// messages and in their order; `most` of them at most, and whether these are all.
pub fn differing_paths(comparison: &Comparison, most: usize) -> (Vec<String>, bool) {
    let Comparison { added, modified, removed } = comparison;
    let differing = added.clone().union(modified).union(removed);
    let mut paths = Vec::new();
    let all = collect(&differing, &mut String::new(), most, &mut paths);
    (paths, all)
}

/// Adds the longest paths of a set; false where there are more.
fn collect(set: &FieldSet, above: &mut String, most: usize, paths: &mut Vec<String>) -> bool {
    set.nodes.iter().all(|(element, node)| {
        if paths.len() == most {
            return false;
        }
        let length = above.len();
        above.push_str(&element.to_string());
        let all = if node.below.is_empty() {
            paths.push(above.clone());
            true
        } else {
            collect(&node.below, above, most, paths)
        };
        above.truncate(length);
        all
    })
}

#[cfg(test)]
mod tests {
    use super::super::compare;
    use super::*;
    use crate::testing::{graph, json, text, ty};

    const OLD: &str = r#"{"containers":[{"name":"a","image":"1","args":["x"]},{"name":"b"}],
        "nodeSelector":{"k":"v"},"ephemeralContainers":[]}"#;
    const NEW: &str = r#"{"containers":[{"name":"c","image":"1"},{"name":"a","image":"2","args":["y"]}],
        "ephemeralContainers":[],"hostNetwork":true}"#;

    #[test]
    fn leaves_are_told_with_their_values() {
        let (graph, value) = (graph(), json(OLD));
        let found = leaves(&graph, ty(&graph, "core/v1.PodSpec"), &value);
        let texts: Vec<_> =
            found.iter().map(|leaf| format!("{} {}", leaf.text(), text(leaf.value))).collect();
        let expect = [
            r#".containers[name="a"].args ["x"]"#,
            r#".containers[name="a"].image "1""#,
            r#".containers[name="a"].name "a""#,
            r#".containers[name="b"].name "b""#,
            ".ephemeralContainers []",
            r#".nodeSelector {"k":"v"}"#,
        ];
        assert_eq!(texts, expect);
    }

    #[test]
    fn what_differs_is_told_by_the_longest_paths() {
        let graph = graph();
        let ty = ty(&graph, "core/v1.PodSpec");
        let (old, new) = (json(OLD), json(NEW));
        let comparison = compare(&graph, ty, &old, &new);
        let expect = [
            r#".containers[name="a"].args"#,
            r#".containers[name="a"].image"#,
            r#".containers[name="b"].name"#,
            r#".containers[name="c"].image"#,
            r#".containers[name="c"].name"#,
            ".hostNetwork",
            ".nodeSelector",
        ];
        assert_eq!(differing_paths(&comparison, 100), (expect.map(str::to_owned).to_vec(), true));
        assert_eq!(
            differing_paths(&comparison, 2),
            (expect[..2].iter().map(|path| (*path).to_owned()).collect(), false)
        );
        let new_leaves = leaves(&graph, ty, &new);
        let changed = new_leaves.iter().filter(|leaf| leaf.is_changed_by(&comparison));
        let changed: Vec<_> = changed.map(Leaf::text).collect();
        let still_there =
            |path: &&&str| !path.contains(r#"[name="b"]"#) && **path != ".nodeSelector";
        let mut sorted = changed.clone();
        sorted.sort();
        assert_eq!(
            sorted,
            expect.iter().filter(still_there).map(|path| (*path).to_owned()).collect::<Vec<_>>()
        );
    }
}
