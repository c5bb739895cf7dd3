//! What the expressions of policies may cost, and how long their results may be.

use quorate_cel::program;

/// Cost of all validations and variables of one policy with one binding and one parameter object;
/// messages get what is left of it, audit annotations have as much again.
pub const VALIDATIONS_COST_MAX: u64 = program::OBJECT_COST_MAX;
/// Cost of all match conditions of one policy or webhook.
pub const CONDITIONS_COST_MAX: u64 = program::MATCH_CONDITIONS_COST_MAX;
/// Bytes of a message that an expression makes; a longer one counts as none.
pub const MESSAGE_BYTES_MAX: usize = 5 * 1024;
/// Bytes of the value of an audit annotation; what is beyond is cut off.
pub const ANNOTATION_BYTES_MAX: usize = 10 * 1024;
