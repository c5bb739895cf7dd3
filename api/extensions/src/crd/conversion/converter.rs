//! The converter of the objects of one definition.

use std::fmt;
use std::sync::Arc;

use quorate_env::Entropy;
use quorate_meta::{Names, Value};
use quorate_wire::json;

use super::batch::batches;
use super::check::{Wrong, restore};
use super::review::{self, ReviewVersion};
use super::sender::ReviewSender;

/// Objects that could not be converted, in the words of Kubernetes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversionError(String);

impl fmt::Display for ConversionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConversionError {}

/// Converts objects by a webhook.
#[derive(Debug)]
pub struct Converter {
    names: &'static Names,
    entropy: Arc<dyn Entropy>,
    review_versions: Vec<String>,
    sender: Arc<dyn ReviewSender>,
}

impl Converter {
    /// A converter that sends reviews, in the first of these versions that the server knows.
    #[must_use]
    pub fn new(
        names: &'static Names,
        entropy: Arc<dyn Entropy>,
        review_versions: &[String],
        sender: Arc<dyn ReviewSender>,
    ) -> Self {
        Self { names, entropy, review_versions: review_versions.to_vec(), sender }
    }

    /// Turns objects into the version `desired`, a whole `apiVersion`. Each has `apiVersion` and
    /// `kind`; those that are in that version stay as they are.
    ///
    /// # Errors
    /// Why one or more could not be converted; none of the objects may be used then.
    pub async fn convert(
        &self,
        desired: &str,
        objects: &mut [Value],
    ) -> Result<(), ConversionError> {
        let mut other: Vec<&mut Value> = objects
            .iter_mut()
            .filter(|object| object.str_at(&["apiVersion"]) != Some(desired))
            .collect();
        let texts: Vec<Vec<u8>> = other.iter().map(|object| json::to_vec(object)).collect();
        let sizes: Vec<usize> = texts.iter().map(Vec::len).collect();
        for range in batches(&sizes) {
            self.review(desired, &texts[range.clone()], &mut other[range]).await?;
        }
        Ok(())
    }

    /// Converts by one review; `texts` are the same objects.
    async fn review(
        &self,
        desired: &str,
        texts: &[Vec<u8>],
        objects: &mut [&mut Value],
    ) -> Result<(), ConversionError> {
        let subject = objects.first().map(|object| subject(object)).unwrap_or_default();
        let told = |what: &str| ConversionError(format!("conversion webhook for {subject} {what}"));
        let failed = |why: String| told(&format!("failed: {why}"));
        let version = ReviewVersion::choose(&self.review_versions).map_err(ConversionError)?;
        let uid = self.new_uid();
        let request = review::request(self.names, version, &uid, desired, texts);
        let answer = self.sender.send(request.into()).await.map_err(failed)?;
        let converted = review::answer(self.names, version, &uid, &answer).map_err(failed)?;
        if converted.len() != objects.len() {
            let (got, expected) = (converted.len(), objects.len());
            return Err(told(&format!("returned {got} objects, expected {expected}")));
        }
        let is_list = objects.len() > 1;
        for (index, (object, mut converted)) in objects.iter_mut().zip(converted).enumerate() {
            let original = std::mem::take(&mut **object);
            restore(original, desired, &mut converted)
                .map_err(|wrong| told(&returned(&wrong, index, is_list)))?;
            **object = converted;
        }
        Ok(())
    }

    /// A random uid (UUID version 4, RFC 9562).
    fn new_uid(&self) -> String {
        let mut bytes = [0; 16];
        self.entropy.fill(&mut bytes);
        uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
    }
}

/// What an object is, in messages.
fn subject(object: &Value) -> String {
    let text = |field: &str| object.str_at(&[field]).unwrap_or_default();
    format!("{}, Kind={}", text("apiVersion"), text("kind"))
}

/// What is wrong with the object at this place of an answer.
fn returned(wrong: &Wrong, index: usize, is_list: bool) -> String {
    match (wrong, is_list) {
        (Wrong::Object(why), true) => {
            format!("returned invalid converted object at index {index}: {why}")
        }
        (Wrong::Object(why), false) => format!("returned invalid object at index 0: {why}"),
        (Wrong::Metadata(why), true) => {
            format!("returned invalid metadata in object at index {index}: {why}")
        }
        (Wrong::Metadata(why), false) => format!("returned invalid metadata: {why}"),
    }
}
