//! Compiled programs, shared between evaluations.
