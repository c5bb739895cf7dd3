//! The type checker: gradual typing over the environment's declarations.
