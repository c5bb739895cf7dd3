//! Texts that cells of several kinds are made of.

use quorate_meta::Value;

/// Items that a cell shows of a longer list.
const SHOWN: usize = 3;
/// What is shown where there is nothing.
pub(super) const NONE: &str = "<none>";
/// What is shown where nothing was said.
pub(super) const UNSET: &str = "<unset>";

/// The text at a path; empty when there is none.
pub(super) fn text<'v>(object: &'v Value, path: &[&str]) -> &'v str {
    object.str_at(path).unwrap_or_default()
}

/// The items of the list at a path.
pub(super) fn items<'v>(object: &'v Value, path: &[&str]) -> &'v [Value] {
    object.at(path).and_then(Value::as_list).unwrap_or_default()
}

/// The texts of the list at a path.
pub(super) fn texts<'v>(object: &'v Value, path: &[&str]) -> Vec<&'v str> {
    items(object, path).iter().filter_map(Value::as_str).collect()
}

/// The texts with commas between them, or what stands for none.
pub(super) fn join(texts: &[impl AsRef<str>], none: &str) -> String {
    let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
    if texts.is_empty() { none.to_owned() } else { texts.join(",") }
}

/// The first few texts, and how many more there are; `all` counts those that are not among the
/// texts as well.
pub(super) fn first_few(texts: &[impl AsRef<str>], all: usize, none: &str) -> String {
    let shown = join(&texts[..texts.len().min(SHOWN)], none);
    if all > SHOWN && texts.len() >= SHOWN {
        format!("{shown} + {} more...", all - SHOWN)
    } else {
        shown
    }
}

/// The texts sorted, each once.
pub(super) fn sorted<'v>(texts: impl Iterator<Item = &'v str>) -> Vec<&'v str> {
    let mut texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
    texts.sort_unstable();
    texts.dedup();
    texts
}

/// Labels as a selector says them.
pub(super) fn labels(map: Option<&Value>) -> String {
    let entries = map.and_then(Value::as_map).into_iter().flat_map(|map| map.iter());
    let all: Vec<String> = entries
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    join(&all, NONE)
}

/// A label selector in its text form.
pub(super) fn selector(selector: Option<&Value>) -> String {
    let Some(selector) = selector else {
        return NONE.to_owned();
    };
    let labels =
        selector.get("matchLabels").and_then(Value::as_map).into_iter().flat_map(|map| map.iter());
    let mut terms: Vec<(&str, String)> = labels
        .map(|(key, value)| (key, format!("{key}={}", value.as_str().unwrap_or_default())))
        .collect();
    for term in items(selector, &["matchExpressions"]) {
        let (key, mut values) = (text(term, &["key"]), texts(term, &["values"]));
        values.sort_unstable();
        let values = values.join(",");
        terms.push((
            key,
            match text(term, &["operator"]) {
                "In" => format!("{key} in ({values})"),
                "NotIn" => format!("{key} notin ({values})"),
                "Exists" => key.to_owned(),
                "DoesNotExist" => format!("!{key}"),
                _ => return "<error>".to_owned(),
            },
        ));
    }
    terms.sort_by(|a, b| a.0.cmp(b.0));
    join(&terms.iter().map(|(_, term)| term.as_str()).collect::<Vec<_>>(), NONE)
}

/// Ways of access to a volume, abbreviated.
pub(super) fn modes(modes: &[&str]) -> String {
    const SHORT: [(&str, &str); 4] = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let known: Vec<&str> =
        SHORT.iter().filter(|(long, _)| modes.contains(long)).map(|(_, short)| *short).collect();
    known.join(",")
}

/// The condition of a type.
pub(super) fn condition<'v>(object: &'v Value, kind: &str) -> Option<&'v Value> {
    items(object, &["status", "conditions"])
        .iter()
        .find(|condition| condition.str_at(&["type"]) == Some(kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lists() {
        assert_eq!(join(&["a", "b"], NONE), "a,b");
        assert_eq!(join(&[""; 0], NONE), "<none>");
        assert_eq!(first_few(&["a", "b", "c"], 3, NONE), "a,b,c");
        assert_eq!(first_few(&["a", "b", "c", "d"], 4, NONE), "a,b,c + 1 more...");
        assert_eq!(sorted(["b", "", "a", "b"].into_iter()), ["a", "b"]);
        assert_eq!(modes(&["ReadWriteMany", "ReadWriteOnce", "x"]), "RWO,RWX");
    }

    #[test]
    fn selectors() {
        let check = |value: serde_json::Value, expect: &str| {
            assert_eq!(selector(Some(&value.into())), expect)
        };
        check(json!({}), "<none>");
        check(json!({"matchLabels": {"b": "c", "a": "b"}}), "a=b,b=c");
        let terms = json!([{"key": "x", "operator": "NotIn", "values": ["2", "1"]}, {"key": "c", "operator": "DoesNotExist"}]);
        check(
            json!({"matchLabels": {"k": "v"}, "matchExpressions": terms}),
            "!c,k=v,x notin (1,2)",
        );
        check(json!({"matchExpressions": [{"key": "x", "operator": "Is"}]}), "<error>");
        assert_eq!(selector(None), "<none>");
        assert_eq!(labels(Some(&json!({"x": "y", "a": "b"}).into())), "a=b,x=y");
    }
}
