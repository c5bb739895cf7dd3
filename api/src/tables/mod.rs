//! Tables: objects as rows for a terminal (`Table` of the meta group).
//!
//! What the columns are comes from the schema, or from the definition of a custom resource; this
//! module knows how a cell's rule is evaluated. Tables parse what their cells show of an object, which
//! costs time; only a request for a table does.

mod autoscaling;
mod batch;
mod binding;
mod cell;
mod certificate;
mod component;
mod event;
mod human;
mod join;
mod layout;
mod network;
mod node;
mod parts;
mod pod;
mod printer;
mod quota;
mod row;
mod special;
mod storage;

pub(crate) use layout::{Include, Layout};
