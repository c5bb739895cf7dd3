//! Errors of the stages of an expression, with their exact texts.
