//! Tests of the crate against the corpus of expressions with a release-1.35 server's answers.

mod allocations;
mod corpus;
mod evaluation;
mod hostile;
mod record;
mod suite;
