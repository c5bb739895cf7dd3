//! The functions of the language itself: operators, conversions, sizes, membership, tests of text.

mod arithmetic;
mod conversion;
mod double;
mod logic;
mod membership;
mod relation;
mod show;
mod text;

use crate::overload::Overload;

pub(crate) use arithmetic::{add, divide, modulo, multiply, subtract};
pub(crate) use double::format_double;
pub(crate) use membership::{contains, size};
pub(crate) use show::show;

/// Every overload of the language itself.
pub(super) fn overloads() -> Vec<Overload> {
    [
        logic::overloads(),
        arithmetic::overloads(),
        relation::overloads(),
        membership::overloads(),
        conversion::overloads(),
        text::overloads(),
    ]
    .concat()
}
