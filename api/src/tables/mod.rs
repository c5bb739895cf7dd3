//! Tables: objects as rows for a terminal (document 001, "Table representation").
//!
//! What the columns are comes from the schema; this module knows how a cell's rule is evaluated. Tables parse objects; that
//! is their price, and only who asks for one pays it.

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
mod pod;
mod quota;
mod row;
mod special;
mod storage;

pub(crate) use layout::{Include, Layout};
