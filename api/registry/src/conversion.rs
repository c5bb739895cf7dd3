//! Version conversion: kinds whose objects are stored in the form of another version.
//!
//! Invariants: the store holds the stored form only, with the header that the stored kind's
//! selectors need; a conversion there and back loses nothing that the served version can express.
//! Strategies, schema and managed fields of a version see objects in that version's form only.
//! Kinds without a conversion have no cost: their stored bytes are spliced into responses.
//!
//! Not here: the conversions of single kinds.

use std::fmt::Debug;
use std::sync::Arc;

use quorate_meta::Value;

use super::Strategy;

/// The conversion between a served version and the stored one. Objects are whole and in canonical
/// form, before and after; `apiVersion` and `kind` are ignored.
pub trait Conversion: Send + Sync + Debug + 'static {
    /// Turns an object of the served version into the stored form.
    fn to_stored(&self, object: &mut Value);

    /// Turns a stored object into the served version.
    fn to_served(&self, object: &mut Value);

    /// The stored form's name of a field that objects of the served version are selected by.
    fn stored_field<'f>(&self, field: &'f str) -> &'f str {
        field
    }
}

/// The conversion of a resource that is stored in another version's form.
#[derive(Debug)]
pub struct StoredForm {
    /// The conversion between the two forms.
    pub conversion: Arc<dyn Conversion>,
    /// The fields that stored objects are selected by.
    pub selectable_fields: Vec<String>,
    /// The strategy of the stored version, which reads the values of those fields.
    pub strategy: Arc<dyn Strategy>,
}
