//! Type variables: what they stand for, and which type may stand where another is expected.
//!
//! Invariants: a failed attempt binds nothing; no variable stands for a type that contains it; work is bounded, since types can
//! grow exponentially. Not here: which types are
//! compared (`expression`, `call`).

use std::cell::Cell;
use std::sync::Arc;

use crate::types::Type;

/// Parts of a type at most. Folds can double the size of their elements' type, so that it grows exponentially with the
/// length of the expression.
pub(super) const TYPE_PARTS_MAX: usize = 10_000;
/// Comparisons of parts of types in one check at most.
const STEPS_MAX: u64 = 50_000_000;
/// Comparisons of parts of types in one attempt at most.
const ATTEMPT_STEPS_MAX: u64 = 200_000;

/// What each type variable stands for.
#[derive(Debug, Default)]
pub(super) struct Bindings {
    bound: Vec<Option<Type>>,
    /// What was bound before, of the attempt under way.
    trail: Vec<(u32, Option<Type>)>,
    steps: Cell<u64>,
    attempt_end: Cell<u64>,
    is_exhausted: Cell<bool>,
}

impl Bindings {
    /// A new variable.
    pub(super) fn variable(&mut self) -> Type {
        self.bound.push(None);
        Type::Variable(self.bound.len() as u32 - 1)
    }

    /// Whether the types were too large to be compared.
    pub(super) fn is_exhausted(&self) -> bool {
        self.is_exhausted.get()
    }

    fn begin(&self) {
        self.attempt_end.set((self.steps.get() + ATTEMPT_STEPS_MAX).min(STEPS_MAX));
    }

    /// Counts a step; false when there may be no more.
    fn step(&self) -> bool {
        self.steps.set(self.steps.get() + 1);
        let may = self.steps.get() <= self.attempt_end.get();
        if !may {
            self.is_exhausted.set(true);
        }
        may
    }

    /// Whether `from` may stand where `to` is expected; binds variables when it may.
    pub(super) fn assign(&mut self, to: &Type, from: &Type) -> bool {
        self.assign_all(std::iter::once((to, from)))
    }

    /// The same for pairs, all or none.
    pub(super) fn assign_all<'t>(
        &mut self,
        pairs: impl IntoIterator<Item = (&'t Type, &'t Type)>,
    ) -> bool {
        self.begin();
        let assigned = pairs.into_iter().all(|(to, from)| self.assignable(to, from));
        if assigned {
            self.trail.clear();
        } else {
            while let Some((variable, before)) = self.trail.pop() {
                self.bound[variable as usize] = before;
            }
        }
        assigned
    }

    fn find(&self, searched: &Type) -> Option<&Type> {
        match searched {
            Type::Variable(variable) => self.bound[*variable as usize].as_ref(),
            _ => None,
        }
    }

    fn bind(&mut self, variable: &Type, to: Type) {
        if let Type::Variable(variable) = variable {
            let before = self.bound[*variable as usize].replace(to);
            self.trail.push((*variable, before));
        }
    }

    fn assignable(&mut self, to: &Type, from: &Type) -> bool {
        if !self.step() {
            return false;
        }
        if matches!(from, Type::Variable(_)) {
            match self.substitutes(to, from) {
                (true, _) => return true,
                (false, true) => return false,
                (false, false) => {}
            }
        }
        if matches!(to, Type::Variable(_)) {
            return self.substitutes(from, to).0;
        }
        if to.is_dyn_or_error() || from.is_dyn_or_error() {
            return true;
        }
        match (to, from) {
            (Type::Null, other) | (other, Type::Null) => is_nullable(other),
            (Type::Wrapper(to), from) => **to == *unwrapped(from),
            (to, Type::Wrapper(from)) => *to == **from,
            (Type::AnyType | Type::Type(_), from) => matches!(from, Type::AnyType | Type::Type(_)),
            (Type::List(to), Type::List(from)) | (Type::Optional(to), Type::Optional(from)) => {
                self.assignable(to, from)
            }
            (Type::Map(to_key, to_value), Type::Map(from_key, from_value)) => {
                self.assignable(to_key, from_key) && self.assignable(to_value, from_value)
            }
            (to, from) => to == from,
        }
    }

    /// Whether `variable`, or what it stands for, may stand for `other`, and whether it already stood for something.
    fn substitutes(&mut self, other: &Type, variable: &Type) -> (bool, bool) {
        if other == variable {
            return (true, true);
        }
        let Some(bound) = self.find(variable).cloned() else {
            let free = self.is_free_of(variable, other);
            if free {
                self.bind(variable, other.clone());
            }
            return (free, false);
        };
        if is_exact(other, &bound) {
            return (true, true);
        }
        if !self.assignable(other, &bound) {
            return (false, true);
        }
        let general = most_general(other, &bound).clone();
        if self.is_free_of(variable, &general) {
            self.bind(variable, general);
        }
        (true, true)
    }

    fn is_free_of(&self, variable: &Type, within: &Type) -> bool {
        if variable == within || !self.step() {
            return false;
        }
        match within {
            Type::Variable(_) => {
                self.find(within).is_none_or(|bound| self.is_free_of(variable, bound))
            }
            Type::List(inner) | Type::Optional(inner) | Type::Type(inner) => {
                self.is_free_of(variable, inner)
            }
            Type::Map(key, value) => {
                self.is_free_of(variable, key) && self.is_free_of(variable, value)
            }
            _ => true,
        }
    }

    /// A type with its variables replaced by what they stand for; by `dyn` where they stand for nothing, when asked.
    pub(super) fn substitute(&self, in_type: &Type, free_to_dyn: bool) -> Type {
        self.begin();
        self.substituted(in_type, free_to_dyn)
    }

    fn substituted(&self, in_type: &Type, free_to_dyn: bool) -> Type {
        if !self.step() {
            return Type::Error;
        }
        let inner = |inner: &Arc<Type>| match has_variables(inner) {
            true => Arc::new(self.substituted(inner, free_to_dyn)),
            false => inner.clone(),
        };
        match in_type {
            Type::Variable(_) => match self.find(in_type) {
                Some(bound) => self.substituted(bound, free_to_dyn),
                None if free_to_dyn => Type::Dyn,
                None => in_type.clone(),
            },
            Type::List(element) => Type::List(inner(element)),
            Type::Optional(value) => Type::Optional(inner(value)),
            Type::Type(of) => Type::Type(inner(of)),
            Type::Map(key, value) => Type::Map(inner(key), inner(value)),
            _ => in_type.clone(),
        }
    }
}

