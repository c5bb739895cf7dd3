//! Parts of a JSON text as a tree: what is not wanted is passed over, and its values are not made.
//!
//! Invariant: what is wanted is read as [`super::parse`] reads it; where that is absent it is
//! absent. Lists are transparent: a part of a list is that part of each of its items.

use quorate_meta::{Map, SmolStr, Value};

use super::Error;
use super::parse::JsonParser;

/// What is wanted of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts(Wanted);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Wanted {
    All,
    /// How many items or entries it has, and their keys: they are null.
    Keys,
    /// Some entries, sorted by key.
    Entries(Vec<(Box<str>, Wanted)>),
}

impl Default for Parts {
    fn default() -> Self {
        Self(Wanted::NOTHING)
    }
}

impl Parts {
    /// Adds the value at a path.
    pub fn add<'p>(&mut self, path: impl IntoIterator<Item = &'p str>) {
        self.0.add(path.into_iter(), Wanted::All);
    }

    /// Adds the keys of the map at a path, or the number of items of the list.
    pub fn add_keys<'p>(&mut self, path: impl IntoIterator<Item = &'p str>) {
        self.0.add(path.into_iter(), Wanted::Keys);
    }
}

impl Wanted {
    /// Nothing but whether it is there.
    const NOTHING: Self = Self::Entries(Vec::new());

    fn add<'p>(&mut self, mut path: impl Iterator<Item = &'p str>, end: Self) {
        let Some(step) = path.next() else {
            // Of two that do not go together the whole is wanted.
            *self = if *self == Self::NOTHING || *self == end { end } else { Self::All };
            return;
        };
        match self {
            Self::All => {}
            Self::Keys => *self = Self::All,
            Self::Entries(entries) => {
                let found = entries.binary_search_by(|(key, _)| (**key).cmp(step));
                let at = found.unwrap_or_else(|at| {
                    entries.insert(at, (step.into(), Self::NOTHING));
                    at
                });
                entries[at].1.add(path, end);
            }
        }
    }
}

/// Reads parts of a text that `write` has written.
///
/// # Errors
/// What is wanted, or stands before it, is no such text. What comes after it is not looked at.
pub fn parse_parts(text: &[u8], parts: &Parts) -> Result<Value, Error> {
    PartsParser(JsonParser::new(text)?).wanted(&parts.0)
}

/// Reads a text and leaves out what is not wanted.
struct PartsParser<'a>(JsonParser<'a>);

