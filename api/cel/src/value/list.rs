//! Lists: made by an expression, constants of the program, or read in place from data.

use std::sync::Arc;

use quorate_meta as data;

use super::{ListSemantics, Shape, Value};

/// A list.
#[derive(Debug, Clone)]
pub struct List<'a>(Repr<'a>);

#[derive(Debug, Clone)]
enum Repr<'a> {
    Shared(Arc<Vec<Value<'a>>>),
    Borrowed(&'a [Value<'a>]),
    Tree { items: &'a [data::Value], shape: &'a Shape },
}

/// Goes through the elements of a list.
#[derive(Debug)]
pub struct ListIter<'l, 'a> {
    list: &'l List<'a>,
    next: usize,
}

impl<'a> List<'a> {
    /// Elements that the program or another value holds.
    pub fn borrowed(items: &'a [Value<'a>]) -> Self {
        Self(Repr::Borrowed(items))
    }

    /// Data, read as `shape` says.
    pub(super) fn tree(items: &'a [data::Value], shape: &'a Shape) -> Self {
        Self(Repr::Tree { items, shape })
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        match &self.0 {
            Repr::Shared(items) => items.len(),
            Repr::Borrowed(items) => items.len(),
            Repr::Tree { items, .. } => items.len(),
        }
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element at `index`.
    pub fn get(&self, index: usize) -> Option<Value<'a>> {
        match &self.0 {
            Repr::Shared(items) => items.get(index).cloned(),
            Repr::Borrowed(items) => items.get(index).cloned(),
            Repr::Tree { items, shape } => items.get(index).map(|item| shape.element().read(item)),
        }
    }

    /// The elements in order.
    pub fn iter(&self) -> ListIter<'_, 'a> {
        ListIter { list: self, next: 0 }
    }

    /// How lists declared like this one compare and are concatenated.
    pub fn semantics(&self) -> &ListSemantics {
        match &self.0 {
            Repr::Tree { shape, .. } => shape.list_semantics(),
            _ => &ListSemantics::Atomic,
        }
    }
}

impl<'a> From<Vec<Value<'a>>> for List<'a> {
    fn from(items: Vec<Value<'a>>) -> Self {
        Self(Repr::Shared(Arc::new(items)))
    }
}

impl<'a> Iterator for ListIter<'_, 'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        let item = self.list.get(self.next)?;
        self.next += 1;
        Some(item)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.list.len() - self.next;
        (left, Some(left))
    }
}

impl ExactSizeIterator for ListIter<'_, '_> {}