fn has_variables(searched: &Type) -> bool {
    match searched {
        Type::Variable(_) => true,
        Type::List(inner) | Type::Optional(inner) | Type::Type(inner) => has_variables(inner),
        Type::Map(key, value) => has_variables(key) || has_variables(value),
        _ => false,
    }
}

fn unwrapped(wrapper: &Type) -> &Type {
    match wrapper {
        Type::Wrapper(inner) => inner,
        other => other,
    }
}

/// Whether null may stand for a value of this type.
fn is_nullable(of: &Type) -> bool {
    matches!(
        of,
        Type::Null
            | Type::Any
            | Type::Duration
            | Type::Timestamp
            | Type::Wrapper(_)
            | Type::Object(_)
            | Type::Opaque(_)
            | Type::Optional(_)
    )
}

/// Whether a type has more than [`TYPE_PARTS_MAX`] parts.
pub(super) fn is_too_large(whole: &Type) -> bool {
    fn count(part: &Type, left: usize) -> Option<usize> {
        let left = left.checked_sub(1)?;
        match part {
            Type::List(inner) | Type::Optional(inner) | Type::Type(inner) => count(inner, left),
            Type::Map(key, value) => count(key, left).and_then(|left| count(value, left)),
            _ => Some(left),
        }
    }
    count(whole, TYPE_PARTS_MAX).is_none()
}

/// Whether two types are the same; a wrapper is the same as what it wraps.
pub(super) fn is_exact(left: &Type, right: &Type) -> bool {
    match (unwrapped(left), unwrapped(right)) {
        (Type::List(left), Type::List(right))
        | (Type::Optional(left), Type::Optional(right))
        | (Type::Type(left), Type::Type(right)) => is_exact(left, right),
        (Type::Map(left_key, left_value), Type::Map(right_key, right_value)) => {
            is_exact(left_key, right_key) && is_exact(left_value, right_value)
        }
        (left, right) => left == right,
    }
}

/// The more general of two types of which one goes with the other.
pub(super) fn most_general<'t>(left: &'t Type, right: &'t Type) -> &'t Type {
    if is_equal_or_less_specific(left, right) { left } else { right }
}

fn is_equal_or_less_specific(left: &Type, right: &Type) -> bool {
    if matches!(left, Type::Dyn | Type::Variable(_)) {
        return true;
    }
    match (left, right) {
        (_, Type::Dyn | Type::Variable(_)) => false,
        (Type::List(left), Type::List(right)) | (Type::Optional(left), Type::Optional(right)) => {
            is_equal_or_less_specific(left, right)
        }
        (Type::Map(left_key, left_value), Type::Map(right_key, right_value)) => {
            is_equal_or_less_specific(left_key, right_key)
                && is_equal_or_less_specific(left_value, right_value)
        }
        (Type::Type(_) | Type::AnyType, Type::Type(_) | Type::AnyType) => true,
        (left, right) => is_exact(left, right),
    }
}
