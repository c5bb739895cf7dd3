//! Quantities: `quantity`, `isQuantity`, `sign` and the members of quantities.

mod amount;
mod decimal;
mod overloads;
mod text;
mod value;

#[cfg(test)]
mod tests;

pub(super) use overloads::overloads;
pub(crate) use overloads::value;
pub use value::Quantity;