impl PartsParser<'_> {
    fn wanted(&mut self, wanted: &Wanted) -> Result<Value, Error> {
        match (wanted, self.0.lexer.peek()) {
            (Wanted::All, _) => self.0.value(),
            (Wanted::Entries(entries), Some(b'{')) => self.entries(entries),
            (Wanted::Entries(_), Some(b'[')) => self.items(|items| items.wanted(wanted)),
            (Wanted::Keys, Some(b'[')) => self.items(Self::passed_over),
            (Wanted::Keys, Some(b'{')) => self.keys(),
            // It is a single value.
            _ => self.0.value(),
        }
    }

    fn passed_over(&mut self) -> Result<Value, Error> {
        self.0.lexer.skip_value()?;
        Ok(Value::Null)
    }

    fn items(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<Value, Error>,
    ) -> Result<Value, Error> {
        let mut items = Vec::new();
        self.each(b']', |parser| {
            items.push(item(parser)?);
            Ok(())
        })?;
        Ok(Value::List(items))
    }

    fn keys(&mut self) -> Result<Value, Error> {
        let mut entries = Vec::new();
        self.each(b'}', |parser| {
            let key = SmolStr::from(parser.0.key()?);
            parser.0.lexer.skip_value()?;
            entries.push((key, Value::Null));
            Ok(())
        })?;
        Ok(Value::Map(Map::from_entries(entries).0))
    }

    fn entries(&mut self, wanted: &[(Box<str>, Wanted)]) -> Result<Value, Error> {
        let (mut found, mut next) = (Vec::new(), wanted.iter().peekable());
        self.each(b'}', |parser| {
            let key = parser.0.key()?;
            // Keys ascend in the text as well.
            while next.next_if(|(wanted, _)| **wanted < *key).is_some() {}
            match next.next_if(|(wanted, _)| **wanted == *key) {
                Some((_, wanted)) => {
                    let key = SmolStr::from(key);
                    found.push((key, parser.wanted(wanted)?));
                }
                None => parser.0.lexer.skip_value()?,
            }
            Ok(())
        })?;
        Ok(Value::Map(Map::from_entries(found).0))
    }

    /// Reads the items of a list or the entries of a map, at its opening bracket.
    fn each(
        &mut self,
        bracket: u8,
        mut element: impl FnMut(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.0.enter()?;
        while self.0.lexer.peek() != Some(bracket) {
            element(self)?;
            match self.0.lexer.peek() {
                Some(b',') => self.0.lexer.step(),
                next if next == Some(bracket) => {}
                _ => return Err(self.0.lexer.unexpected("after an element")),
            }
        }
        self.0.leave(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{parse, to_vec};

    fn parts(paths: &[&str]) -> Parts {
        let mut parts = Parts::default();
        for path in paths {
            match path.strip_suffix(".*") {
                Some(path) => parts.add_keys(path.split('.')),
                None => parts.add(path.split('.')),
            }
        }
        parts
    }

    #[test]
    fn only_what_is_wanted_is_read() {
        let text = br#"{"a":1,"b":{"c":[1,{"x":"\"}"}],"d":null,"e":"e"},"l":[{"n":"x","v":[1,2]},{"v":{}},3],"z":{"k":{"]":1},"m":2}}"#;
        let check = |paths: &[&str], expect: &str| {
            let found = parse_parts(text, &parts(paths)).expect(expect);
            assert_eq!(String::from_utf8(to_vec(&found)).expect("UTF-8"), expect, "{paths:?}");
        };
        check(&[], "{}");
        check(&["a"], r#"{"a":1}"#);
        check(&["a.x", "0", "zz"], r#"{"a":1}"#);
        check(&["b.c", "b.d"], r#"{"b":{"c":[1,{"x":"\"}"}],"d":null}}"#);
        check(&["b.c.x"], r#"{"b":{"c":[1,{"x":"\"}"}]}}"#);
        check(&["b.e", "b"], r#"{"b":{"c":[1,{"x":"\"}"}],"d":null,"e":"e"}}"#);
        check(&["b", "b.e"], r#"{"b":{"c":[1,{"x":"\"}"}],"d":null,"e":"e"}}"#);
        check(&["l.n"], r#"{"l":[{"n":"x"},{},3]}"#);
        check(&["l.*", "z.*"], r#"{"l":[null,null,null],"z":{"k":null,"m":null}}"#);
        check(&["b.e.*", "b.d.*", "a.*"], r#"{"a":1,"b":{"d":null,"e":"e"}}"#);
        check(&["l.*", "l.n"], r#"{"l":[{"n":"x","v":[1,2]},{"v":{}},3]}"#);
        check(&["z.m", "z.*"], r#"{"z":{"k":{"]":1},"m":2}}"#);
    }

    #[test]
    fn what_is_no_map_is_refused() {
        for text in ["", "{", r#"{"a"}"#, r#"{"a":}"#, r#"{"a":1"#, r#"{"b":1 "a":2}"#, "{1:2}"] {
            parse_parts(text.as_bytes(), &parts(&["a.b"])).expect_err(text);
        }
        let deep = [&b"{\"a\":"[..]; 1000].concat();
        parse_parts(&deep, &parts(&["a"])).expect_err("too deep");
        let text = br#"{"a":{"b":1}}"#;
        assert_eq!(parse_parts(text, &parts(&["a"])), Ok(parse(text).expect("JSON").0));
    }
}
