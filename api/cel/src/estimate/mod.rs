//! Static cost estimates.
