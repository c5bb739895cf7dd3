//! One cell: a rule of the schema's column, understood once, evaluated for each object.
//!
//! The common forms are a path, `len(PATH)+...`, `age(PATH)`, `rfc3339(PATH)`, `trim(PATH)` and `PATH; TEXT` (the text when
//! nothing is there). What the schema only says in words is a function in a file of its own, found by kind and column.

use quorate_meta::{Time, Value};
use quorate_schema::{Column, KindDef};

use super::event;
use super::human;

/// What is shown where a time is missing.
const UNKNOWN: &str = "<unknown>";

/// A cell that no simple form describes: the object and the time now (milliseconds) to its text.
pub(super) type Special = fn(&Value, u64) -> Value;

/// A column's rule.
#[derive(Debug, Clone)]
pub(super) struct Cell {
    form: Form,
    empty: Value,
}

#[derive(Debug, Clone)]
enum Form {
    Path(Path),
    Length(Vec<Path>),
    Age(Path),
    Time(Path),
    Trim(Path),
    Special(Special),
    Nothing,
}

type Path = Vec<String>;

impl Cell {
    /// Understands the rule of a column.
    pub(super) fn new(kind: &KindDef, column: &Column) -> Self {
        let number = matches!(column.cell.as_ref(), "int") || (column.cell.is_empty() && column.kind == "integer");
        let (rule, otherwise) = match column.value.split_once("; ") {
            Some((rule, text)) if text.starts_with('<') && !text.contains(' ') => (rule, Value::from(text)),
            _ => (column.value.as_ref(), if number { Value::from(0) } else { Value::from("") }),
        };
        let form =
            form(rule).or_else(|| event::special(&kind.kind, &column.name).map(Form::Special)).unwrap_or(Form::Nothing);
        Self { form, empty: otherwise }
    }

    /// The cell of an object; `now_ms` is the time that ages are measured from.
    pub(super) fn evaluate(&self, object: &Value, now_ms: u64) -> Value {
        match &self.form {
            Form::Path(path) => {
                at(object, path).filter(|v| !v.is_null()).cloned().unwrap_or_else(|| self.empty.clone())
            }
            Form::Length(paths) => Value::from(paths.iter().map(|path| length(at(object, path))).sum::<i64>()),
            Form::Age(path) => Value::from(age(at(object, path), now_ms).unwrap_or_else(|| UNKNOWN.into())),
            Form::Time(path) => at(object, path).cloned().unwrap_or_else(|| Value::from(UNKNOWN)),
            Form::Trim(path) => Value::from(at(object, path).and_then(Value::as_str).unwrap_or_default().trim()),
            Form::Special(evaluate) => evaluate(object, now_ms),
            Form::Nothing => self.empty.clone(),
        }
    }
}

/// How long ago a time was; `None` when there is none.
pub(super) fn age(time: Option<&Value>, now_ms: u64) -> Option<String> {
    let time = Time::parse(time?.as_str()?).ok()?;
    Some(human::duration(now_ms.cast_signed() / 1000 - time.ms().cast_signed() / 1000))
}

fn form(rule: &str) -> Option<Form> {
    if let Some(path) = path(rule) {
        return Some(Form::Path(path));
    }
    let call = |name: &str| rule.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')').and_then(path);
    if let Some(path) = call("age") {
        return Some(Form::Age(path));
    }
    if let Some(path) = call("rfc3339") {
        return Some(Form::Time(path));
    }
    if let Some(path) = call("trim") {
        return Some(Form::Trim(path));
    }
    let sum: Option<Vec<Path>> =
        rule.split('+').map(|term| path(term.trim().strip_prefix("len(")?.strip_suffix(')')?)).collect();
    sum.map(Form::Length)
}

fn path(text: &str) -> Option<Path> {
    let plain = |step: &str| !step.is_empty() && step.bytes().all(|b| b.is_ascii_alphanumeric());
    let steps: Vec<&str> = text.strip_prefix('.')?.split('.').collect();
    steps.iter().all(|step| plain(step)).then(|| steps.into_iter().map(str::to_owned).collect())
}

fn at<'a>(object: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(object, |value, step| value.get(step))
}

fn length(value: Option<&Value>) -> i64 {
    let length = match value {
        Some(Value::List(list)) => list.len(),
        Some(Value::Map(map)) => map.len(),
        _ => 0,
    };
    i64::try_from(length).unwrap_or(i64::MAX)
}
