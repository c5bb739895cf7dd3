//! The printer columns of custom resources: a JSONPath and a type each.
//!
//! Invariants: a column shows the first result of its path; where there is none, or none of its
//! type, the cell is null. A path that does not parse ends the columns: it and those after it are
//! left out, as in release 1.35.

use quorate_meta::{JsonPath, Map, Time, Value};
use quorate_registry::PrinterColumn;
use quorate_wire::json;

use super::cell::UNKNOWN;
use super::human;

/// Values of an object that the cells of its row look at, at most: paths with several descents
/// would see each value many times.
const MAX_VISITS: usize = 200_000;
/// Bytes of text that the cells of a row have, at most; cells beyond are null. Many columns may each
/// show the whole object.
const MAX_TEXT_BYTES: usize = 8 << 20;
/// What is shown where a text column leads to null.
const NO_VALUE: &str = "<no value>";
/// What is shown of a text that is no time.
const INVALID: &str = "<invalid>";

/// The columns after the name.
#[derive(Debug)]
pub(super) struct PrinterColumns {
    cells: Vec<PrinterCell>,
    /// Their definitions.
    pub(super) definitions: Vec<Value>,
}

#[derive(Debug)]
struct PrinterCell {
    path: JsonPath,
    ty: CellType,
}

/// The declared type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CellType {
    Integer,
    Number,
    Text,
    Boolean,
    Date,
}

impl PrinterColumns {
    /// Reads columns.
    pub(super) fn new(columns: &[PrinterColumn]) -> Self {
        let mut read = Self { cells: Vec::new(), definitions: Vec::new() };
        for column in columns {
            let Ok(path) = JsonPath::parse(&column.json_path) else {
                break;
            };
            read.cells.push(PrinterCell { path, ty: CellType::named(&column.ty) });
            read.definitions.push(definition(column));
        }
        read
    }

    /// The cells of an object; `now_ms` is the time that ages are measured from.
    pub(super) fn cells(&self, object: &Value, now_ms: u64) -> impl Iterator<Item = Value> {
        let (mut visits, mut bytes) = (MAX_VISITS, MAX_TEXT_BYTES);
        self.cells.iter().map(move |cell| {
            let value = cell.path.first(object, &mut visits).filter(|_| bytes > 0);
            let cell = value.map_or(Value::Null, |value| cell.ty.show(value, now_ms));
            bytes = bytes.saturating_sub(cell.as_str().map_or(0, str::len));
            cell
        })
    }
}

impl CellType {
    fn named(name: &str) -> Self {
        match name {
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            "date" => Self::Date,
            _ => Self::Text,
        }
    }

    fn show(self, value: &Value, now_ms: u64) -> Value {
        match (self, value) {
            (Self::Text, value) => text(value).into(),
            (Self::Integer, Value::Int(_)) | (Self::Boolean, Value::Bool(_)) => value.clone(),
            (Self::Integer, Value::Float(_) | Value::UInt(_)) => whole(value),
            (Self::Number, Value::Int(_) | Value::Float(_) | Value::UInt(_)) => {
                value.as_f64().map_or(Value::Null, Value::Float)
            }
            (Self::Date, Value::String(text)) => age(text, now_ms).into(),
            _ => Value::Null,
        }
    }
}

/// A number without its fraction.
#[expect(clippy::cast_possible_truncation, reason = "a float becomes the closest whole number")]
fn whole(value: &Value) -> Value {
    value.as_f64().map_or(Value::Null, |number| Value::Int(number as i64))
}

fn age(text: &str, now_ms: u64) -> String {
    if matches!(text, "" | "null") {
        return UNKNOWN.to_owned();
    }
    match Time::parse(text) {
        Ok(time) => human::duration(now_ms.cast_signed() / 1000 - time.unix().0),
        Err(_) => INVALID.to_owned(),
    }
}

/// A value as text: JSON for what has values in it.
fn text(value: &Value) -> String {
    match value {
        Value::Null => NO_VALUE.to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Int(number) => number.to_string(),
        Value::String(text) => text.to_string(),
        Value::UInt(_) | Value::Float(_) => number(value.as_f64().unwrap_or_default()),
        Value::List(_) | Value::Map(_) => escaped(&json::to_vec(value)),
    }
}

