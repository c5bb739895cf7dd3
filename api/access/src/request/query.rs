//! Query parameters, in the order given, decoded.
//!
//! Invariants: the first value of a repeated parameter counts, except where [`Query::all`] is
//! asked; names are case-sensitive; unknown parameters are ignored. Booleans and integers convert
//! as in kube-apiserver: a boolean is true unless it is `0` or `false`, an integer must parse.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use quorate_meta::SmolStr;
use quorate_registry::Error as ApiError;
use thiserror::Error;

/// A parameter's value has the wrong form. The text is what the Status says.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("strconv.ParseInt: parsing \"{value}\": {problem}")]
pub struct QueryError {
    value: String,
    problem: &'static str,
}

/// The parameters of one request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query(Vec<(SmolStr, SmolStr)>);

impl Query {
    /// Reads the part of a URI after `?`. Never fails: what does not decode is kept as it is.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let pairs = text.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(name), decode(value))
        });
        Self(pairs.collect())
    }

    /// The first value of a parameter; `None` when it is absent.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// The first value of a parameter; empty when it is absent.
    #[must_use]
    pub fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }

    /// Every value of a parameter.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> + 'a {
        self.0.iter().filter(move |(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// A boolean: present with anything but `0` and `false`; `None` when absent.
    #[must_use]
    pub fn flag(&self, name: &str) -> Option<bool> {
        self.get(name).map(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
    }

    /// A decimal integer; `None` when absent. An empty value is an error.
    pub fn int(&self, name: &str) -> Result<Option<i64>, QueryError> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        let problem = match value.parse() {
            Ok(number) => return Ok(Some(number)),
            Err(_) if is_integer(value) => "value out of range",
            Err(_) => "invalid syntax",
        };
        Err(QueryError { value: value.to_owned(), problem })
    }
}

fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

fn decode(text: &str) -> SmolStr {
    let spaced: Cow<'_, str> =
        if text.contains('+') { text.replace('+', " ").into() } else { text.into() };
    percent_decode_str(&spaced).decode_utf8_lossy().into()
}

impl From<QueryError> for ApiError {
    fn from(error: QueryError) -> Self {
        Self::bad_request(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_decoded_and_the_first_counts() {
        let query = Query::parse("a=1&b=x%20y+z&a=2&c&d=%3D");
        assert_eq!(query.get("a"), Some("1"));
        assert_eq!(query.all("a").collect::<Vec<_>>(), ["1", "2"]);
        assert_eq!(query.get("b"), Some("x y z"));
        assert_eq!(query.get("c"), Some(""));
        assert_eq!(query.get("d"), Some("="));
        assert_eq!(query.get("e"), None);
    }

    #[test]
    fn flags() {
        let check = |text: &str, expect: Option<bool>| {
            assert_eq!(Query::parse(text).flag("watch"), expect, "{text}")
        };
        check("", None);
        for on in ["watch", "watch=", "watch=1", "watch=true", "watch=True", "watch=maybe"] {
            check(on, Some(true));
        }
        for off in ["watch=0", "watch=false", "watch=False"] {
            check(off, Some(false));
        }
    }

    #[test]
    fn integers() {
        let check = |value: &str, expect: Result<i64, &str>| {
            let got =
                Query::parse(&format!("limit={value}")).int("limit").map(|n| n.expect("present"));
            assert_eq!(got.map_err(|e| e.to_string()), expect.map_err(str::to_owned));
        };
        check("5", Ok(5));
        check("-1", Ok(-1));
        check("abc", Err("strconv.ParseInt: parsing \"abc\": invalid syntax"));
        check("1.5", Err("strconv.ParseInt: parsing \"1.5\": invalid syntax"));
        check("", Err("strconv.ParseInt: parsing \"\": invalid syntax"));
        check(
            "9223372036854775808",
            Err("strconv.ParseInt: parsing \"9223372036854775808\": value out of range"),
        );
    }
}
