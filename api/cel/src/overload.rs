//! Overloads: declaration, implementation, run-time cost and static estimate of one function signature.
