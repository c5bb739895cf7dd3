//! A value together with its path: what checks of objects walk over, so that causes name the right field.
//!
//! Absent fields are values too (`null`), because most checks treat them like empty ones.

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

    /// A value that stands at a path of its own.
    pub(super) fn new(value: &'v Value, path: Path) -> Self {
        Self { value, path }
    }

    /// The field below this one, at a dotted path.
    pub(super) fn get(&self, names: &str) -> Self {
        let value = names.split('.').try_fold(self.value, |value, name| value.get(name));
        Self { value: value.unwrap_or(&ABSENT), path: self.path.child(names) }
    }

    /// The items of a list; none when it is something else.
    pub(super) fn items(&self) -> impl ExactSizeIterator<Item = Self> + use<'v, '_> {
        let items = self.value.as_list().unwrap_or_default();
        items.iter().enumerate().map(|(index, value)| Self { value, path: self.path.index(index) })
    }

    /// The entries of a map with free keys; none when it is something else.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&'v str, Self)> + use<'v, '_> {
        let entries = self.value.as_map().into_iter().flat_map(|map| map.iter());
        entries.map(|(key, value)| (key, Self { value, path: self.path.key(key) }))
    }

    /// The value; `null` when it is absent.
    pub(super) fn value(&self) -> &'v Value {
        self.value
    }

    /// The path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The text; empty when there is none.
    pub(super) fn text(&self) -> &'v str {
        self.value.as_str().unwrap_or_default()
    }

    /// The integer, when there is one.
    pub(super) fn int(&self) -> Option<i64> {
        self.value.as_i64()
    }

    /// Whether it is `true`.
    pub(super) fn is_true(&self) -> bool {
        self.value.as_bool() == Some(true)
    }

    /// Whether it is there.
    pub(super) fn is_set(&self) -> bool {
        !self.value.is_null()
    }

    /// Whether it is absent or has nothing in it.
    pub(super) fn is_empty(&self) -> bool {
        self.value.is_empty()
    }

    /// A cause that says it must be given.
    pub(super) fn required(&self, why: &str) -> Cause {
        Cause::required(&self.path, why)
    }

    /// A cause that says its value is wrong.
    pub(super) fn invalid(&self, why: &str) -> Cause {
        Cause::invalid(&self.path, self.value.clone(), why)
    }

    /// A cause that says it must not be given.
    pub(super) fn forbidden(&self, why: &str) -> Cause {
        Cause::forbidden(&self.path, why)
    }

    /// A cause that says its value is none of these.
    pub(super) fn not_supported(&self, supported: &[&str]) -> Cause {
        Cause::not_supported(&self.path, self.text(), supported)
    }

    /// A cause that says its value has been given before.
    pub(super) fn duplicate(&self) -> Cause {
        Cause::duplicate(&self.path, self.value.clone())
    }

    /// Causes for each of these problems with its text.
    pub(super) fn invalid_for(&self, problems: &[String]) -> Vec<Cause> {
        problems.iter().map(|why| self.invalid(why)).collect()
    }
}
