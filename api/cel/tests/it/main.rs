//! Tests of the crate against the corpus of expressions with a release-1.35 server's answers.

mod corpus;
mod hostile;
mod evaluation;
mod record;
mod suite;
