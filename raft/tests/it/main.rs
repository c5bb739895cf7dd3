//! Integration tests of the replicated store, in one binary.

mod state_machine;
