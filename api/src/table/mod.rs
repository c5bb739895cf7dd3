//! Tables: objects as rows for a terminal (document 001, "Table representation").
//!
//! What the columns are comes from the schema; this module knows how a cell's rule is evaluated. Tables parse objects; that
//! is their price, and only who asks for one pays it.

mod cell;
mod event;
mod human;
mod layout;

pub(crate) use layout::{Include, Layout};
