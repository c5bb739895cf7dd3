//! Version conversion: kinds whose objects are stored in the form of another version, and custom
//! objects, which are read by the schemas of today whatever those were when they were stored.
//!
//! Invariants: the store holds the stored form only, with the header that the stored kind's
//! selectors need; a conversion there and back loses nothing that the served version can express.
//! Strategies, schema and managed fields of a version see objects in that version's form only.
//! Kinds without a conversion have no cost: their stored bytes are spliced into responses.
//!
//! A conversion that asks another server is awaited before objects are read or written; what it gives
//! is in the form that the others expect.
//!
//! Not here: the conversions of single kinds.

use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use quorate_meta::Value;

use super::Strategy;
use super::error::Error;

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

/// What makes of stored objects those that one version of a custom resource serves.
///
/// A stored custom object has a mark: the version that it was written as, and the schema that
/// brought it into form. An object without one is served as it is.
pub trait VersionReader: Send + Sync + Debug + 'static {
    /// The mark of objects that are written now, whichever version they are written through.
    fn mark(&self) -> &str;

    /// The mark that objects of the served version would have.
    fn served_mark(&self) -> &str;

    /// Whether an object with this mark is served as it is stored.
    fn serves_as_stored(&self, mark: &str) -> bool;

    /// Turns a stored object with this mark into the served version.
    fn read(&self, mark: &str, object: &mut Value);
}

/// The conversion of a resource whose versions another server converts.
#[async_trait]
pub trait RemoteConversion: Send + Sync + Debug + 'static {
    /// Turns stored values into those that objects of the served version would be stored as.
    ///
    /// # Errors
    /// Why one of them cannot be converted; then none may be used.
    async fn to_served(&self, values: &mut [Bytes]) -> Result<(), Error>;

    /// Turns a whole object of the served version into the version that objects are stored as.
    ///
    /// # Errors
    /// Why it cannot be converted.
    async fn to_stored(&self, object: &Value) -> Result<Value, Error>;
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
