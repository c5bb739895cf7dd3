//! A field of an object with its path, so that a check and its field errors name the same field.
//!
//! An absent field is a `null` value, because most checks treat it like an empty one.

use quorate_meta::{Cause, Path, Value};

static ABSENT: Value = Value::Null;

/// A field of an object, present or not.
#[derive(Clone, Debug)]
pub(super) struct Field<'v> {
    value: &'v Value,
    path: Path,
}

impl<'v> Field<'v> {
    /// The object itself.
    pub(super) fn root(object: &'v Value) -> Self {
        Self { value: object, path: Path::default() }
    }

    /// A value that stands at this path of an object.
    pub(super) fn new(value: &'v Value, path: Path) -> Self {
        Self { value, path }
    }

    /// The field below this one, at a dotted path.
    pub(super) fn get(&self, names: &str) -> Self {
        let value = names.split('.').try_fold(self.value, |value, name| value.get(name));
        Self { value: value.unwrap_or(&ABSENT), path: self.path.child(names) }
    }

    /// The items of a list; none for another type.
    pub(super) fn items(&self) -> impl ExactSizeIterator<Item = Self> + use<'v, '_> {
        let items = self.value.as_list().unwrap_or_default();
        items.iter().enumerate().map(|(index, value)| Self { value, path: self.path.index(index) })
    }

    /// The entries of a map; none for another type.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&'v str, Self)> + use<'v, '_> {
        let entries = self.value.as_map().into_iter().flat_map(|map| map.iter());
        entries.map(|(key, value)| (key, Self { value, path: self.path.key(key) }))
    }

    /// The value; `null` for an absent field.
    pub(super) fn value(&self) -> &'v Value {
        self.value
    }

    /// The path of the field.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The string; empty for another type.
    pub(super) fn text(&self) -> &'v str {
        self.value.as_str().unwrap_or_default()
    }

    /// The integer; `None` for another type.
    pub(super) fn int(&self) -> Option<i64> {
        self.value.as_i64()
    }

    /// Whether the value is `true`.
    pub(super) fn is_true(&self) -> bool {
        self.value.as_bool() == Some(true)
    }

    /// Whether the field is present.
    pub(super) fn is_set(&self) -> bool {
        !self.value.is_null()
    }

    /// Whether the field is absent or its value is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.value.is_empty()
    }

    /// The field error of a required field that is absent.
    pub(super) fn required(&self, why: &str) -> Cause {
        Cause::required(&self.path, why)
    }

    /// The field error of an invalid value.
    pub(super) fn invalid(&self, why: &str) -> Cause {
        Cause::invalid(&self.path, self.value.clone(), why)
    }

    /// The field error of a field that must not be set.
    pub(super) fn forbidden(&self, why: &str) -> Cause {
        Cause::forbidden(&self.path, why)
    }

    /// The field error of a value outside an enumeration.
    pub(super) fn not_supported(&self, supported: &[&str]) -> Cause {
        Cause::not_supported(&self.path, self.text(), supported)
    }

    /// The field error of a value that occurs twice.
    pub(super) fn duplicate(&self) -> Cause {
        Cause::duplicate(&self.path, self.value.clone())
    }

    /// One field error for each of these messages.
    pub(super) fn invalid_for(&self, problems: &[String]) -> Vec<Cause> {
        problems.iter().map(|why| self.invalid(why)).collect()
    }
}
