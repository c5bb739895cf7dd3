//! The functions of URLs.

use std::any::Any;

use super::Url;
use crate::eval::EvalError;
use crate::library::arguments::{opaque, text};
use crate::library::cost::{estimated_tenth_sized, tenth};
use crate::library::kinds::{list, map};
use crate::library::names::{self, URL};
use crate::overload::{Call, Cost, Estimate, Overload};
use crate::types::Type;
use crate::value::{Opaque, Table, Value};

/// Every overload.
pub(crate) fn overloads() -> Vec<Overload> {
    let part = |function, id, call: Call| {
        Overload::member(function, id, [names::object(URL)], Type::String, call)
    };
    let query = map(Type::String, list(Type::String));
    vec![
        Overload::global("url", "string_to_url", [Type::String], names::object(URL), to_url)
            .costs(Cost::Always(tenth), Estimate::Of(estimated_tenth_sized)),
        part("getScheme", "url_get_scheme", |a| part_of(a, |url| url.scheme().to_owned())),
        part("getHost", "url_get_host", |a| part_of(a, Url::host)),
        part("getHostname", "url_get_hostname", |a| part_of(a, Url::hostname)),
        part("getPort", "url_get_port", |a| part_of(a, Url::port)),
        part("getEscapedPath", "url_get_escaped_path", |a| part_of(a, Url::escaped_path)),
        Overload::member("getQuery", "url_get_query", [names::object(URL)], query, query_of),
        Overload::global("isURL", "is_url_string", [Type::String], Type::Bool, is_url),
    ]
}

fn to_url<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    let failed =
        |reason| EvalError::new(format!("URL parse error during conversion from string: {reason}"));
    Url::parse(text(arguments, 0)?).map(Value::opaque).map_err(failed)
}

fn is_url<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    Ok(Value::Bool(Url::check(text(arguments, 0)?).is_ok()))
}

fn part_of<'a>(arguments: &[Value<'a>], part: fn(&Url) -> String) -> Result<Value<'a>, EvalError> {
    opaque::<Url>(arguments, 0).map(|url| Value::string(part(url)))
}

/// The values of each parameter, in order.
fn query_of<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    let mut parameters: Vec<(String, Vec<Value<'a>>)> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for (name, value) in opaque::<Url>(arguments, 0)?.query() {
        let at = *places.entry(name.clone()).or_insert_with(|| {
            parameters.push((name, Vec::new()));
            parameters.len() - 1
        });
        parameters[at].1.push(Value::string(value));
    }
    let mut table = Table::default();
    for (name, values) in parameters {
        table.insert(Value::string(name), Value::list(values));
    }
    Ok(Value::map(table))
}

impl Opaque for Url {
    fn type_name(&self) -> &str {
        URL
    }

    fn equals(&self, other: &Value<'_>) -> Result<bool, EvalError> {
        other.as_opaque::<Self>().map(|other| self == other).ok_or(EvalError::no_such_overload())
    }

    fn text(&self) -> String {
        self.to_string()
    }

    fn host_type(&self) -> Option<&'static str> {
        Some("*url.URL")
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
