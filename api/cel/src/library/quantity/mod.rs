//! Quantities: `quantity`, `isQuantity`, `sign` and the members of quantities.

mod amount;
mod decimal;
mod text;
mod value;

#[cfg(test)]
mod tests;

pub use value::Quantity;
