//! Streamed YAML lists: the text before the items, an item, and the text after them.
//!
//! An item is an element of a block sequence: its own document, with every line indented by the
//! width of the dash.

use quorate_meta::{Map, Value};

use super::write;

/// Appends the part of a list before its items, which are at its key `items`.
pub fn list_head(list: &Value, items: &str, out: &mut Vec<u8>) {
    part(list, |key| key < items, out);
    out.extend_from_slice(items.as_bytes());
    out.push(b':');
}

/// Appends an item.
pub fn list_item(item: &Value, out: &mut Vec<u8>) {
    let text = write(item);
    // The end of the last line is written with the next item or the rest of the list.
    for (turn, line) in text.strip_suffix('\n').unwrap_or(&text).split('\n').enumerate() {
        out.extend_from_slice(if turn == 0 { b"\n- " } else { b"\n  " });
        out.extend_from_slice(line.as_bytes());
    }
}

/// Appends the part of a list after its items; `any` says whether there was one.
pub fn list_tail(list: &Value, items: &str, any: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(if any { b"\n" } else { b" []\n" });
    part(list, |key| key > items, out);
}

fn part(list: &Value, keep: impl Fn(&str) -> bool, out: &mut Vec<u8>) {
    let entries = list.as_map().into_iter().flat_map(|map| map.iter()).filter(|(key, _)| keep(key));
    let part: Map = entries.map(|(key, value)| (key, value.clone())).collect();
    if !part.is_empty() {
        out.extend_from_slice(write(&Value::Map(part)).as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::json;
    use crate::yaml::parse;

    fn streamed(items: &[Value]) -> (Value, String) {
        let (list, _) = json::parse(
            br#"{"apiVersion":"v1","items":[],"kind":"L","metadata":{"resourceVersion":"7"}}"#,
        )
        .unwrap();
        let mut out = Vec::new();
        list_head(&list, "items", &mut out);
        for item in items {
            list_item(item, &mut out);
        }
        list_tail(&list, "items", !items.is_empty(), &mut out);
        let mut whole = list;
        whole.set_at(&["items"], items.to_vec());
        (whole, String::from_utf8(out).unwrap())
    }

    #[test]
    fn a_list_in_pieces() {
        let item = |text: &str| json::parse(text.as_bytes()).unwrap().0;
        let (_, text) = streamed(&[item(r#"{"a":{"b":"1"},"c":"d"}"#), item(r#"{"e":[1]}"#)]);
        let expect = "apiVersion: v1\nitems:\n- a:\n    b: \"1\"\n  c: d\n- e:\n  ";
        assert!(text.starts_with(expect), "{text}");
        assert_eq!(
            streamed(&[]).1,
            "apiVersion: v1\nitems: []\nkind: L\nmetadata:\n  resourceVersion: \"7\"\n"
        );
    }

    proptest! {
        #[test]
        fn a_list_in_pieces_is_the_list(items in prop::collection::vec(json::tests::any_value(), 0..4)) {
            let (whole, text) = streamed(&items);
            let read = parse(text.as_bytes());
            prop_assert_eq!(read.as_ref().map(|(value, _)| value), Ok(&whole), "{}", text);
        }

        #[test]
        fn texts_of_many_lines(lines in prop::collection::vec("[ \t#:a\\-|>\r\u{85}\u{2028}]{0,4}", 0..6), end in 0usize..4) {
            let text = lines.join("\n") + &"\n".repeat(end);
            let item = Value::from([("a", Value::from(text.as_str())), ("b", Value::List(vec![text.as_str().into(), Value::Null]))]);
            let (whole, text) = streamed(&[item.clone(), item]);
            let read = parse(text.as_bytes());
            prop_assert_eq!(read.as_ref().map(|(value, _)| value), Ok(&whole), "{}", text);
        }
    }
}
