//! The store's contract, run against the memory store: the conformance suite, a model, and the
//! serving form under load.

mod conformance;
mod model;
mod narrowed;
mod published;
mod serving;
