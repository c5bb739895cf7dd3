//! What an actor does with definitions and custom objects: `choice` is what it asks next, `body` what
//! definitions and custom objects are made of, and `janitor` ends a round: it looks at what every node
//! serves, and deletes all definitions.

mod body;
mod choice;
mod janitor;

pub(crate) use body::{COLUMN, MARK};
pub(crate) use choice::choose;
pub(crate) use janitor::clear_up;
