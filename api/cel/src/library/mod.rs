//! The function libraries, a file each.

pub(crate) mod number;
pub(crate) mod quote;
pub mod time;
