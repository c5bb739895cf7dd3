//! Hostile bodies, made to be slow: the work for them grows as they do, whatever they are made of.
//!
//! What is counted is time on the processor, of a request and of one sixteen times as long.
//! `HOSTILE_BYTES=3145728 cargo test --release -p quorate-api --test it hostile -- --nocapture`
//! prints what bodies of that size take as well, which is a second at most.

mod cases;
mod creations;
mod everywhere;
mod growth;
mod patches;
