//! What is counted of conversions by webhooks, and the seam to what exports it.

use std::fmt::Debug;
use std::time::Duration;

use super::converter::ConversionFailure;

/// What a conversion of some objects has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConversionResult<'c> {
    /// The name of the definition.
    pub definition: &'c str,
    /// The version of the first object, a whole `apiVersion`.
    pub from: &'c str,
    /// The version that is asked for.
    pub to: &'c str,
    /// Why it has failed, if it has.
    pub failure: Option<ConversionFailure>,
    /// How long it took.
    pub took: Duration,
}

/// Counts conversions.
pub trait ConversionMetrics: Debug + Send + Sync {
    /// Objects were converted, or could not be.
    fn converted(&self, result: &ConversionResult<'_>);
}

/// Counts nothing.
#[derive(Debug)]
pub struct UncountedConversions;

impl ConversionMetrics for UncountedConversions {
    fn converted(&self, _: &ConversionResult<'_>) {}
}
