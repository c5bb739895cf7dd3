//! The place of one entry of a map in its text, without parsing the others.

use std::ops::Range;

use super::{Error, Lexer};

/// Where the entry with this key is in the text of a map, with the comma that has to go with it;
/// `None` when there is none. The text is as the writer writes it, and the key needs no escapes.
pub(crate) fn entry(text: &[u8], key: &str) -> Result<Option<Range<usize>>, Error> {
    let (mut lexer, mut unescaped) = (Lexer::new(text)?, Vec::new());
    let mut before = b'{';
    if lexer.peek() != Some(before) {
        return Err(lexer.unexpected("looking for beginning of value"));
    }
    while lexer.peek() == Some(before) {
        let comma = lexer.at();
        lexer.step();
        if before == b'{' && lexer.peek() == Some(b'}') {
            return Ok(None);
        }
        let start = lexer.at();
        if lexer.peek() != Some(b'"') {
            return Err(lexer.unexpected("looking for beginning of object key string"));
        }
        let name = lexer.string_place(&mut unescaped)?;
        if lexer.peek() != Some(b':') {
            return Err(lexer.unexpected("after object key"));
        }
        lexer.step();
        lexer.skip_value()?;
        if name.is_some_and(|name| &text[name] == key.as_bytes()) {
            let is_first = before == b'{';
            let is_last = lexer.peek() != Some(b',');
            // The first entry takes the comma after it along, the others take the one before.
            return Ok(Some(match (is_first, is_last) {
                (true, false) => start..lexer.at() + 1,
                (true, true) => start..lexer.at(),
                (false, _) => comma..lexer.at(),
            }));
        }
        before = b',';
    }
    if lexer.peek() == Some(b'}') {
        Ok(None)
    } else {
        Err(lexer.unexpected("after object key:value pair"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_cut_out_with_its_comma() {
        let check = |text: &str, expect: Option<&str>| {
            let found = entry(text.as_bytes(), "k").expect(text);
            let rest = found.map(|place| [&text[..place.start], &text[place.end..]].concat());
            assert_eq!(rest.as_deref(), expect, "{text}");
        };
        check(r#"{"k":[1,{"k":"]"}]}"#, Some("{}"));
        check(r#"{"k":1,"l":2}"#, Some(r#"{"l":2}"#));
        check(r#"{"a":{"k":1},"k":null}"#, Some(r#"{"a":{"k":1}}"#));
        check(r#"{"a":1,"k":{},"l":2}"#, Some(r#"{"a":1,"l":2}"#));
        check(r#"{"\"":"k","a":"\\","l":[]}"#, None);
        check("{}", None);
    }

    #[test]
    fn what_is_no_map_is_refused() {
        for text in
            ["", "[]", "{", r#"{"a"}"#, r#"{"a":}"#, r#"{"a":1"#, r#"{"a":1 "k":2}"#, "{1:2}", "}"]
        {
            entry(text.as_bytes(), "k").expect_err(text);
        }
    }
}
