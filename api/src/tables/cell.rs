//! One cell: a rule of the schema's column, understood once, evaluated for each object.
//!
//! The common forms are a path, `len(PATH)+...`, `age(PATH)`, `rfc3339(PATH)`, `trim(PATH)`,
//! `names(PATH)` and `images(PATH)` of containers, `labels(PATH)`, `selector(PATH)`, and `FORM;
//! TEXT` (the text when nothing or an empty text is there) or `FORM; nil -> TEXT` (when nothing is
//! there). What the schema only says in words is a function in a file of its own, found by kind and
//! column.

use quorate_meta::{LabelSelector, Names, Time, Value};
use quorate_schema::{Column, KindDef};
use quorate_wire::json::Parts;

use super::special::{self, Special};
use super::{human, node};

/// What is shown where a time is missing.
pub(super) const UNKNOWN: &str = "<unknown>";

/// What is shown where nothing is there.
const NONE: &str = "<none>";
/// What is shown of a selector that cannot be understood.
const INVALID: &str = "<invalid>";

/// A column's rule.
#[derive(Debug, Clone)]
pub(super) struct Cell {
    form: CellRule,
    empty: Value,
    /// Whether an empty text counts as nothing.
    blank: bool,
    /// Whether numbers are shown as text.
    text: bool,
}

#[derive(Debug, Clone)]
enum CellRule {
    Path(Path),
    Length(Vec<Path>),
    Age(Path),
    Time(Path),
    Trim(Path),
    Texts(Path, &'static str),
    Labels(Path),
    Selector(Path),
    Roles(String, String),
    Special(Special),
    Nothing,
}

type Path = Vec<String>;

impl Cell {
    /// Understands the rule of a column.
    pub(super) fn new(names: &Names, kind: &KindDef, column: &Column) -> Self {
        let number = matches!(column.cell.as_ref(), "int")
            || (column.cell.is_empty() && column.kind == "integer");
        let otherwise = |text: &'static str| match column.kind.as_ref() {
            _ if number => Value::from(0),
            "boolean" if column.cell.is_empty() => Value::from(false),
            _ => Value::from(text),
        };
        let (rule, empty, blank) = match column.value.split_once("; ") {
            Some((rule, text)) if !text.trim_start_matches("nil -> ").contains(' ') => {
                (rule, constant(text.trim_start_matches("nil -> ")), !text.starts_with("nil -> "))
            }
            _ => (column.value.as_ref(), otherwise(""), false),
        };
        let roles = || {
            let prefix = format!("node-role.{}", names.domain_key(""));
            (kind.kind == "Node" && column.name == "Roles")
                .then(|| CellRule::Roles(prefix, names.domain_key("role")))
        };
        let special = || special::find(&kind.kind, &column.name).map(CellRule::Special);
        let form = special().or_else(|| form(rule)).or_else(roles).unwrap_or(CellRule::Nothing);
        Self { form, empty, blank, text: column.kind == "string" && column.cell.is_empty() }
    }

    /// Adds what the cell reads of an object, but for what functions of a kind do.
    pub(super) fn add_parts(&self, parts: &mut Parts) {
        match &self.form {
            CellRule::Path(path)
            | CellRule::Age(path)
            | CellRule::Time(path)
            | CellRule::Trim(path)
            | CellRule::Labels(path)
            | CellRule::Selector(path) => parts.add(steps(path)),
            CellRule::Length(paths) => paths.iter().for_each(|path| parts.add_keys(steps(path))),
            CellRule::Texts(path, field) => parts.add(steps(path).chain([*field])),
            CellRule::Roles(..) | CellRule::Special(_) | CellRule::Nothing => {}
        }
    }

