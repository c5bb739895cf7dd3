//! A field of a definition with its path, so that a check and its field errors name the same field.
//!
//! An absent field is a `null` value, because most checks treat it like an empty one.

use quorate_meta::{Cause, Path, Value};

static ABSENT: Value = Value::Null;

/// A field of a definition, present or not.
#[derive(Clone, Debug)]
pub(super) struct Field<'v> {
    value: &'v Value,
    path: Path,
}

impl<'v> Field<'v> {
    /// The definition itself.
    pub(super) fn root(definition: &'v Value) -> Self {
        Self { value: definition, path: Path::default() }
    }

    /// The field below this one.
    pub(super) fn get(&self, name: &str) -> Self {
        self.named(name, name)
    }

    /// The field below this one that field errors call `shown`.
    pub(super) fn named(&self, name: &str, shown: &str) -> Self {
        let value = self.value.get(name).unwrap_or(&ABSENT);
        Self { value, path: self.path.child(shown) }
    }

    /// The same value as field errors of another place name it.
    pub(super) fn moved(&self, path: Path) -> Self {
        Self { value: self.value, path }
    }

    /// The items of a list; none for another type.
    pub(super) fn items(&self) -> impl ExactSizeIterator<Item = Self> + use<'v, '_> {
        let items = self.value.as_list().unwrap_or_default();
        items.iter().enumerate().map(|(index, value)| Self { value, path: self.path.index(index) })
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

    /// Checks a required value of an enumeration.
    pub(super) fn one_of(&self, supported: &[&str], causes: &mut Vec<Cause>) {
        if self.text().is_empty() {
            causes.push(self.required(""));
        } else if !supported.contains(&self.text()) {
            causes.push(Cause::not_supported(&self.path, self.text(), supported));
        }
    }
}
