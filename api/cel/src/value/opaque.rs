//! Values of the libraries' own types, such as quantities and addresses.

use std::any::Any;
use std::fmt::Debug;

use super::Value;
use crate::eval::EvalError;

/// A value of a library's own type.
pub trait Opaque: Debug + Send + Sync {
    /// Name of its type, such as `net.IP`.
    fn type_name(&self) -> &str;

    /// Whether it equals `other`, which stands on the right.
    ///
    /// # Errors
    /// When the type does not compare with that of `other`.
    fn equals(&self, other: &Value<'_>) -> Result<bool, EvalError>;

    /// Its text, as records of answers hold it.
    fn text(&self) -> String;

    /// The reference engine's name of what it holds, when an optional that holds it and passes through a variable or `?:` is
    /// left with an error: `netip.Addr`.
    fn host_type(&self) -> Option<&'static str> {
        None
    }

    /// Itself, to find the concrete type.
    fn as_any(&self) -> &dyn Any;
}