/// A number in the shortest form, with an exponent of two digits where it is very large or small.
fn number(number: f64) -> String {
    let size = number.abs();
    if size == 0.0 || (1e-4..1e21).contains(&size) {
        return number.to_string();
    }
    let text = format!("{number:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) =
        exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
    format!("{digits}e{sign}{exponent:0>2}")
}

/// JSON as it can stand in HTML.
fn escaped(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out
}

fn definition(column: &PrinterColumn) -> Value {
    let path = &column.json_path;
    let description = if column.description.is_empty() {
        format!("Custom resource definition column (in JSONPath format): {path}")
    } else {
        column.description.clone()
    };
    Value::Map(Map::from([
        ("name", Value::from(column.name.as_str())),
        ("type", Value::from(column.ty.as_str())),
        ("format", Value::from(column.format.as_str())),
        ("description", Value::from(description)),
        ("priority", Value::from(column.priority)),
    ]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn column(ty: &str, path: &str) -> PrinterColumn {
        PrinterColumn {
            name: "C".to_owned(),
            ty: ty.to_owned(),
            format: String::new(),
            description: String::new(),
            priority: 1,
            json_path: path.to_owned(),
        }
    }

    #[test]
    fn cells_have_the_type_of_their_column() {
        let check = |ty: &str, value: serde_json::Value, expect: serde_json::Value| {
            let object = json!({"v": value}).into();
            let columns = PrinterColumns::new(&[column(ty, ".v")]);
            let cells: Vec<Value> = columns.cells(&object, 3_600_000).collect();
            assert_eq!(cells, [Value::from(expect)], "{ty} {value}");
        };
        check("string", json!("x"), json!("x"));
        check("string", json!(5), json!("5"));
        check("string", json!(2.0), json!("2"));
        check("string", json!(0.1), json!("0.1"));
        check("string", json!(0.000_01), json!("1e-05"));
        check("string", json!(1e21), json!("1e+21"));
        check("string", json!(true), json!("true"));
        check("string", json!(null), json!("<no value>"));
        check("string", json!(["p", "<q>"]), json!(r#"["p","\u003cq\u003e"]"#));
        check("string", json!({"b": 1, "a": {}}), json!(r#"{"a":{},"b":1}"#));
        check("integer", json!(3), json!(3));
        check("integer", json!(3.7), json!(3));
        check("integer", json!("3"), json!(null));
        check("integer", json!(null), json!(null));
        check("number", json!(1.5), json!(1.5));
        check("number", json!(2), json!(2.0));
        check("number", json!("2"), json!(null));
        check("boolean", json!(false), json!(false));
        check("boolean", json!("true"), json!(null));
        check("date", json!("1970-01-01T00:00:00Z"), json!("60m"));
        check("date", json!("1970-01-01T00:00:00.5+01:00"), json!("120m"));
        check("date", json!(""), json!("<unknown>"));
        check("date", json!("today"), json!("<invalid>"));
        check("date", json!(7), json!(null));
    }

    #[test]
    fn a_row_has_an_end() {
        let columns = vec![column("string", ".v"); 40];
        let object = json!({"v": "x".repeat(1 << 20)}).into();
        let cells: Vec<Value> = PrinterColumns::new(&columns).cells(&object, 0).collect();
        assert_eq!((cells.len(), cells.iter().filter(|cell| !cell.is_null()).count()), (40, 8));
    }

    #[test]
    fn a_path_that_does_not_parse_ends_the_columns() {
        let columns = [column("string", ".a"), column("string", ".b["), column("string", ".c")];
        let read = PrinterColumns::new(&columns);
        let cells: Vec<Value> = read.cells(&json!({"a": "x"}).into(), 0).collect();
        assert_eq!((cells, read.definitions.len()), (vec!["x".into()], 1));
        let expect = json!({"name": "C", "type": "string", "format": "", "priority": 1,
            "description": "Custom resource definition column (in JSONPath format): .a"});
        assert_eq!(read.definitions[0], expect.into());
    }
}
