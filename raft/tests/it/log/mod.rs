//! The log against a disk that fails: openraft's own suite, crashes at every call, damage, and limits.

mod crash;
mod damage;
mod failing;
mod real;
mod suite;
mod support;
