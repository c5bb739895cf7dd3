//! Evaluation of planned nodes against an activation, within a budget.
