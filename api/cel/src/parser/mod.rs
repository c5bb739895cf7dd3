//! The parser: text to syntax tree, macros expanded.
