//! The planner: a checked tree to executable nodes.
