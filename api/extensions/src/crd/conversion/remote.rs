//! The conversion of one served version by the webhook of its definition.
//!
//! Invariants: the webhook takes the place of the second step of [`Reader`]; an object that was
//! stored as the wanted version is not sent, and neither is one without a mark. The
//! same stored bytes are converted once while they are remembered, of which there are at most
//! [`MAX_REMEMBERED`] bytes, and readers that ask for them at the same time wait for one conversion.
//! A definition that changes begins with nothing remembered.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;
use quorate_meta::{Reason, Status, Value};
use quorate_registry::error::Error;
use quorate_registry::{Conversion, RemoteConversion, VersionReader, stored_codec};
use quorate_wire::stored::{CorruptValue, HeaderRef, StoredRef};

use super::batch::batches;
use super::converter::{ConversionError, Converter};
use super::in_flight::ConversionsInFlight;
use crate::crd::custom_strategy::CustomStrategy;
use crate::crd::definition::Definition;
use crate::crd::mark;
use crate::crd::reader::Reader;

/// Bytes of stored values and of what they became that one version remembers: 32 MiB.
const MAX_REMEMBERED: usize = 32 << 20;

/// How objects of the served version are stored once they are converted.
#[derive(Debug, Clone)]
pub struct VersionForm {
    /// The strategy of the version, which reads the values of the selectable fields.
    pub strategy: Arc<CustomStrategy>,
    /// The fields that its objects are selected by.
    pub selectable: Vec<String>,
}

/// Converts between a served version and the storage version.
pub struct WebhookVersion {
    converter: Arc<Converter>,
    group: String,
    kind: String,
    reader: Arc<Reader>,
    form: VersionForm,
    remembered: Mutex<Remembered>,
    in_flight: ConversionsInFlight,
}

impl WebhookVersion {
    /// The conversion of the version that `reader` is for.
    #[must_use]
    pub fn new(
        converter: Arc<Converter>,
        definition: &Definition,
        reader: Arc<Reader>,
        form: VersionForm,
    ) -> Self {
        let (group, kind) = (definition.group.clone(), definition.accepted.kind.clone());
        let (remembered, in_flight) = (Mutex::default(), ConversionsInFlight::default());
        Self { converter, group, kind, reader, form, remembered, in_flight }
    }

    fn api_version(&self, version: &str) -> String {
        format!("{}/{version}", self.group)
    }

    /// Whether a stored value was written as another version.
    fn is_other(&self, value: &Bytes) -> Result<bool, Error> {
        let header = HeaderRef::parse(value).map_err(|error| self.unreadable(&error))?;
        Ok(header.mark().is_some_and(|mark| mark::parts(mark).0 != self.reader.version()))
    }

    /// The object of a stored value, as the webhook is sent it.
    fn read(&self, value: &Bytes) -> Result<Value, Error> {
        let stored = StoredRef::parse(value).map_err(|error| self.unreadable(&error))?;
        let version = mark::parts(stored.mark().unwrap_or_default()).0;
        let object = stored.to_value(&self.api_version(version), &self.kind, 0);
        let mut object = object.map_err(|error| self.unreadable(&error))?;
        object.remove_at(&["metadata", "resourceVersion"]);
        self.reader.settle(version, &mut object);
        Ok(object)
    }

    /// The stored form of an object that the webhook has converted.
    fn write(&self, mut object: Value) -> Result<Bytes, Error> {
        self.reader.fit(&mut object);
        let VersionForm { strategy, selectable } = &self.form;
        let mark = Some(self.reader.served_mark());
        stored_codec::encode_as_it_is(selectable, &**strategy, mark, &object)
    }

    /// Replaces a value that is remembered; gives whether it was.
    fn recall(&self, value: &mut Bytes) -> bool {
        let known = self.remembered.lock().get(value).cloned();
        known.map(|known| *value = known).is_some()
    }

