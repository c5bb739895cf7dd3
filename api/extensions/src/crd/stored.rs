//! The stored form of custom objects whose definition has no conversion.
//!
//! Invariant: stored values have no `apiVersion`; each version reads them as its own, so nothing
//! but the selectable fields of the header depends on the storage version.
//!
//! Not here: conversion by webhooks.

use quorate_meta::Value;
use quorate_registry::Conversion;

/// The conversion that changes only `apiVersion`, which the stored form does not have.
#[derive(Debug)]
pub struct VersionOnly;

impl Conversion for VersionOnly {
    fn to_stored(&self, _: &mut Value) {}

    fn to_served(&self, _: &mut Value) {}
}
