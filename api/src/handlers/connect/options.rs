//! The options of a connection, as query parameters give them.

use quorate_access::request::Query;
use quorate_meta::{Map, Value};
use quorate_registry::error::Error;

/// The form of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// On when it is there, but for `0` and `false`.
    Flag,
    /// An integer.
    Number,
    /// A text; the first counts.
    Text,
    /// Every text of the name.
    Texts,
    /// Every integer of the name.
    Numbers,
}

/// The options that the query has; others are left alone.
pub(super) fn read(query: &Query, fields: &[(&'static str, Form)]) -> Result<Value, Error> {
    let mut options = Map::new();
    for (name, form) in fields {
        let value = match form {
            Form::Flag => query.flag(name).filter(|on| *on).map(Value::from),
            Form::Number => query.int(name)?.map(Value::from),
            Form::Text => query.get(name).map(Value::from),
            Form::Texts => {
                let texts: Vec<Value> = query.all(name).map(Value::from).collect();
                (!texts.is_empty()).then_some(Value::List(texts))
            }
            Form::Numbers => numbers(query, name)?,
        };
        if let Some(value) = value {
            options.insert(*name, value);
        }
    }
    Ok(Value::Map(options))
}

/// The integers of a name, several of them separated by commas in one parameter.
fn numbers(query: &Query, name: &str) -> Result<Option<Value>, Error> {
    let texts = query.all(name).flat_map(|list| list.split(','));
    let numbers: Result<Vec<Value>, Error> = texts
        .map(|text| {
            let number = text.parse::<i64>().map(Value::from);
            number.map_err(|_| {
                Error::bad_request(format!("strconv.ParseInt: parsing {text:?}: invalid syntax"))
            })
        })
        .collect();
    let numbers = numbers?;
    Ok((!numbers.is_empty()).then_some(Value::List(numbers)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn options_are_read_by_their_form() {
        const FIELDS: [(&str, Form); 5] = [
            ("follow", Form::Flag),
            ("lines", Form::Number),
            ("container", Form::Text),
            ("command", Form::Texts),
            ("ports", Form::Numbers),
        ];
        let check = |query: &str, expect: Result<serde_json::Value, &str>| {
            let found = read(&Query::parse(query), &FIELDS);
            assert_eq!(
                found.map_err(|error| error.into_status().message),
                expect.map(Value::from).map_err(str::to_owned),
                "{query}"
            );
        };
        check("", Ok(json!({})));
        check("follow&other=1", Ok(json!({"follow": true})));
        check("follow=false&lines=-1", Ok(json!({"lines": -1})));
        check(
            "command=a&command=&container=c&container=d",
            Ok(json!({"command": ["a", ""], "container": "c"})),
        );
        check("ports=1&ports=2,3", Ok(json!({"ports": [1, 2, 3]})));
        check("lines=x", Err("strconv.ParseInt: parsing \"x\": invalid syntax"));
        check("ports=x", Err("strconv.ParseInt: parsing \"x\": invalid syntax"));
    }
}
