//! Environments: which variables, types and functions an expression may use.