    /// The cell of an object; `now_ms` is the time that ages are measured from.
    pub(super) fn evaluate(&self, object: &Value, now_ms: u64) -> Value {
        match &self.form {
            CellRule::Path(path) => match at(object, path).filter(|value| !value.is_null()) {
                Some(Value::Int(number)) if self.text => number.to_string().into(),
                Some(Value::String(text)) if self.blank && text.is_empty() => self.empty.clone(),
                Some(value) => value.clone(),
                None => self.empty.clone(),
            },
            CellRule::Length(paths) => {
                Value::from(paths.iter().map(|path| length(at(object, path))).sum::<i64>())
            }
            CellRule::Age(path) => match (age(at(object, path), now_ms), self.empty.is_empty()) {
                (Some(age), _) => age.into(),
                (None, true) => UNKNOWN.into(),
                (None, false) => self.empty.clone(),
            },
            CellRule::Time(path) => {
                at(object, path).cloned().unwrap_or_else(|| Value::from(UNKNOWN))
            }
            CellRule::Trim(path) => {
                Value::from(at(object, path).and_then(Value::as_str).unwrap_or_default().trim())
            }
            CellRule::Texts(path, field) => texts(at(object, path), field),
            CellRule::Labels(path) => labels(at(object, path)),
            CellRule::Selector(path) => selector(at(object, path)),
            CellRule::Roles(prefix, label) => node::roles(object, prefix, label),
            CellRule::Special(evaluate) => evaluate(object, now_ms),
            CellRule::Nothing => self.empty.clone(),
        }
    }
}

/// What a rule says is shown where nothing is there.
fn constant(text: &str) -> Value {
    match text {
        "true" => Value::from(true),
        "false" => Value::from(false),
        text => Value::from(text),
    }
}

/// How long ago a time was; `None` when there is none.
pub(super) fn age(time: Option<&Value>, now_ms: u64) -> Option<String> {
    let time = Time::parse(time?.as_str()?).ok()?;
    Some(human::duration(now_ms.cast_signed() / 1000 - time.ms().cast_signed() / 1000))
}

fn form(rule: &str) -> Option<CellRule> {
    if let Some(path) = path(rule) {
        return Some(CellRule::Path(path));
    }
    let call =
        |name: &str| rule.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')').and_then(path);
    if let Some(path) = call("age") {
        return Some(CellRule::Age(path));
    }
    if let Some(path) = call("rfc3339") {
        return Some(CellRule::Time(path));
    }
    if let Some(path) = call("trim") {
        return Some(CellRule::Trim(path));
    }
    for (name, field) in [("names", "name"), ("images", "image")] {
        if let Some(path) = call(name) {
            return Some(CellRule::Texts(path, field));
        }
    }
    if let Some(path) = call("labels") {
        return Some(CellRule::Labels(path));
    }
    let selected = rule
        .strip_prefix("text form of ")
        .and_then(|rest| path(rest.split_once(';').map_or(rest, |(path, _)| path)));
    if let Some(path) = call("selector").or(selected) {
        return Some(CellRule::Selector(path));
    }
    let sum: Option<Vec<Path>> = rule
        .split('+')
        .map(|term| path(term.trim().strip_prefix("len(")?.strip_suffix(')')?))
        .collect();
    sum.map(CellRule::Length)
}

/// One text of each item of a list, in one.
fn texts(list: Option<&Value>, field: &str) -> Value {
    let items = list.and_then(Value::as_list).unwrap_or_default();
    items
        .iter()
        .map(|item| item.str_at(&[field]).unwrap_or_default())
        .collect::<Vec<_>>()
        .join(",")
        .into()
}

fn labels(map: Option<&Value>) -> Value {
    let pairs = map.and_then(Value::as_map).into_iter().flat_map(|map| map.iter());
    let texts: Vec<String> =
        pairs.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())).collect();
    if texts.is_empty() { NONE.into() } else { texts.join(",").into() }
}

fn selector(value: Option<&Value>) -> Value {
    let Some(value) = value.filter(|value| !value.is_empty()) else {
        return NONE.into();
    };
    LabelSelector::from_object(value)
        .map_or_else(|| INVALID.into(), |selector| selector.to_string().into())
}

fn path(text: &str) -> Option<Path> {
    let plain = |step: &str| !step.is_empty() && step.bytes().all(|b| b.is_ascii_alphanumeric());
    let steps: Vec<&str> = text.strip_prefix('.')?.split('.').collect();
    steps.iter().all(|step| plain(step)).then(|| steps.into_iter().map(str::to_owned).collect())
}

fn steps(path: &[String]) -> impl Iterator<Item = &str> {
    path.iter().map(String::as_str)
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
