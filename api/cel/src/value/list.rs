//! Lists: made by an expression, constants of the program, or read in place from data.

use std::sync::Arc;

use quorate_meta as data;

use super::equal::same_element;
use super::json::{Items, View};
use super::{ListSemantics, Shape, Value};

/// A list.
#[derive(Debug, Clone)]
pub struct List<'a>(ListRepr<'a>);

#[derive(Debug, Clone)]
enum ListRepr<'a> {
    Shared(Arc<Vec<Value<'a>>>),
    Borrowed(&'a [Value<'a>]),
    /// The sum of a declared list and another: it keeps the way in which the first compares.
    Summed(Arc<Vec<Value<'a>>>, &'a Shape),
    Tree(&'a Vec<data::Value>, &'a Shape),
    Json(Arc<View<'a>>),
    /// The integers from 0 on.
    Numbers(usize),
}

/// Goes through the elements of a list.
#[derive(Debug)]
pub struct ListIter<'l, 'a> {
    list: &'l List<'a>,
    next: usize,
    /// What is left of a list in JSON text.
    texts: Option<Items<'a>>,
}

impl<'a> List<'a> {
    /// Elements that the program or another value holds.
    pub fn borrowed(items: &'a [Value<'a>]) -> Self {
        Self(ListRepr::Borrowed(items))
    }

    /// Data, read as `shape` says.
    pub(super) fn tree(items: &'a Vec<data::Value>, shape: &'a Shape) -> Self {
        Self(ListRepr::Tree(items, shape))
    }

    /// JSON text, read as its view says.
    pub(super) fn json(view: View<'a>) -> Self {
        Self(ListRepr::Json(Arc::new(view)))
    }

    /// The integers from 0 up to, not including, `end`.
    pub fn numbers(end: i64) -> Self {
        Self(ListRepr::Numbers(usize::try_from(end).unwrap_or(0)))
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        match &self.0 {
            ListRepr::Shared(items) | ListRepr::Summed(items, _) => items.len(),
            ListRepr::Borrowed(items) => items.len(),
            ListRepr::Tree(items, _) => items.len(),
            ListRepr::Json(view) => view.len(),
            ListRepr::Numbers(end) => *end,
        }
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element at `index`.
    pub fn get(&self, index: usize) -> Option<Value<'a>> {
        match &self.0 {
            ListRepr::Shared(items) | ListRepr::Summed(items, _) => items.get(index).cloned(),
            ListRepr::Borrowed(items) => items.get(index).map(Value::lent),
            ListRepr::Tree(items, shape) => items.get(index).map(|item| shape.element().read(item)),
            ListRepr::Json(view) => view.element(index),
            ListRepr::Numbers(end) => {
                (index < *end).then(|| i64::try_from(index).map_or(Value::Null, Value::Int))
            }
        }
    }

    /// The elements in order.
    pub fn iter(&self) -> ListIter<'_, 'a> {
        let texts = match &self.0 {
            ListRepr::Json(view) => Some(view.items()),
            _ => None,
        };
        ListIter { list: self, next: 0, texts }
    }

    /// How lists declared like this one compare and are concatenated.
    pub fn semantics(&self) -> &ListSemantics {
        self.shape().map_or(&ListSemantics::Atomic, Shape::list_semantics)
    }

    /// Whether a schema declares this list.
    pub(super) fn is_declared(&self) -> bool {
        self.shape().is_some()
    }

    /// How a schema declares this list.
    fn shape(&self) -> Option<&'a Shape> {
        match &self.0 {
            ListRepr::Tree(_, shape @ Shape::List(_)) | ListRepr::Summed(_, shape) => Some(shape),
            ListRepr::Json(view) => {
                Some(view.shape()).filter(|shape| matches!(shape, Shape::List(_)))
            }
            _ => None,
        }
    }

    /// The elements of this list and then those of `other`; for declared `set` and `map` lists the union and the merge. A list
    /// that nothing else holds grows in place.
    pub fn concatenated(self, other: &Self) -> Self {
        let shape = self.shape();
        if other.is_empty() && shape.is_none() {
            return self;
        }
        let semantics = shape.map_or(&ListSemantics::Atomic, Shape::list_semantics);
        let mut items = match self.0 {
            ListRepr::Shared(items) | ListRepr::Summed(items, _) => items,
            _ => Arc::new(self.iter().collect()),
        };
        let sum = Arc::make_mut(&mut items);
        for item in other.iter() {
            let place = match semantics {
                ListSemantics::Atomic => None,
                ListSemantics::Set => {
                    sum.iter().position(|known| known.equals(&item).unwrap_or(false))
                }
                ListSemantics::Map(keys) => {
                    sum.iter().position(|known| same_element(known, &item, keys))
                }
            };
            match place {
                Some(at) => sum[at] = item,
                None => sum.push(item),
            }
        }
        Self(shape.map_or_else(
            || ListRepr::Shared(Arc::clone(&items)),
            |shape| ListRepr::Summed(Arc::clone(&items), shape),
        ))
    }

    /// Whether this list grows without being copied: nothing else holds it.
    pub(crate) fn grows_in_place(&self) -> bool {
        match &self.0 {
            ListRepr::Shared(items) | ListRepr::Summed(items, _) => Arc::strong_count(items) == 1,
            _ => false,
        }
    }

    /// Adds an element at the end; a list that nothing else holds grows in place.
    pub fn push(&mut self, item: Value<'a>) {
        if let ListRepr::Shared(items) = &mut self.0 {
            Arc::make_mut(items).push(item);
            return;
        }
        let mut items: Vec<Value<'a>> = self.iter().collect();
        items.push(item);
        self.0 = ListRepr::Shared(Arc::new(items));
    }

    /// This list, read from where it is kept for the time `'a`.
    pub(super) fn lent(&'a self) -> Self {
        match &self.0 {
            ListRepr::Shared(items) => Self(ListRepr::Borrowed(items)),
            repr => Self(repr.clone()),
        }
    }
}

impl<'a> From<Vec<Value<'a>>> for List<'a> {
    fn from(items: Vec<Value<'a>>) -> Self {
        Self(ListRepr::Shared(Arc::new(items)))
    }
}

impl<'a> Iterator for ListIter<'_, 'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        if let (Some(texts), ListRepr::Json(view)) = (&mut self.texts, &self.list.0) {
            return texts.next().map(|text| view.shape().element().read_json(text));
        }
        let item = self.list.get(self.next)?;
        self.next += 1;
        Some(item)
    }
}
