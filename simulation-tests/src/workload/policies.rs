//! The workload of clients that use the API while admission policies come, change and go.
//!
//! Not here: what an actor asks, which is beside what it asks otherwise.

pub(crate) use crate::workload::api::policies::{choose, color_of};