    /// Converts values that were written as other versions, and remembers what they become.
    async fn convert(&self, values: &mut [&mut Bytes]) -> Result<(), Error> {
        let desired = self.api_version(self.reader.version());
        let sizes: Vec<usize> = values.iter().map(|value| value.len()).collect();
        // Of a long list only so many are parsed at a time.
        for range in batches(&sizes) {
            let part = &mut values[range];
            let objects = part.iter().map(|value| self.read(value));
            let mut objects: Vec<Value> = objects.collect::<Result<_, _>>()?;
            self.converter.convert(&desired, &mut objects).await.map_err(failed)?;
            for (value, object) in part.iter_mut().zip(objects) {
                let converted = self.write(object)?;
                let stored = std::mem::replace(&mut **value, converted.clone());
                self.remembered.lock().add(stored, converted);
            }
        }
        Ok(())
    }

    fn unreadable(&self, error: &CorruptValue) -> Error {
        Error::internal(format!("a stored {} cannot be read: {error}", self.kind))
    }
}

#[async_trait]
impl RemoteConversion for WebhookVersion {
    async fn to_served(&self, values: &mut [Bytes]) -> Result<(), Error> {
        let mut taken = self.in_flight.begin();
        let (mut own, mut of_others) = (Vec::new(), Vec::new());
        for value in values {
            if !self.is_other(value)? || self.recall(value) {
                continue;
            }
            match taken.take(value) {
                Some(end) => of_others.push((value, end)),
                None => own.push(value),
            }
        }
        self.convert(&mut own).await?;
        drop(taken);
        let mut left = Vec::new();
        for (value, end) in of_others {
            end.wait().await;
            if !self.recall(value) {
                left.push(value);
            }
        }
        self.convert(&mut left).await
    }

    async fn to_stored(&self, object: &Value) -> Result<Value, Error> {
        let mut object = object.clone();
        let (own, storage) = (self.reader.version(), self.reader.storage_version());
        if own != storage {
            for (field, text) in
                [("apiVersion", self.api_version(own)), ("kind", self.kind.clone())]
            {
                object.set_at(&[field], text);
            }
            object.remove_at(&["metadata", "resourceVersion"]);
            let objects = std::slice::from_mut(&mut object);
            self.converter.convert(&self.api_version(storage), objects).await.map_err(failed)?;
        }
        self.reader.to_stored(&mut object);
        Ok(object)
    }
}

impl fmt::Debug for WebhookVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookVersion")
            .field("version", &self.reader.version())
            .finish_non_exhaustive()
    }
}

/// 500 without a reason.
fn failed(error: ConversionError) -> Error {
    Status::failure(Reason::Unknown, error.to_string()).into()
}

/// What stored values became, the oldest first.
#[derive(Debug, Default)]
struct Remembered {
    by_value: HashMap<Bytes, Bytes>,
    order: VecDeque<Bytes>,
    bytes: usize,
}

impl Remembered {
    fn get(&self, stored: &Bytes) -> Option<&Bytes> {
        self.by_value.get(stored)
    }

    fn add(&mut self, stored: Bytes, converted: Bytes) {
        let added = stored.len() + converted.len();
        if added > MAX_REMEMBERED || self.by_value.contains_key(&stored) {
            return;
        }
        self.bytes += added;
        self.order.push_back(stored.clone());
        self.by_value.insert(stored, converted);
        while self.bytes > MAX_REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            let converted = self.by_value.remove(&oldest).map_or(0, |converted| converted.len());
            self.bytes -= oldest.len() + converted;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut remembered = Remembered::default();
        let large = |byte: u8| Bytes::from(vec![byte; MAX_REMEMBERED / 4]);
        remembered.add(large(1), large(1));
        remembered.add(large(1), large(2));
        assert_eq!(remembered.get(&large(1)), Some(&large(1)));
        remembered.add(large(2), large(2));
        assert_eq!((remembered.by_value.len(), remembered.bytes), (2, MAX_REMEMBERED));
        remembered.add(Bytes::from_static(b"a"), Bytes::from_static(b"b"));
        assert_eq!(remembered.get(&large(1)), None);
        assert_eq!(remembered.order.len(), remembered.by_value.len());
        remembered.add(Bytes::from(vec![0; MAX_REMEMBERED]), Bytes::from_static(b"b"));
        assert_eq!(remembered.by_value.len(), 2);
    }
}
